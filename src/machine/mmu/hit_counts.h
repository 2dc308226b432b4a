// Hits and misses, of TLBs and caches: counted by one thread, read by any.
#pragma once

#include <atomic>
#include <cstdint>

#include "raddle/translation.h"

namespace raddle::machine {

class HitCounts {
 public:
  void add_hit() { add_one(hits_); }
  void add_miss() { add_one(misses_); }
  Hits values() const {
    return {hits_.load(std::memory_order_relaxed), misses_.load(std::memory_order_relaxed)};
  }

 private:
  static void add_one(std::atomic<std::uint64_t>& count) {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> hits_{0}, misses_{0};
};

}  // namespace raddle::machine
