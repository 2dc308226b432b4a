// Each task has a lock over what comes behind it, on the cache line that a launch behind it and its own end
// write anyway; held for a few instructions per launch and per completion.
#include "machine/tasks/task_scheduler.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "base/assert.h"
#include "base/futex.h"
#include "machine/tasks/children.h"
#include "machine/tasks/task_graph.h"
#include "machine/tasks/task_queue.h"

namespace raddle::machine {

std::uint64_t now_ns() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(
      duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

// Many at once: how many are in flight depends on timing, and a launch is not to meet the allocator later
// (K-10).
void TaskScheduler::grow_pool() {
  constexpr int kBatch = 64;
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < kBatch; ++i) {
    all_.push_back(std::make_unique<Task>(pages_));
    Task& task = *all_.back();
    task.graph.successors.reserve(4);
    task.graph.next = std::exchange(pool_, &task);
  }
}

Task* TaskScheduler::acquire() {
  Task *task = nullptr, *next = nullptr;
  {
    std::lock_guard lock(pool_mutex_);
    if (pool_ == nullptr) pool_ = released_.exchange(nullptr, std::memory_order_acquire);
    if (pool_ == nullptr) grow_pool();
    task = pool_;
    next = pool_ = task->graph.next;
  }
  if (next != nullptr) next->fetch();
  task->priority = 0;
  task->renew();
  task->references.store(1, std::memory_order_relaxed);
  return task;
}

// Who has the only reference is the only one that could give others.
void TaskScheduler::release(Task* task) {
  if (task == nullptr) return;
  if (task->references.load(std::memory_order_acquire) != 1 &&
      task->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  task->work = MarkerWork{};  // what it holds must not outlive it
  Task* first = released_.load(std::memory_order_relaxed);
  do {
    task->graph.next = first;
  } while (
      !released_.compare_exchange_weak(first, task, std::memory_order_release, std::memory_order_relaxed));
}

namespace {
/// One less that the task waits for. @returns whether it was the last: where there is one, nobody else takes
/// it off
bool is_awaited_last(Task& task) {
  std::atomic<std::uint32_t>& left = task.graph.waiting_for;
  if (left.load(std::memory_order_acquire) != 1) return left.fetch_sub(1, std::memory_order_acq_rel) == 1;
  left.store(0, std::memory_order_relaxed);
  return true;
}

std::uint32_t links_of(const TaskScheduler::Submission& one) {
  const auto is_one = [](const Task* task) { return task != nullptr; };
  return static_cast<std::uint32_t>(std::ranges::count_if(one.after, is_one) +
                                    std::ranges::count_if(one.after_trigger, is_one) +
                                    std::ranges::count_if(one.after_begin, is_one));
}

/// Puts the task behind those that it comes after. @returns how many of these it need not wait for
std::uint32_t link(const TaskScheduler::Submission& one) {
  const auto& [task, after, after_trigger, after_begin, is_retained] = one;
  std::uint32_t passed = 0;
  for (Task* const dependency : after) {
    if (dependency == nullptr) continue;
    const std::lock_guard lock(dependency->graph.mutex);
    if (dependency->graph.complete) {
      ++passed;
      continue;
    }
    dependency->graph.successors.push_back(task);
    dependency->awaited_by.store(task, std::memory_order_release);
  }
  for (Task* const dependency : after_trigger) {
    if (dependency == nullptr) continue;
    const std::lock_guard lock(dependency->graph.mutex);
    passed += dependency->graph.triggered;
    if (dependency->graph.complete) continue;
    dependency->graph.dependents.push_back(task);
    task->prerequisites.fetch_add(1, std::memory_order_relaxed);
    task->unfinished.fetch_add(1, std::memory_order_relaxed);
  }
  for (Task* const dependency : after_begin) {
    if (dependency == nullptr) continue;
    const std::lock_guard lock(dependency->graph.mutex);
    if (dependency->graph.begun)
      ++passed;
    else
      dependency->graph.followers.push_back(task);
  }
  return passed;
}
}  // namespace

/// While the tasks are put behind others, one more keeps each from beginning, unless there is but one, behind
/// at most one: that one alone can let it begin, and nobody has it else.
void TaskScheduler::submit(std::span<const Submission> batch) {
  TaskList ready;
  submitted_.fetch_add(static_cast<std::uint32_t>(batch.size()), std::memory_order_relaxed);
  dispatcher_.submitted();
  for (const Submission& one : batch) {
    Task& task = *one.task;
    if (!one.is_retained) retain(task);  // until complete
    const std::uint32_t links = links_of(one);
    const bool is_plain = batch.size() == 1 && links <= 1;
    task.graph.waiting_for.store(links + !is_plain, std::memory_order_relaxed);
    task.graph.submitted.store(true, std::memory_order_release);
    const std::uint32_t passed = link(one);
    if (!is_plain) {
      task.graph.waiting_for.fetch_sub(passed, std::memory_order_acq_rel);
    } else if (passed == links) {
      task.graph.waiting_for.store(0, std::memory_order_relaxed);
      ready.append(task);
    }
  }
  if (batch.size() != 1 || links_of(batch[0]) > 1)
    for (const Submission& one : batch)
      if (is_awaited_last(*one.task)) ready.append(*one.task);
  run(ready);
}

void TaskScheduler::renew(Task& task) {
  RADDLE_ASSERT(!task.graph.submitted.load(std::memory_order_relaxed) && task.graph.complete,
                "a task is renewed that is not complete");
  task.renew();
}

// The task's lock is held.
void TaskScheduler::let_begin(Task& task, TaskList& ready) {
  if (std::exchange(task.graph.triggered, true)) return;
  for (Task* dependent : task.graph.dependents)
    if (is_awaited_last(*dependent)) ready.append(*dependent);
}

// The task's lock is held.
void TaskScheduler::let_follow(Task& task, TaskList& ready) {
  task.graph.begun = true;
  for (Task* follower : task.graph.followers)
    if (is_awaited_last(*follower)) ready.append(*follower);
  task.graph.followers.clear();
}

void TaskScheduler::begun(Task& task) {
  TaskList ready;
  {
    const std::lock_guard lock(task.graph.mutex);
    let_follow(task, ready);
  }
  run(ready);
}

void TaskScheduler::trigger(Task& task) {
  TaskList ready;
  {
    const std::lock_guard lock(task.graph.mutex);
    let_begin(task, ready);
  }
  run(ready);
}

std::vector<Task*> TaskScheduler::dependents(Task& task) {
  const std::lock_guard lock(task.graph.mutex);
  for (Task* dependent : task.graph.dependents) retain(*dependent);
  return task.graph.dependents;
}

namespace {
/// An endless loop does not get on, though its parts end.
bool is_in_loop(const Task& task) {
  for (const Task* whole = task.parent; whole != nullptr; whole = whole->parent)
    if (std::holds_alternative<ConditionalWork>(whole->work)) return true;
  return false;
}

/// A marker does nothing: it is over when what it waited for is, whoever gets to it when.
bool is_marker(const Task& task) { return std::holds_alternative<MarkerWork>(task.work); }
/// What it waited for may end at once on several threads.
void tell_end(Task& marker, std::uint64_t ended_ns) {
  const std::lock_guard lock(marker.graph.mutex);
  marker.finished_ns = std::max(marker.finished_ns, ended_ns);
}

/// Whether nobody but the scheduler has the task: then nobody gets it any more but by walking over all that
/// is pending, and neither waits for its end nor asks for times. What others have done to it is seen.
bool is_scheduler_alone(const Task& task) { return task.references.load(std::memory_order_acquire) == 1; }

/// Whether somebody may ask when the task ended, which is also when what waits for it began. A look at the
/// clock waits for all that the worker has asked other cores for.
bool is_end_asked(const Task& task) {
  if (!task.is_grid() || !is_scheduler_alone(task) || task.parent != nullptr || task.grid().number != 0)
    return true;
  const Task* const next = task.awaited_by.load(std::memory_order_acquire);
  return next == nullptr || !next->is_grid() || !is_scheduler_alone(*next);
}
}  // namespace

// Marks one task complete and appends what it made ready, in the order of submission.
// @param held  receives those that it kept from being complete, a part of whom is over now
void TaskScheduler::finish(Task& task, TaskList& ready, std::vector<Task*>& held) {
  if (task.finished_ns == 0 ? is_end_asked(task) : !is_marker(task)) task.finished_ns = now_ns();
  if (!is_in_loop(task))
    completed_.store(completed_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(task.graph.mutex);
    task.graph.submitted.store(false, std::memory_order_relaxed);  // who looks at what is pending is over it
    task.graph.complete = true;
    let_begin(task, ready);
    let_follow(task, ready);
    held.insert(held.end(), task.graph.dependents.begin(), task.graph.dependents.end());
    for (Task* dependent : task.graph.dependents)
      dependent->prerequisites.fetch_sub(1, std::memory_order_release);
    task.graph.dependents.clear();
    task.graph.successors.take_all([&](Task& successor) {
      if (is_marker(successor)) {
        if (task.finished_ns == 0) task.finished_ns = now_ns();
        tell_end(successor, task.finished_ns);
      }
      if (is_awaited_last(successor)) ready.append(successor);
    });
  }
  if (const auto* graph = std::get_if<GraphWork>(&task.work); graph != nullptr && graph->is_claimed)
    graph->graph->release();
  dispatcher_.ended(task);
  if (is_scheduler_alone(task))
    task.state.store(Task::kDone, std::memory_order_release);  // who waits has a reference
  else if (task.state.exchange(Task::kDone, std::memory_order_acq_rel) == 1)
    base::futex_wake(task.state, 1 << 30);
  if (!std::exchange(task.graph.is_kept, false)) release(&task);
  one_more_ended();
}

/// Wakes those in wait_all, if there are any, and it was the last: a wake-up for nobody costs as much as a
/// task. They may destroy the scheduler then, so that who sleeps is said by the same word.
void TaskScheduler::one_more_ended() {
  std::uint32_t before = ended_.load(std::memory_order_acquire), after = 0;
  bool wakes = false;
  do {
    after = (before + 1) & ~kSleepers;
    wakes = (before & kSleepers) != 0 && after == submitted();
    if (!wakes) after |= before & kSleepers;
  } while (
      !ended_.compare_exchange_weak(before, after, std::memory_order_acq_rel, std::memory_order_acquire));
  if (wakes) base::futex_wake(ended_, 1 << 30);
}

void TaskScheduler::hold(Task& parent) {
  parent.unfinished.fetch_add(1, std::memory_order_relaxed);
  if (TaskQueue* const queue = parent.grid().queue.get()) queue->child_began();
}

bool TaskScheduler::adopt(Task& parent, Task& child, std::uint32_t limit) {
  if (!child.calls_on(CallWork::Thread::compilations) &&
      pending_children_.fetch_add(1, std::memory_order_relaxed) >= limit) {
    pending_children_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  retain(parent);
  child.parent = &parent;
  return true;
}

/// What a grid launched into its tail stream runs one after the other, when the grid and its other children
/// are done.
/// @returns whether there was any; the parent is complete only after them
bool TaskScheduler::launch_tail(Task& task) {
  Children* family = task.family_if_any();
  std::vector<Task*> tail;
  if (family != nullptr) {
    const std::lock_guard lock(family->mutex);
    tail.swap(family->tail);
    for (Task* child : tail) {
      retain(*child);
      family->launched.push_back(child);
    }
  }
  if (tail.empty()) return false;
  if (const std::uint32_t stop = task.stop.load(std::memory_order_acquire); stop != 0)
    for (Task* child : tail) child->stop.store(stop, std::memory_order_relaxed), child->fault = task.fault;
  task.unfinished.store(static_cast<std::uint32_t>(tail.size()), std::memory_order_relaxed);
  std::vector<Submission> batch;
  for (std::size_t i = 0; i < tail.size(); ++i)
    batch.push_back({tail[i], std::span(&tail[i == 0 ? 0 : i - 1], i == 0 ? 0 : 1)});
  submit(batch);
  for (Task* child : tail) release(child);
  return true;
}

/// Part of what keeps a task from being complete is over. @returns whether that was all
bool TaskScheduler::is_over(Task& task) {
  // Whoever adds a part is one: where there is one part, nobody else does.
  const bool is_last = task.unfinished.load(std::memory_order_acquire) == 1 ||
                       task.unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1;
  if (!is_last || launch_tail(task)) return false;
  if (Children* family = task.family_if_any()) {
    const std::lock_guard lock(family->mutex);
    for (auto* map : {&family->prepared, &family->streams, &family->events}) {
      for (const auto& [key, child] : *map) release(child);
      map->clear();
    }
    for (Task* child : family->launched) release(child);
    family->launched.clear();
  }
  return true;
}

/// A task's own work is over: completes it and all that waited only for it. What may begin before its end
/// does so if its prerequisites keep it from being complete; but children might lack the room that it would
/// take.
void TaskScheduler::end_own_work(Task& task, TaskList& ready) {
  if (task.prerequisites.load(std::memory_order_relaxed) != 0 && task.family_if_any() == nullptr) {
    const std::lock_guard lock(task.graph.mutex);
    let_begin(task, ready);
  }
  std::vector<Task*> held;
  end_part(task, ready, held);
  while (!held.empty()) {
    Task& next = *held.back();
    held.pop_back();
    end_part(next, ready, held);
  }
}

/// Part of what keeps a task from being complete is over: completes it if that was all, and the parents that
/// waited only for it.
void TaskScheduler::end_part(Task& task, TaskList& ready, std::vector<Task*>& held_tasks) {
  Task* done = &task;
  Task* held = nullptr;
  while (is_over(*done)) {
    Task* parent = done->parent;
    std::uint32_t running = 0;
    const std::uint32_t stop = done->stop.load(std::memory_order_acquire);
    if (parent != nullptr && stop != 0 && parent->stop.compare_exchange_strong(running, stop))
      parent->fault = done->fault;  // its launcher is told
    if (parent != nullptr && parent->is_grid() && !done->calls_on(CallWork::Thread::compilations))
      pending_children_.fetch_sub(1, std::memory_order_relaxed);
    std::atomic<std::uint64_t>* const counted = done->counted;  // the parent's, which is not over yet
    finish(*done, ready, held_tasks);
    if (counted != nullptr) counted->fetch_sub(1, std::memory_order_release);
    release(held);
    if (parent == nullptr) return;
    done = held = parent;
  }
  release(held);
}

/// Dispatches what is ready, and what that makes ready if it is complete at once.
void TaskScheduler::run(TaskList& ready) {
  while (Task* const next = ready.take())
    if (dispatcher_.dispatch(*next)) end_own_work(*next, ready);
}

void TaskScheduler::complete(Task& task) {
  TaskList ready;
  end_own_work(task, ready);
  run(ready);
}

std::vector<Task*> TaskScheduler::pending() {
  std::vector<Task*> found;
  for_pending([&](Task& task) {
    retain(task);
    found.push_back(&task);
  });
  return found;
}

/// @param look  (Task&), for each task that is submitted and not complete, which it stays meanwhile
template <class Look>
void TaskScheduler::for_pending(Look look) {
  const std::lock_guard lock(mutex_);
  for (const auto& task : all_) {
    if (!task->graph.submitted.load(std::memory_order_acquire)) continue;
    const std::lock_guard lock_task(task->graph.mutex);
    if (task->graph.submitted.load(std::memory_order_relaxed)) look(*task);
  }
}

// A graph is left as long as its parts are: it goes with the callbacks among them. Nothing may have changed
// between the first look and the last: else something that began behind a look's back is not seen. A callback
// that has just ended is not counted yet, so the callbacks are looked at last, too.
bool TaskScheduler::only_callbacks_left() {
  const std::uint32_t submitted = submitted_.load(std::memory_order_acquire);
  const std::uint32_t ended = ended_.load(std::memory_order_acquire);
  const auto runs = [](const Task& task) {
    return task.graph.waiting_for.load(std::memory_order_acquire) == 0;
  };
  std::vector<const Task*> callbacks, wholes;  // and what they are parts of
  for_pending([&](const Task& task) {
    if (!runs(task) || !task.calls_on(CallWork::Thread::callbacks)) return;
    callbacks.push_back(&task);
    for (const Task* whole = task.parent; whole != nullptr; whole = whole->parent) wholes.push_back(whole);
  });
  const auto is_in = [](const Task& task, const auto& tasks) {
    return std::ranges::find(tasks, &task) != tasks.end();
  };
  bool is_all = true;
  for (int look = 0; look < 2; ++look)
    for_pending(
        [&](const Task& task) { is_all &= !runs(task) || is_in(task, callbacks) || is_in(task, wholes); });
  std::size_t left = 0;
  for_pending([&](const Task& task) { left += is_in(task, callbacks); });
  return is_all && left == callbacks.size() && submitted == submitted_.load(std::memory_order_acquire) &&
         ended == ended_.load(std::memory_order_acquire) && (!callbacks.empty() || idle());
}

void TaskScheduler::wait_all() {
  for (;;) {
    std::uint32_t ended = ended_.load(std::memory_order_acquire);
    if ((ended & ~kSleepers) == submitted()) return;
    if (ended_.compare_exchange_strong(ended, ended | kSleepers, std::memory_order_relaxed))
      base::futex_wait(ended_, ended | kSleepers);
  }
}

}  // namespace raddle::machine
