// One lock over the graph of tasks; held for a few instructions per launch and per completion.
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

void TaskScheduler::release(Task* task) {
  if (task == nullptr || task->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  task->work = MarkerWork{};  // what it holds must not outlive it
  Task* first = released_.load(std::memory_order_relaxed);
  do {
    task->graph.next = first;
  } while (!released_.compare_exchange_weak(first, task, std::memory_order_release, std::memory_order_relaxed));
}

void TaskScheduler::submit(std::span<const Submission> batch) {
  TaskList ready;
  dispatcher_.submitted();
  {
    std::lock_guard lock(mutex_);
    const std::uint32_t before = submitted_.load(std::memory_order_relaxed);
    submitted_.store((before + static_cast<std::uint32_t>(batch.size())) & ~kSleepers, std::memory_order_relaxed);
    for (const auto& [task, after, after_trigger, after_begin] : batch) {
      retain(*task);  // until complete
      task->graph.submitted = true;
      for (Task* dependency : after) {
        if (dependency == nullptr || dependency->graph.complete) continue;
        dependency->graph.successors.push_back(task);
        dependency->awaited_by.store(task, std::memory_order_release);
        ++task->graph.waiting_for;
      }
      for (Task* dependency : after_trigger) {
        if (dependency == nullptr || dependency->graph.complete) continue;
        dependency->graph.dependents.push_back(task);
        task->prerequisites.fetch_add(1, std::memory_order_relaxed);
        task->unfinished.fetch_add(1, std::memory_order_relaxed);
        if (!dependency->graph.triggered) ++task->graph.waiting_for;
      }
      for (Task* dependency : after_begin) {
        if (dependency == nullptr || dependency->graph.complete || dependency->graph.begun) continue;
        dependency->graph.followers.push_back(task);
        ++task->graph.waiting_for;
      }
      if (task->graph.waiting_for == 0) ready.append(*task);
    }
  }
  run(ready);
}

void TaskScheduler::renew(Task& task) {
  const std::lock_guard lock(mutex_);
  RADDLE_ASSERT(task.graph.complete, "a task is renewed that is not complete");
  task.graph.submitted = false;
  task.renew();
}

// The lock is held.
void TaskScheduler::let_begin(Task& task, TaskList& ready) {
  if (std::exchange(task.graph.triggered, true)) return;
  for (Task* dependent : task.graph.dependents)
    if (--dependent->graph.waiting_for == 0) ready.append(*dependent);
}

// The lock is held.
void TaskScheduler::let_follow(Task& task, TaskList& ready) {
  task.graph.begun = true;
  for (Task* follower : task.graph.followers)
    if (--follower->graph.waiting_for == 0) ready.append(*follower);
  task.graph.followers.clear();
}

void TaskScheduler::begun(Task& task) {
  TaskList ready;
  {
    std::lock_guard lock(mutex_);
    let_follow(task, ready);
  }
  run(ready);
}

void TaskScheduler::trigger(Task& task) {
  TaskList ready;
  {
    std::lock_guard lock(mutex_);
    let_begin(task, ready);
  }
  run(ready);
}

std::vector<Task*> TaskScheduler::dependents(Task& task) {
  const std::lock_guard lock(mutex_);
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
}  // namespace

// Marks one task complete and appends what it made ready, in the order of submission.
// @param held  receives those that it kept from being complete, a part of whom is over now
void TaskScheduler::finish(Task& task, TaskList& ready, std::vector<Task*>& held) {
  if (!is_marker(task) || task.finished_ns == 0) task.finished_ns = now_ns();
  {
    std::lock_guard lock(mutex_);
    task.graph.submitted = false;  // nobody who asks for pending tasks looks at it from now on
    task.graph.complete = true;
    if (!is_in_loop(task)) ++completed_;
    let_begin(task, ready);
    let_follow(task, ready);
    held.insert(held.end(), task.graph.dependents.begin(), task.graph.dependents.end());
    for (Task* dependent : task.graph.dependents)
      dependent->prerequisites.fetch_sub(1, std::memory_order_release);
    task.graph.dependents.clear();
    task.graph.successors.take_all([&](Task& successor) {
      if (is_marker(successor)) successor.finished_ns = std::max(successor.finished_ns, task.finished_ns);
      if (--successor.graph.waiting_for == 0) ready.append(successor);
    });
  }
  if (const auto* graph = std::get_if<GraphWork>(&task.work); graph != nullptr && graph->is_claimed)
    graph->graph->release();
  dispatcher_.ended(task);
  if (task.state.exchange(2, std::memory_order_acq_rel) == 1) base::futex_wake(task.state, 1 << 30);
  release(&task);
  one_more_ended();
}

/// Wakes those in wait_all, if there are any, and it was the last: a wake-up for nobody costs as much as a
/// task. They may destroy the scheduler then, so that who sleeps is said by the same word.
void TaskScheduler::one_more_ended() {
  std::uint32_t before = ended_.load(std::memory_order_acquire), after = 0;
  bool wakes = false;
  do {
    after = (before + 1) & ~kSleepers;
    wakes = (before & kSleepers) != 0 && after == submitted_.load(std::memory_order_relaxed);
    if (!wakes) after |= before & kSleepers;
  } while (!ended_.compare_exchange_weak(before, after, std::memory_order_acq_rel, std::memory_order_acquire));
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
    std::lock_guard lock(mutex_);
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

std::uint64_t TaskScheduler::completed() {
  const std::lock_guard lock(mutex_);
  return completed_;
}

std::vector<Task*> TaskScheduler::pending() {
  std::vector<Task*> found;
  const std::lock_guard lock(mutex_);
  for (const auto& task : all_) {
    if (!task->graph.submitted || task->graph.complete) continue;
    retain(*task);
    found.push_back(task.get());
  }
  return found;
}

// A graph is left as long as its parts are: it goes with the callbacks among them.
bool TaskScheduler::only_callbacks_left() {
  const std::lock_guard lock(mutex_);
  const auto runs = [](const Task& task) {
    return task.graph.submitted && !task.graph.complete && task.graph.waiting_for == 0;
  };
  std::vector<const Task*> callbacks;  // and what they are parts of
  for (const auto& task : all_)
    if (runs(*task) && task->calls_on(CallWork::Thread::callbacks))
      for (const Task* whole = task.get(); whole != nullptr; whole = whole->parent)
        callbacks.push_back(whole);
  const bool is_all = std::ranges::all_of(all_, [&](const auto& task) {
    return !runs(*task) || std::ranges::find(callbacks, task.get()) != callbacks.end();
  });
  return is_all && (!callbacks.empty() || idle());
}

void TaskScheduler::wait_all() {
  for (;;) {
    std::uint32_t ended = ended_.load(std::memory_order_acquire);
    if ((ended & ~kSleepers) == submitted_.load(std::memory_order_relaxed)) return;
    if (ended_.compare_exchange_strong(ended, ended | kSleepers, std::memory_order_relaxed))
      base::futex_wait(ended_, ended | kSleepers);
  }
}

}  // namespace raddle::machine
