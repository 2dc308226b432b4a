// The command scheduler: graphs in, schedules out (G-10 to G-13).
#pragma once

#include <memory>

#include "raddle/graph/feedback.h"
#include "raddle/graph/schedule.h"
#include "raddle/graph/target.h"

namespace raddle::graph {

struct SchedulerOptions {
  /// "fastest", "least_memory", "program_order", "random_order"
  std::string policy = "fastest";
  std::uint64_t seed = 1;          ///< of random_order
  double time_weight = 1;          ///< of fastest: 1, time alone counts; 0, peak memory alone (G-10e)
  std::uint64_t memory_limit = 0;  ///< of transient memory, bytes; 0: what the target has
  std::uint64_t working_set = 0;   ///< bytes to aim at, such as a cache's (G-12g); 0: none
  bool alias = true;               ///< transient resources that do not live together share memory
  bool split = true;               ///< large passes become pieces (G-13)
  std::uint32_t most_pieces = 16;
  std::uint64_t split_bytes = 4 << 20;  ///< copies and fills of more bytes are split
};

/// Keeps what it knows of the last graph, so that one that differs little is scheduled soon: the same
/// structure with estimates that have not changed needs nothing, one with other estimates no analysis.
class Scheduler {
 public:
  /// @param history  outlives the scheduler; null: estimates by size alone
  explicit Scheduler(Target target, SchedulerOptions options = {}, const History* history = nullptr);
  ~Scheduler();
  Scheduler(Scheduler&&) noexcept;

  /// The schedule keeps its own copy of a graph only where it changes it; else the graph must outlive it.
  /// @errors invalid: G-14, with the program's line; out_of_memory: transient memory beyond the limit in
  /// every order that was tried; unsupported: draws on a target without graphics; not_found: the policy
  Result<std::shared_ptr<const Schedule>> schedule(const Graph& graph);
  Result<std::shared_ptr<const Schedule>> schedule(std::shared_ptr<const Graph> graph);
  /// Of the target's memory, what transient resources may take from now on.
  void set_memory(std::uint64_t bytes);
  const Target& target() const;
  const SchedulerOptions& options() const;
  /// How many analyses and schedules were really made.
  std::uint64_t analyses() const;
  std::uint64_t schedules() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

/// Users of a resource that come last in some order of the passes (G-12b): no other user must come after
/// them.
/// @errors as Scheduler::schedule
Result<std::vector<Pass>> likely_last_users(const Graph& graph, Resource resource);

}  // namespace raddle::graph
