// The task scheduler: tasks wait for tasks, become ready, are dispatched, complete. Streams and events are
// nothing but such dependencies. All functions are thread-safe; ready tasks are dispatched with no lock held.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/spinning_mutex.h"
#include "machine/tasks/task.h"

namespace raddle::machine {

/// Runs tasks that are ready.
class TaskDispatcher {
 public:
  virtual ~TaskDispatcher() = default;
  /// @returns true if nothing needs to run: the task is complete at once
  virtual bool dispatch(Task& task) = 0;
  /// Some thread submits tasks.
  virtual void submitted() {}
  /// A task is complete, its waiters are not woken yet. On the thread that completes it; no lock is held.
  virtual void ended(Task& task) = 0;
};

class TaskScheduler {
 public:
  /// @param addresses  of the memory that comes with launches; outlives it
  TaskScheduler(TaskDispatcher& dispatcher, DeviceSpace& addresses)
      : dispatcher_(dispatcher), pages_(addresses) {}

  /// A fresh task with one reference, from the pool.
  Task* acquire();
  void retain(Task& task) { task.references.fetch_add(1, std::memory_order_relaxed); }
  void release(Task* task);  ///< null is ignored
  /// The same of an acquired task that nobody else has yet, without an atomic addition.
  static void retain_given(Task& task) { task.references.store(2, std::memory_order_relaxed); }

  struct Submission {
    Task* task;
    std::span<Task* const> after;               ///< nulls are ignored
    std::span<Task* const> after_trigger = {};  ///< it may begin before their end; likewise
    std::span<Task* const> after_begin = {};    ///< all their CTAs have begun; it does not wait for their end
    bool is_retained = false;  ///< one of the task's references is the scheduler's, until it is complete
  };
  /// Starts each task once all tasks in its `after` have completed, all in `after_trigger` have triggered and
  /// all in `after_begin` have begun; these may be earlier ones of the batch. It is complete after those of
  /// the former two. The caller holds references to all. One lock for the batch: no task of it runs before
  /// all are submitted.
  void submit(std::span<const Submission> batch);
  void submit(Task& task, std::span<Task* const> after) {
    const Submission one{&task, after};
    submit({&one, 1});
  }
  /// Begins the tasks that may begin before this one's end. A task that never says so triggers when it is
  /// complete, or when only its own prerequisites keep it from that.
  void trigger(Task& task);
  /// All CTAs of a grid have begun. A task that never says so says it when it is complete.
  void begun(Task& task);
  /// Tasks that may begin or have begun before this one's end, each with a reference for the caller to free.
  std::vector<Task*> dependents(Task& task);
  /// Makes a complete task ready for another submission, with the same work. Its events are those of the new
  /// one then.
  void renew(Task& task);
  /// The work of a GraphWork that is dispatched: submits the graph's tasks as parts of the launch, which is
  /// complete after them. None of the graph's runs is going on.
  void start(Task& launch);
  /// The same for one that does not run: only the points are passed.
  void pass_over(Task& launch);
  /// Adds a part to a launch that runs: the launch is complete after it. The caller is one of the launch's
  /// parts.
  /// @param is_tail  it begins when all other parts are over
  void add_part(Task& whole, Task& part, bool is_tail);
  /// An acquired task whose reference goes with the last copy of what is returned.
  std::shared_ptr<Task> share(Task* task);
  /// Called once by whoever ran the task; wakes waiters and dispatches the tasks that waited.
  void complete(Task& task);
  /// The same; the task is as it was until the caller releases it.
  void complete_and_keep(Task& task) {
    task.graph.is_kept = true;
    complete(task);
  }
  /// Makes a task, which has its work and is not submitted yet, a child of one that runs.
  /// @returns false: `limit` children are pending, not counting compilations
  bool adopt(Task& parent, Task& child, std::uint32_t limit);
  /// One more child keeps the parent from being complete; before that child is submitted.
  void hold(Task& parent);
  /// Blocks until every submitted task has completed.
  void wait_all();
  /// They all have. What has ended is read first: it is never ahead of what was submitted.
  bool idle() const {
    const std::uint32_t ended = ended_.load(std::memory_order_acquire) & ~kSleepers;
    return ended == submitted();
  }
  /// Number of tasks, so far, for who asks whether it grows: of those that end at once on several threads one
  /// may count.
  std::uint64_t completed() const { return completed_.load(std::memory_order_relaxed); }
  /// What is submitted and not complete, each with a reference for the caller to release.
  std::vector<Task*> pending();
  /// Where parameters of its tasks lie.
  const LaunchPages& pages() const { return pages_; }
  /// Whether nothing is left but callbacks that run, and tasks that wait for them.
  bool only_callbacks_left();

 private:
  void grow_pool();
  struct TaskList {
    Task* first = nullptr;
    Task** end = &first;
    void append(Task& task) {
      task.graph.next = nullptr;
      *end = &task;
      end = &task.graph.next;
    }
    Task* take() {
      Task* const task = first;
      if (task != nullptr && (first = task->graph.next) == nullptr) end = &first;
      return task;
    }
  };
  void run(TaskList& ready);
  static void let_begin(Task& task, TaskList& ready);
  static void let_follow(Task& task, TaskList& ready);
  void finish(Task& task, TaskList& ready, std::vector<Task*>& held);
  void end_own_work(Task& task, TaskList& ready);
  void end_part(Task& task, TaskList& ready, std::vector<Task*>& held);
  bool is_over(Task& task);
  bool launch_tail(Task& task);
  void one_more_ended();
  template <class Look>
  void for_pending(Look look);

  TaskDispatcher& dispatcher_;
  LaunchPages pages_;
  // What threads that submit write, and what those write that end tasks: on cache lines of their own, so that
  // a launch waits for as few as can be from the core that ends the one before.
  /// Tasks that nobody uses, taken from the list of those that were released whenever none are left. The next
  /// one is known, and fetched from the core that ended it while a launch is still at the one before.
  alignas(64) base::SpinningMutex pool_mutex_;
  Task* pool_ = nullptr;
  std::atomic<std::uint32_t> submitted_{0};
  std::uint32_t submitted() const { return submitted_.load(std::memory_order_relaxed) & ~kSleepers; }
  base::SpinningMutex mutex_;  // of the following; before the locks of tasks
  std::vector<std::unique_ptr<Task>> all_;
  alignas(64) std::atomic<Task*> released_{nullptr};
  alignas(64) std::atomic<std::uint32_t> ended_{0};     // tasks, in 31 bits
  static constexpr std::uint32_t kSleepers = 1u << 31;  // in ended_: somebody sleeps in wait_all
  std::atomic<std::uint64_t> completed_{0};             // likewise, but for parts of loops
  std::atomic<std::uint32_t> pending_children_{0};      // adopted, not complete
};

/// Nanoseconds of the steady clock.
std::uint64_t now_ns();

}  // namespace raddle::machine
