// One lock over the graph of tasks; held for a few instructions per launch and per completion.
#include "machine/tasks/task_scheduler.h"

#include <chrono>

#include "base/futex.h"

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
  for (int i = 0; i < kBatch; ++i) {
    all_.push_back(std::make_unique<Task>());
    Task& task = *all_.back();
    task.graph.successors.reserve(4);
    task.graph.next = pool_;
    pool_ = &task;
  }
}

Task* TaskScheduler::acquire() {
  Task* task = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (pool_ == nullptr) grow_pool();
    task = pool_;
    pool_ = task->graph.next;
  }
  task->reset();
  task->references.store(1, std::memory_order_relaxed);
  return task;
}

void TaskScheduler::release(Task* task) {
  if (task == nullptr || task->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  task->function = nullptr;  // what they captured must not outlive it
  task->condition = nullptr;
  std::lock_guard lock(mutex_);
  task->graph.next = pool_;
  pool_ = task;
}

void TaskScheduler::submit(Task& task, std::span<Task* const> after) {
  retain(task);  // until complete
  pending_.fetch_add(1, std::memory_order_relaxed);
  {
    std::lock_guard lock(mutex_);
    for (Task* dependency : after) {
      if (dependency == nullptr || dependency->graph.complete) continue;
      dependency->graph.successors.push_back(&task);
      ++task.graph.waiting_for;
    }
    if (task.graph.waiting_for != 0) return;
  }
  if (dispatcher_.dispatch(task)) complete(task);
}

// Marks one task complete and appends what it made ready, in the order of submission.
void TaskScheduler::finish(Task& task, ReadyList& ready) {
  task.finished_ns = now_ns();
  {
    std::lock_guard lock(mutex_);
    task.graph.complete = true;
    for (Task* successor : task.graph.successors) {
      if (--successor->graph.waiting_for != 0) continue;
      successor->graph.next = nullptr;
      *ready.end = successor;
      ready.end = &successor->graph.next;
    }
    task.graph.successors.clear();
  }
  if (task.state.exchange(2, std::memory_order_acq_rel) == 1) base::futex_wake(task.state, 1 << 30);
  release(&task);
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) base::futex_wake(pending_, 1 << 30);
}

void TaskScheduler::complete(Task& task) {
  ReadyList ready;
  finish(task, ready);
  while (ready.first != nullptr) {
    Task& next = *ready.first;
    ready.first = next.graph.next;
    if (ready.first == nullptr) ready.end = &ready.first;
    if (dispatcher_.dispatch(next)) finish(next, ready);
  }
}

void TaskScheduler::wait_all() {
  for (std::uint32_t pending; (pending = pending_.load(std::memory_order_acquire)) != 0;)
    base::futex_wait(pending_, pending);
}

}  // namespace raddle::machine
