// Waiting in tests: for a state, never for a time.
#pragma once

#include <chrono>
#include <thread>

namespace raddle {

/// Waits until `condition()` holds, at most for 50 seconds. @returns
/// whether it holds.
template <class Condition>
bool wait_until(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(50);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

/// A moment, of 5 ms at least, in which others may do what they must not do. A right program passes whatever
/// happens in it.
inline void give_others_a_chance() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

}  // namespace raddle
