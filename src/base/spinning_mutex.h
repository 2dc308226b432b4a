// A mutex for what is held for a microsecond or two: who finds it taken spins before it sleeps, since waking
// a sleeper costs both sides more than the wait (base/futex.h). It only looks while it spins, so that whoever
// has the mutex keeps its cache line. Works with std::lock_guard.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/futex.h"

namespace raddle::base {

class SpinningMutex {
 public:
  void lock() {
    if (try_lock()) return;
    const bool got =
        spin_until([this] { return state_.load(std::memory_order_relaxed) == kFree && try_lock(); });
    if (got) return;
    // Whoever has slept may not be the only one, so it takes the mutex as one with sleepers.
    while (state_.exchange(kSleepers, std::memory_order_acquire) != kFree) futex_wait(state_, kSleepers);
  }
  bool try_lock() {
    std::uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kTaken, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void unlock() {
    if (state_.exchange(kFree, std::memory_order_release) == kSleepers) futex_wake(state_, 1);
  }

 private:
  static constexpr std::uint32_t kFree = 0, kTaken = 1, kSleepers = 2;
  std::atomic<std::uint32_t> state_{kFree};
};

}  // namespace raddle::base
