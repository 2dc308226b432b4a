// The second tier: a kernel that started as quick code is compiled again, optimised, on a thread in the
// background once it has run long enough to be worth it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace raddle::jit {

/// One background thread, started by the first job. Jobs have an owner, by which they are taken back.
class TierThread {
 public:
  ~TierThread();

  void push(const void* owner, std::function<void()> job);
  /// After it, no job of the owner runs any more; waits for one that is running.
  void cancel(const void* owner);

 private:
  struct Job {
    const void* owner;
    std::function<void()> run;
  };
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  const void* running_ = nullptr;  ///< owner of the job that runs now
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace raddle::jit
