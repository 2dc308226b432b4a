// A thread that does tasks' work in order: the copy engine and the callback thread are one each
// (workers run kernels only). Started at its first task, so that programs which use neither have neither.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "machine/tasks/task_scheduler.h"

namespace raddle::machine {

class HostThread {
 public:
  /// @param perform  does a task's work; the task is complete then
  HostThread(TaskScheduler& tasks, std::function<void(Task&)> perform)
      : tasks_(tasks), perform_(std::move(perform)) {}
  ~HostThread();
  void push(Task& task);

 private:
  void run();

  TaskScheduler& tasks_;
  const std::function<void(Task&)> perform_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task*> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace raddle::machine
