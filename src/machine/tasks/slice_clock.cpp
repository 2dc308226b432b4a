// The clock of a limit starts when the first CTA was granted, and stands still while the grid is preempted:
// time in a queue does not count.
#include "machine/tasks/slice_clock.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "machine/address_space.h"

namespace raddle::machine {

void SliceClock::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SliceClock::drop(std::size_t entry) {
  Task* const task = entries_[entry].task;
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(entry));
  task->grid().space->tasks().release(task);
}

void SliceClock::forget(const AddressSpace& space) {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [&] { return late_ == nullptr || late_->grid().space != &space; });
  for (std::size_t i = entries_.size(); i-- != 0;)
    if (entries_[i].task->grid().space == &space) drop(i);
}

void SliceClock::wake() {
  const std::lock_guard lock(mutex_);
  asleep_.store(false, std::memory_order_relaxed);
  if (!thread_.joinable() && !stopping_) thread_ = std::thread([this] { run(); });
  wake_.notify_all();
}

void SliceClock::watch(Task& task) {
  {
    const std::lock_guard lock(mutex_);
    const Entry fresh{&task, false, now_ns()};
    const auto known =
        std::ranges::find(entries_, &task, &Entry::task);  // that it was done has not been seen
    if (known != entries_.end()) {
      *known = fresh;
    } else {
      task.grid().space->tasks().retain(task);
      entries_.push_back(fresh);
    }
  }
  attend();
}

void SliceClock::look_at_limits(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t now = now_ns();
  for (Entry& entry : entries_) {
    const std::uint64_t passed = now - std::exchange(entry.looked_ns, now);
    if (entry.task->preempted.load(std::memory_order_relaxed)) entry.preempted_ns += passed;
  }
  for (std::size_t i = 0; i < entries_.size();) {
    Task* task = entries_[i].task;
    const std::uint64_t started = task->started_ns.load(std::memory_order_relaxed);
    if (task->done()) {
      drop(i);
      continue;
    }
    if (started != 0 && now > started + task->grid().time_limit_ns + entries_[i].preempted_ns &&
        !entries_[i].expired) {
      entries_[i].expired = true;
      late_ = task;
      lock.unlock();
      task->grid().space->stop_late(*task);
      lock.lock();
      late_ = nullptr;
      wake_.notify_all();  // who wants to forget the space
      i = 0;               // which others may have done
      continue;
    }
    ++i;
  }
}

void SliceClock::run() {
  constexpr auto kSlice = std::chrono::milliseconds(2);
  constexpr unsigned kIdleSlices = 16;  // before it sleeps
  std::unique_lock lock(mutex_);
  for (unsigned idle = 0; !stopping_;) {
    look_at_limits(lock);
    idle = end_slices_() || !entries_.empty() ? 0 : idle + 1;
    if (idle > kIdleSlices) {
      // Who begins to run says so first and then looks whether the clock sleeps; so this looks again.
      asleep_.store(true, std::memory_order_seq_cst);
      if (!end_slices_()) wake_.wait(lock, [this] { return stopping_ || !asleep_.load(); });
      asleep_.store(false, std::memory_order_relaxed);
      idle = 0;
    }
    wake_.wait_for(lock, kSlice, [this] { return stopping_; });
  }
}

}  // namespace raddle::machine
