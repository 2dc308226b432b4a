// A thread that runs functions of tasks in order: the copy engine and the callback thread are one each
// (workers run kernels only). Started at its first task, so that programs which use neither have neither.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "machine/tasks/task_scheduler.h"

namespace raddle::machine {

class HostThread {
 public:
  explicit HostThread(TaskScheduler& tasks) : tasks_(tasks) {}
  ~HostThread();
  void push(Task& task);

 private:
  void run();

  TaskScheduler& tasks_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task*> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace raddle::machine
