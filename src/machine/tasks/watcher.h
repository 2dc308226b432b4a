// Tasks that wait for words in memory: a thread looks at each again and again, often at first and ever more
// rarely. Started at the first such task.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "machine/tasks/task_scheduler.h"

namespace raddle::machine {

class Watcher {
 public:
  /// @param given_up  once it is true, no condition is waited for any more
  Watcher(TaskScheduler& tasks, const std::atomic<bool>& given_up) : tasks_(tasks), given_up_(given_up) {}
  ~Watcher();
  void push(Task& task);

 private:
  void run();
  std::vector<Task*> take_met();  ///< and their removal; the lock is held

  TaskScheduler& tasks_;
  const std::atomic<bool>& given_up_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Task*> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace raddle::machine
