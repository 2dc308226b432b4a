// What an executor runs graphs on: a device of Raddle's, or a real GPU (G-19).
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "raddle/graph/schedule.h"

namespace raddle::graph {

/// Device memory. Addresses are the device's.
class Memory {
 public:
  struct Piece {
    DevicePtr address;
    std::uint64_t bytes = 0;
  };
  virtual ~Memory() = default;
  virtual Result<DevicePtr> allocate(std::uint64_t bytes) = 0;  ///< @errors out_of_memory
  /// Fails only on a device that has failed, whose memory goes with it.
  virtual void free(DevicePtr address) = 0;
  virtual Result<void> clear(DevicePtr address, std::uint64_t bytes) = 0;
  /// After all runs so far; likewise before later ones.
  virtual Result<void> read(void* to, DevicePtr from, std::uint64_t bytes) = 0;
  virtual Result<void> write(DevicePtr to, const void* from, std::uint64_t bytes) = 0;
  /// The allocation that an address lies in.
  virtual std::optional<Piece> region(DevicePtr address) const = 0;
  virtual std::uint64_t free_bytes() const = 0;
};

/// Of a node of a schedule in a run, in nanoseconds of one clock.
struct MeasuredTimes {
  double begin = 0, end = 0;
  double occupancy = 0;  ///< of SM slots, at most at once; 0: unknown
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual Memory& memory() = 0;
  /// Runs the schedule's work and waits for its end; times by node. Work that was made for an equal schedule
  /// is used again.
  /// @errors of commands: with the program's line; kernel_fault; what a body answered
  virtual Result<std::vector<MeasuredTimes>> run(std::shared_ptr<const Schedule> schedule,
                                                 std::vector<DevicePtr> addresses) = 0;
  /// Calls a function as a task of the device, and waits. @errors unsupported: it has no such tasks
  virtual Result<void> call(const std::function<void()>& function) = 0;
  /// Pieces of work that were made so far.
  virtual std::uint64_t plans() const = 0;
};

/// The last used plans of a backend. A plan has schedule(), addresses() and update(schedule, addresses),
/// which says whether it has become that of the other graph.
template <class Plan>
class PlanCache {
 public:
  /// The plan of the same graph with the same memory; that of an equal one, changed; or a new one.
  /// @param make  () -> Result<std::unique_ptr<Plan>>
  template <class Make>
  Result<Plan*> find(const std::shared_ptr<const Schedule>& schedule, const std::vector<DevicePtr>& addresses,
                     const Make& make) {
    const auto same = std::find_if(known_.begin(), known_.end(), [&](const std::unique_ptr<Plan>& plan) {
      return plan->schedule().structure == schedule->structure &&
             plan->schedule().graph_version == schedule->graph_version && plan->addresses() == addresses;
    });
    if (same != known_.end()) {
      std::rotate(same, std::next(same), known_.end());
      return known_.back().get();
    }
    const auto equal = std::find_if(known_.begin(), known_.end(), [&](const std::unique_ptr<Plan>& plan) {
      return plan->schedule().structure == schedule->structure &&
             plan->schedule().graph_version != schedule->graph_version;
    });
    if (equal != known_.end()) {
      std::rotate(equal, std::next(equal), known_.end());
      if (known_.back()->update(schedule, addresses)) return known_.back().get();
      known_.pop_back();
    }
    if (known_.size() == kPlans) known_.erase(known_.begin());
    TRY_ASSIGN(std::unique_ptr<Plan> plan, make());
    ++made_;
    known_.push_back(std::move(plan));
    return known_.back().get();
  }
  std::uint64_t made() const { return made_; }

 private:
  static constexpr std::size_t kPlans = 4;    // that are kept: temporal resources need two
  std::vector<std::unique_ptr<Plan>> known_;  // the last used at the end
  std::uint64_t made_ = 0;
};

}  // namespace raddle::graph
