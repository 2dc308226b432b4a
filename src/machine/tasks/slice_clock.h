// The machine's clock: a thread that ends time slices and stops tasks whose time limit has passed. It looks
// every two milliseconds while anything runs, and sleeps while nothing does. Exists once something has run.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "machine/tasks/task_scheduler.h"

namespace raddle::machine {

class SliceClock {
 public:
  /// @param expire      called, without a lock held, for a task that ran past its limit and is not done
  /// @param end_slices  called at each look; @returns whether anything runs
  SliceClock(TaskScheduler& tasks, std::function<void(Task&)> expire, std::function<bool()> end_slices)
      : tasks_(tasks), expire_(std::move(expire)), end_slices_(std::move(end_slices)) {}
  ~SliceClock() { stop(); }
  /// Watches a task from now on; holds a reference until it is done.
  void watch(Task& task);
  /// Something runs from now on: `end_slices` would say so. A load, where the clock is awake.
  void attend() {
    if (asleep_.load(std::memory_order_seq_cst)) wake();
  }
  /// Ends the thread; nothing is called any more.
  void stop();

 private:
  struct Entry {
    Task* task;
    bool expired;
  };
  void wake();
  void run();
  void look_at_limits(std::unique_lock<std::mutex>& lock);

  TaskScheduler& tasks_;
  std::function<void(Task&)> expire_;
  std::function<bool()> end_slices_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Entry> entries_;
  std::atomic<bool> asleep_{true};
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace raddle::machine
