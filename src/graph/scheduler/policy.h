// A policy says which of the nodes that may start does so next. It has a file of its own and a line in
// find_policy().
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "graph/scheduler/problem.h"
#include "raddle/graph/scheduler.h"

namespace raddle::graph {

/// What a policy sees of the schedule so far.
class Progress {
 public:
  virtual ~Progress() = default;
  /// Whether the node's needs and memory fit beside what runs now.
  virtual bool fits(std::uint32_t node) = 0;
  virtual bool fits_memory(std::uint32_t node) = 0;
  virtual bool runs_something() const = 0;
  virtual const std::array<Share, Needs::kCount>& used() const = 0;
  virtual std::uint64_t live_bytes() const = 0;
  /// Bytes that become live when the node starts, less those that it is the last to use.
  virtual std::int64_t growth(std::uint32_t node) const = 0;
  virtual bool is_live(std::uint32_t transient) const = 0;
  virtual bool has_started(std::uint32_t node) const = 0;
};

class Policy {
 public:
  virtual ~Policy() = default;
  /// All that the node depends on has ended.
  virtual void ready(std::uint32_t node) = 0;
  /// The next to start, which must fit, and is then no longer ready; none: wait for one that runs.
  virtual std::optional<std::uint32_t> choose(Progress& progress) = 0;
  /// Only this user of a transient resource has yet to start.
  virtual void one_user_left(std::uint32_t) {}
  virtual bool one_by_one() const { return false; }
};

/// Longest path first; different needs together; heavy ones with light ones.
std::unique_ptr<Policy> make_fastest(const Problem& problem, const SchedulerOptions& options);
/// One by one, so that as little as possible is live.
std::unique_ptr<Policy> make_least_memory(const Problem& problem);
/// One by one as invoked.
std::unique_ptr<Policy> make_program_order();
/// Any order and any overlap that is allowed, drawn from a seed: a test's oracle of what schedules may do.
std::unique_ptr<Policy> make_random_order(std::uint64_t seed);

/// @errors not_found: lists the names there are
Result<std::unique_ptr<Policy>> find_policy(const Problem& problem, const SchedulerOptions& options);

}  // namespace raddle::graph
