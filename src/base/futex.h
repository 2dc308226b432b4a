// Waiting on a 32-bit word without a lock: Linux futexes, and the pause instruction of a spin.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace raddle::base {

inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

/// Sleeps while `word` holds `expected`; may return early.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
/// The same; gives up after a while.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::chrono::nanoseconds longest) {
  const timespec limit{longest.count() / 1000000000, longest.count() % 1000000000};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &limit, nullptr, 0);
}
inline void futex_wake(const std::atomic<std::uint32_t>& word, int waiters) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, waiters, nullptr, nullptr, 0);
}

/// The same for sleepers of several kinds, a bit each.
inline void futex_wait_as(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                          std::uint32_t kind) {
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, nullptr, nullptr, kind);
}
/// @returns how many were woken
inline int futex_wake_of(const std::atomic<std::uint32_t>& word, int waiters, std::uint32_t kinds) {
  return static_cast<int>(
      syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, waiters, nullptr, nullptr, kinds));
}

/// The same between processes that share the word's memory; gives up after a while.
inline void futex_wait_shared(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                              std::chrono::nanoseconds longest) {
  const timespec limit{longest.count() / 1000000000, longest.count() % 1000000000};
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, &limit, nullptr, 0);
}
inline void futex_wake_shared(const std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, 1 << 30, nullptr, nullptr, 0);
}

/// Spins until done() or about 50 us passed: a spinning round trip costs 0.3 us, a sleep and wake-up 13 us.
/// Yields the core in between, because the awaited thread may need it.
/// @returns whether done() became true
template <class Done>
bool spin_until(Done&& done) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < 64; ++i) {
    if (done()) return true;
    spin_pause();
  }
  const auto end = Clock::now() + std::chrono::microseconds(50);
  do {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      spin_pause();
    }
    sched_yield();
  } while (Clock::now() < end);
  return done();
}

}  // namespace raddle::base
