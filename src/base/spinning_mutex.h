// A mutex for what is held for a microsecond or two: who finds it taken spins before it sleeps, since waking
// a sleeper costs both sides more than the wait (base/futex.h). It only looks while it spins, so that whoever
// has the mutex keeps its cache line. To unlock it is a plain store: an atomic exchange would wait for all
// that was stored before, some of it into lines that other cores have. Works with std::lock_guard.
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
    // Whoever unlocks may miss one who is about to sleep: so they sleep for a while only.
    constexpr std::chrono::milliseconds kNap{1};
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    while (!try_lock()) futex_wait(state_, kTaken, kNap);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }
  bool try_lock() {
    std::uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kTaken, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void unlock() {
    const bool wakes = sleepers_.load(std::memory_order_relaxed) != 0;
    state_.store(kFree, std::memory_order_release);  // from here on it may be gone
    if (wakes) futex_wake(state_, 1);
  }

 private:
  static constexpr std::uint32_t kFree = 0, kTaken = 1;
  std::atomic<std::uint32_t> state_{kFree}, sleepers_{0};
};

}  // namespace raddle::base
