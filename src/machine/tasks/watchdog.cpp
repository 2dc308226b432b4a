// The clock of a limit starts when the first CTA was granted, so time in a queue does not count.
#include "machine/tasks/watchdog.h"

#include <chrono>

namespace raddle::machine {

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  for (const Entry& entry : entries_) tasks_.release(entry.task);
}

void Watchdog::watch(Task& task) {
  tasks_.retain(task);
  std::lock_guard lock(mutex_);
  entries_.push_back({&task, false});
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wake_.notify_one();
}

void Watchdog::run() {
  constexpr auto kTick = std::chrono::milliseconds(1);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (entries_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const std::uint64_t now = now_ns();
    for (std::size_t i = 0; i < entries_.size();) {
      Task* task = entries_[i].task;
      const std::uint64_t started = task->started_ns.load(std::memory_order_relaxed);
      if (task->done()) {
        entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
        tasks_.release(task);
        continue;
      }
      if (started != 0 && now > started + task->grid.time_limit_ns && !entries_[i].expired) {
        entries_[i].expired = true;
        lock.unlock();
        expire_(*task);
        lock.lock();
      }
      ++i;
    }
    wake_.wait_for(lock, kTick);
  }
}

}  // namespace raddle::machine
