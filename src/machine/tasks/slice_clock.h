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
  /// @param end_slices  called at each look; @returns whether anything runs
  explicit SliceClock(std::function<bool()> end_slices) : end_slices_(std::move(end_slices)) {}
  ~SliceClock() { stop(); }
  /// Watches a grid from now on, and stops it when its limit has passed; holds a reference until it is done.
  void watch(Task& task);
  /// Lets go of the space's tasks; all are complete.
  void forget(const AddressSpace& space);
  /// Something runs from now on: `end_slices` would say so. Costs one load while the clock is awake.
  void attend() {
    if (asleep_.load(std::memory_order_seq_cst)) wake();
  }
  /// Ends the thread; nothing is called any more.
  void stop();

 private:
  struct Entry {
    Task* task;
    bool expired;
    std::uint64_t looked_ns = 0;     // when the clock last did
    std::uint64_t preempted_ns = 0;  // so long its CTAs were to leave their SMs, or were away
  };
  void wake();
  void run();
  void look_at_limits(std::unique_lock<std::mutex>& lock);

  void drop(std::size_t entry);

  std::function<bool()> end_slices_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Entry> entries_;
  Task* late_ = nullptr;  // being stopped
  std::atomic<bool> asleep_{true};
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace raddle::machine
