// Stack switching.
#include "base/fiber.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

namespace raddle::base {
namespace {

struct Pair {
  Fiber thread, fiber;
  int count = 0;
  double value = 0;
};

void ping(void* argument) {
  auto& pair = *static_cast<Pair*>(argument);
  double local = 1.5;  // survives switches
  for (;;) {
    ++pair.count;
    pair.value = local *= 2;
    Fiber::switch_to(pair.fiber, pair.thread);
  }
}

TEST(Fiber, SwitchesForthAndBackAndKeepsItsState) {
  Pair pair;
  ASSERT_TRUE(pair.fiber.allocate(64 << 10));
  pair.fiber.prepare(ping, &pair);
  for (int i = 1; i <= 10; ++i) {
    Fiber::switch_to(pair.thread, pair.fiber);
    EXPECT_EQ(pair.count, i);
    EXPECT_EQ(pair.value, 1.5 * (1 << i));
  }
}

void check_alignment(void* argument) {
  auto& pair = *static_cast<Pair*>(argument);
  alignas(16) volatile char local[16] = {};  // the compiler takes the alignment of the frame for granted
  pair.count = static_cast<int>(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) % 16) + local[0];
  Fiber::switch_to(pair.fiber, pair.thread);
  __builtin_trap();
}

TEST(Fiber, StartsWithTheStackAligned) {
  Pair pair;
  pair.count = -1;
  ASSERT_TRUE(pair.fiber.allocate(64 << 10));
  pair.fiber.prepare(check_alignment, &pair);
  Fiber::switch_to(pair.thread, pair.fiber);
  EXPECT_EQ(pair.count, 0);
}

TEST(Fiber, PrepareAbandonsWhatRan) {
  Pair pair;
  ASSERT_TRUE(pair.fiber.allocate(64 << 10));
  for (int i = 1; i <= 3; ++i) {
    pair.fiber.prepare(ping, &pair);
    Fiber::switch_to(pair.thread, pair.fiber);
    EXPECT_EQ(pair.value, 3.0);  // from the start each time
  }
}

TEST(Fiber, HasAGuardBelowItsStack) {
  Fiber fiber;
  EXPECT_FALSE(fiber.in_guard(0));
  ASSERT_TRUE(fiber.allocate(64 << 10));
  const auto top = reinterpret_cast<std::uint64_t>(fiber.stack_top());
  EXPECT_EQ(top % 16, 0u);
  EXPECT_FALSE(fiber.in_guard(top - 8));
  EXPECT_TRUE(fiber.in_guard(top - (64 << 10) - 4096));
}

// A figure, not a check: time does not gate.
TEST(Fiber, SwitchTime) {
  Pair pair;
  ASSERT_TRUE(pair.fiber.allocate(64 << 10));
  pair.fiber.prepare(ping, &pair);
  constexpr int kRounds = 200000;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRounds; ++i) Fiber::switch_to(pair.thread, pair.fiber);
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  RecordProperty("ns_per_switch", std::to_string(time.count() / (2 * kRounds)));
  std::printf("%.2f ns per switch\n", time.count() / (2 * kRounds));
  EXPECT_EQ(pair.count, kRounds);
}

}  // namespace
}  // namespace raddle::base
