// A mutex that spins before it sleeps.
#include "base/spinning_mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace raddle::base {
namespace {

void count_in_threads(unsigned threads, unsigned times, std::chrono::microseconds held) {
  SpinningMutex mutex;
  std::uint64_t count = 0;
  std::vector<std::thread> counting;
  for (unsigned i = 0; i < threads; ++i)
    counting.emplace_back([&] {
      for (unsigned k = 0; k < times; ++k) {
        const std::lock_guard lock(mutex);
        const std::uint64_t before = count;
        if (held.count() != 0) std::this_thread::sleep_for(held);
        count = before + 1;
      }
    });
  for (std::thread& thread : counting) thread.join();
  EXPECT_EQ(count, std::uint64_t{threads} * times);
}

TEST(SpinningMutex, OneAtATime) { count_in_threads(4, 20'000, {}); }

// Longer than anybody spins: all sleep, and each is woken.
TEST(SpinningMutex, WhoSleepsIsWoken) { count_in_threads(6, 40, std::chrono::microseconds(200)); }

TEST(SpinningMutex, WhoFindsItTakenMayGoAway) {
  SpinningMutex mutex;
  ASSERT_TRUE(mutex.try_lock());
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

}  // namespace
}  // namespace raddle::base
