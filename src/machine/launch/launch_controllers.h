// The launch controllers: hand runs of CTAs to the workers that own the SMs. Workers learn what to run only
// from their grants.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "machine/distributor/grid.h"
#include "machine/shape/machine_shape.h"
#include "machine/tasks/task.h"

namespace raddle::machine {

/// CTAs [first, first + count) of a task, in linear order (x fastest).
struct CtaRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// A run for one SM.
struct Grant {
  Task* task = nullptr;
  std::uint32_t sm = 0;
  CtaRun run;
};

/// CTAs of a grant that have finished (or were dropped because the task was stopped).
struct Finished {
  Task* task = nullptr;
  std::uint32_t sm = 0;
  std::uint64_t count = 0;
};

class LaunchControllers {
 public:
  static constexpr std::size_t kGrants = 8;  ///< most runs handed out by one call
  /// @param run_limit  most CTAs of one run, 0: no limit but the free slots (deterministic mode takes single
  /// CTAs)
  LaunchControllers(const MachineShape& shape, unsigned workers, std::uint64_t run_limit);

  /// A grid is ready to run. @returns how many workers could work on it
  unsigned add(Task& task);
  /// What one worker reports and gets, under one lock.
  /// @param finished   since the last call
  /// @param grants     receives runs of one task; at most kGrants
  /// @param completed  receives tasks of which nothing is left to run; at least finished.size() + 1 long. A
  /// task whose
  ///                   `stop` was set is granted no more.
  /// @returns number of grants
  std::size_t exchange(unsigned worker, std::span<const Finished> finished, std::span<Grant> grants,
                       std::span<Task*> completed, std::size_t& completed_count);
  /// Whether there are CTAs that nobody was granted. A hint: others may take them meanwhile.
  bool has_more() const { return waiting_.load(std::memory_order_relaxed) != 0; }

 private:
  struct Sm {
    std::uint32_t owner = 0;  // worker
    std::uint32_t ctas = 0, threads = 0, warps = 0;
    std::uint64_t shared = 0, registers = 0;
  };
  std::uint64_t free_slots(const Sm& sm, const Task& task) const;
  void occupy(Sm& sm, const Task& task, std::uint64_t count, bool take);
  std::int64_t pick_sm(unsigned worker, const Task& task, std::uint64_t& slots);
  std::size_t grant_from(Task& task, unsigned worker, std::span<Grant> grants);
  /// Two cooperative grids that each hold slots the other waits for would never end: one gathers at a time.
  bool must_wait(const Task& task) const {
    return task.grid.cooperative && gathering_ != nullptr && gathering_ != &task;
  }
  void forget(std::size_t position);
  bool finished_all(const Task& task) const {
    return task.distribution.next == task.grid.blocks && task.distribution.outstanding == 0;
  }

  const SmLimits limits_;
  const std::uint64_t run_limit_;
  const unsigned workers_;
  std::mutex mutex_;
  std::vector<Sm> sms_;
  std::vector<std::uint32_t> cursor_;    // by worker: SM to try first
  std::vector<Task*> tasks_;             // with CTAs left to grant: by priority, then age
  std::atomic<std::size_t> waiting_{0};  // their number
  std::uint64_t sequence_ = 0;
  const Task* gathering_ = nullptr;  // the cooperative grid of which some but not all blocks are resident
};

}  // namespace raddle::machine
