// Time limits: a thread that stops tasks whose deadline has passed. Exists only once a launch with a limit
// was made.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "machine/tasks/task_scheduler.h"

namespace raddle::machine {

class Watchdog {
 public:
  /// @param expire  called, without a lock held, for a task that ran past its limit and is not done
  Watchdog(TaskScheduler& tasks, std::function<void(Task&)> expire)
      : tasks_(tasks), expire_(std::move(expire)) {}
  ~Watchdog();
  /// Watches a task from now on; holds a reference until it is done.
  void watch(Task& task);

 private:
  struct Entry {
    Task* task;
    bool expired;
  };
  void run();

  TaskScheduler& tasks_;
  std::function<void(Task&)> expire_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Entry> entries_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace raddle::machine
