// A limit for calls that may not hang: a test that waits for ever says for which call.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

namespace raddle {

/// Ends the test program when it lives for more than a minute.
class TimeLimit {
 public:
  explicit TimeLimit(std::string call) : call_(std::move(call)), thread_([this] { watch(); }) {}
  ~TimeLimit() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, std::chrono::minutes(1), [this] { return over_; })) return;
    std::fprintf(stderr, "%s has not returned after a minute\n", call_.c_str());
    std::abort();
  }

  const std::string call_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace raddle
