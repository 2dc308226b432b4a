// See watcher.h.
#include "machine/tasks/watcher.h"

#include <algorithm>
#include <chrono>

namespace raddle::machine {

Watcher::~Watcher() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Watcher::push(Task& task) {
  std::lock_guard lock(mutex_);
  waiting_.push_back(&task);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wake_.notify_one();  // under the lock: once the task is done, this object may go
}

std::vector<Task*> Watcher::take_met() {
  const bool give_up = given_up_.load(std::memory_order_acquire);
  std::vector<Task*> taken;
  std::erase_if(waiting_, [&](Task* task) {
    const bool met = give_up || is_met(std::get_if<WaitWork>(&task->work)->until);
    if (met) taken.push_back(task);
    return met;
  });
  return taken;
}

void Watcher::run() {
  using std::chrono::microseconds;
  constexpr microseconds kShortest{20}, kLongest{500};
  microseconds pause = kShortest;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (waiting_.empty()) {
      wake_.wait(lock);
      pause = kShortest;
      continue;
    }
    const std::vector<Task*> met = take_met();
    if (met.empty()) {
      // A new task is looked at soon: somebody rings.
      if (wake_.wait_for(lock, pause) == std::cv_status::no_timeout) pause = kShortest;
      pause = std::min(pause * 5 / 4, kLongest);
      continue;
    }
    pause = kShortest;
    lock.unlock();
    for (Task* task : met) tasks_.complete(*task);
    lock.lock();
  }
}

}  // namespace raddle::machine
