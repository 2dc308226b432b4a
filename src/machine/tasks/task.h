// A task: some work (work.h) and what it waits for. Pooled and reused, so that a launch allocates nothing
// once the pool is warm. Counted references: a stream, a handle and each edge hold one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/spinning_mutex.h"
#include "exec/fault.h"
#include "machine/memory/launch_pages.h"
#include "machine/tasks/work.h"

namespace raddle::machine {

struct Children;
class Task;

/// Tasks that wait for one. Mostly it is one, so that whoever lets it begin meets no other memory.
class Successors {
 public:
  void reserve(std::size_t count) { more_.reserve(count); }
  void push_back(Task* task) {
    if (first_ == nullptr)
      first_ = task;
    else
      more_.push_back(task);
  }
  /// In the order in which they came. @param take  (Task&)
  template <class Take>
  void take_all(Take take) {
    if (first_ == nullptr) return;
    take(*std::exchange(first_, nullptr));
    for (Task* const task : more_) take(*task);
    more_.clear();
  }
  void clear() { first_ = nullptr, more_.clear(); }

 private:
  Task* first_ = nullptr;
  std::vector<Task*> more_;
};

// Aligned, so that filling in one task takes no cache lines from another that runs.
class alignas(128) Task {
 public:
  // What it is. Written before submission, constant afterwards.
  Work work;
  int priority = 0;  ///< lower runs first, as CUDA counts
  /// Its work, of that kind.
  GridWork& grid() { return *std::get_if<GridWork>(&work); }
  const GridWork& grid() const { return *std::get_if<GridWork>(&work); }
  bool is_grid() const { return std::holds_alternative<GridWork>(work); }
  /// Whether a call on that thread is its work.
  bool calls_on(CallWork::Thread thread) const {
    const auto* call = std::get_if<CallWork>(&work);
    return call != nullptr && call->thread == thread;
  }

  explicit Task(LaunchPages& pages) : pages_(pages) {}
  /// For a grid: copies the parameter block to where the kernel reads it, 128-byte aligned; a large enough
  /// piece of an earlier use is kept, so the next launch with as many bytes takes no memory.
  /// @returns false if the host has none; likewise below
  bool set_parameters(std::span<const std::byte> bytes);
  /// Another task's work and parameters.
  bool copy_work(const Task& other);
  /// Gives a cooperative grid its workspace, zeroed: %envreg1:%envreg2 of cooperative groups.
  bool set_grid_workspace();
  /// For a grid that a kernel launches: memory for so many bytes of parameters, zeroed, which that kernel
  /// fills.
  bool provide_parameter_buffer(std::uint64_t bytes);
  std::uint64_t parameter_buffer() const { return reinterpret_cast<std::uint64_t>(buffer_.kernel); }
  /// The memory that the kernel filled in becomes the parameters.
  bool take_parameter_buffer() { return set_parameters({buffer_.host, parameter_bytes_}); }
  std::uint64_t parameter_bytes() const { return parameter_bytes_; }

  // How far it is, on one cache line, which whoever runs it writes.
  // Completion: 0 pending, 1 pending with sleepers, 2 done.
  alignas(64) std::atomic<std::uint32_t> state{0};
  static constexpr std::uint32_t kDone = 2;
  bool done() const { return state.load(std::memory_order_acquire) == kDone; }
  void wait();
  /// Set before completion. A task that was cancelled because of an earlier fault has FaultKind::cancelled.
  std::atomic<std::uint32_t> stop{0};  ///< FaultKind; non-zero: start nothing more of it, abandon what runs
  // Times in nanoseconds of the steady clock, 0 if unknown: first CTA granted, all done.
  std::atomic<std::uint64_t> started_ns{0};
  std::uint64_t finished_ns = 0;
  /// Tasks that have not ended and before whose end this one may begin: griddepcontrol.wait waits for
  /// 0.
  std::atomic<std::uint64_t> prerequisites{0};
  /// CTAs of which every warp waits for these.
  std::atomic<std::uint64_t> idle{0};
  /// CTAs that have let dependent grids begin, or have ended, where the grid counts them.
  std::atomic<std::uint64_t> triggered{0};
  /// CTAs that have begun, where the grid counts them.
  std::atomic<std::uint64_t> begun{0};
  /// Its CTAs shall leave their SMs in the middle (Distributor::park); set and cleared under the launch lock.
  std::atomic<bool> preempted{false};

  // What comes behind it, on one cache line, which whoever submits that writes and whoever ends this.
  /// A task that waits for this one, if any does. While this one is not complete, neither is that.
  alignas(64) std::atomic<const Task*> awaited_by{nullptr};
  std::atomic<std::uint32_t> references{0};
  // A grid that launches others is complete when these are; one that began before the end of others, when
  // these are. Owned by the task scheduler.
  std::atomic<std::uint32_t> unfinished{1};  ///< its own work, its children, its prerequisites
  /// The task scheduler's.
  struct Graph {
    base::SpinningMutex mutex;  ///< of all that follows, but for what is atomic and `next`
    std::atomic<std::uint32_t> waiting_for{0};
    std::atomic<bool> submitted{false};  ///< and not complete
    bool triggered = false, begun = false, complete = false;
    bool is_kept = false;  ///< whoever completes it gets the scheduler's reference
    Task* next = nullptr;  ///< of whoever has it: in a list of ready or pooled tasks
    Successors successors;
    std::vector<Task*> dependents;  ///< may begin when it has `triggered`; are complete after it
    std::vector<Task*> followers;   ///< wait until it has `begun`
  } graph;
  Task* parent = nullptr;                         ///< of a child; holds a reference
  std::atomic<std::uint64_t>* counted = nullptr;  ///< of a child: as one of so many of the launching block's
  /// What belongs to it as a parent; made at the first call.
  Children& family();
  Children* family_if_any() const { return family_.load(std::memory_order_acquire); }

  // Managed memory (ADR 89).
  bool is_at_work = false;      ///< a device has begun it, and the host's touches are not told from its own
  bool counts_touches = false;  ///< some blocks of the grid have `counting` in place of its context
  std::unique_ptr<exec::LaunchContext> counting;

  /// As before its submission, with its work. Nothing waits for it.
  void renew();
  /// Called by whoever is about to end this one, which is not complete.
  void fetch_awaiting() const;
  /// Will be written soon, and was written by another core.
  void fetch() const;
  ~Task();

 private:
  std::byte* provide_buffer(std::uint64_t bytes);
  LaunchPages& pages_;
  std::atomic<Children*> family_{nullptr};
  LaunchPiece parameters_;
  LaunchPiece buffer_;  // workspace of a cooperative grid, or what take_parameter_buffer() takes
  std::uint64_t parameter_bytes_ = 0;

 public:
  // Last, as no launch touches it: only who runs the task.
  exec::Fault fault;  ///< valid when done and stop is non-zero
  /// The grid as the distributor sees it; the launch controllers' own, under their lock. Of an earlier grid,
  /// which has finished, until this one is added.
  struct Distribution : Grid {
    Task* task = nullptr;     ///< this one, once it has been added
    std::uint64_t heard = 0;  ///< CTAs in the masks that were broadcast: the next one's launch index
  };
  alignas(64) Distribution distribution;
};

}  // namespace raddle::machine
