// Copies of threads that land late (machine/tma/thread_copies.h): what waits promise, and what they do not.
#include "machine/tma/thread_copies.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

#include "exec/mbarrier.h"

namespace raddle::machine {
namespace {

class Always final : public TmaChooser {
 public:
  explicit Always(bool last) : last_(last) {}
  std::size_t choose(std::size_t count) override { return last_ ? count - 1 : 0; }

 private:
  bool last_;
};

class AnyCopy final : public TmaChooser {
 public:
  explicit AnyCopy(unsigned seed) : random_(seed) {}
  std::size_t choose(std::size_t count) override { return random_() % count; }

 private:
  std::mt19937 random_;
};

class LateCopies : public testing::Test {
 protected:
  static constexpr std::size_t kWords = 64;

  TmaRequester thread(std::uint32_t t) { return {.cta = &cta_, .thread = t, .line = 1}; }
  void copy(std::uint32_t t, std::size_t word, std::uint32_t bytes = 4, std::uint32_t read = 4) {
    copies_.copy(thread(t), {.from = reinterpret_cast<std::uint64_t>(&from_[word]),
                             .to = reinterpret_cast<std::uint64_t>(&to_[word]),
                             .bytes = bytes,
                             .read = read});
  }
  void drain() {
    Always oldest(false);
    while (copies_.outstanding(cta_) != 0) EXPECT_FALSE(copies_.advance(oldest, cta_));
  }

  void SetUp() override {
    for (std::size_t i = 0; i < kWords; ++i)
      from_[i] = 0x01020304 + static_cast<std::uint32_t>(i), to_[i] = ~0u;
  }

  exec::CtaContext cta_{}, other_{};
  ProxyViews views_;
  AccessHistory history_;
  ThreadCopies copies_{views_, history_};
  alignas(16) std::array<std::uint32_t, kWords> from_, to_;
};

TEST_F(LateCopies, NothingLandsBeforeAWait) {
  copy(0, 0);
  copies_.commit(thread(0));
  EXPECT_EQ(to_[0], ~0u);
  from_[0] = 5;  // it is read when it lands
  copies_.wait(thread(0), 0);
  EXPECT_EQ(to_[0], 5u);
  EXPECT_EQ(copies_.outstanding(cta_), 0u);
}

TEST_F(LateCopies, AWaitAllowsTheLatestGroups) {
  for (std::size_t group = 0; group < 3; ++group) {
    copy(0, 2 * group);
    copy(0, 2 * group + 1);
    copies_.commit(thread(0));
  }
  copy(0, 6);  // of no group yet
  copies_.wait(thread(0), 2);
  EXPECT_EQ(to_[0], from_[0]);
  EXPECT_EQ(to_[1], from_[1]);
  EXPECT_EQ(to_[2], ~0u);
  copies_.wait(thread(0), 1);
  EXPECT_EQ(to_[3], from_[3]);
  EXPECT_EQ(to_[4], ~0u);
  copies_.commit(thread(0));
  copies_.commit(thread(0));  // an empty one counts
  copies_.wait(thread(0), 2);
  EXPECT_EQ(to_[5], from_[5]);
  EXPECT_EQ(to_[6], ~0u);
  copies_.wait(thread(0), 1);
  EXPECT_EQ(to_[6], from_[6]);
}

TEST_F(LateCopies, AWaitIsForTheThreadsOwn) {
  copy(0, 0);
  copy(1, 1);
  for (std::uint32_t t : {0u, 1u}) copies_.commit(thread(t));
  copies_.wait(thread(1), 0);
  EXPECT_EQ(to_[0], ~0u);
  EXPECT_EQ(to_[1], from_[1]);
}

TEST_F(LateCopies, WhatIsNotReadIsZero) {
  copy(0, 0, 16, 6);
  copy(0, 4, 8, 0);
  drain();
  EXPECT_EQ(to_[0], from_[0]);
  EXPECT_EQ(to_[1], from_[1] & 0xffff);
  for (std::size_t i : {2u, 3u, 4u, 5u}) EXPECT_EQ(to_[i], 0u) << i;
  EXPECT_EQ(to_[6], ~0u);
}

TEST_F(LateCopies, ArrivalsComeAfterTheCopiesBeforeThem) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SetUp();
    AnyCopy any(seed);
    std::atomic<std::uint64_t> word{0};
    ASSERT_EQ(exec::init_mbarrier(word, 2), exec::MbarrierProblem::none);
    const auto at = reinterpret_cast<std::uint64_t>(&word);
    for (std::uint32_t t : {0u, 1u}) {
      for (std::size_t i = 0; i < 8; ++i) copy(t, 16 * t + i);
      copies_.arrive(thread(t), at);
      for (std::size_t i = 8; i < 16; ++i) copy(t, 16 * t + i);  // these may come before
    }
    while (!exec::is_over(word.load(), false)) {
      ASSERT_NE(copies_.outstanding(cta_), 0u);
      ASSERT_FALSE(copies_.advance(any, cta_));
    }
    for (std::size_t i = 0; i < 32; ++i)
      if (i % 16 < 8) EXPECT_EQ(to_[i], from_[i]) << seed << ' ' << i;
    drain();
    for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(to_[i], from_[i]);
  }
}

TEST_F(LateCopies, AnArrivalWaitsWhateverIsChosen) {
  std::atomic<std::uint64_t> word{0};
  ASSERT_EQ(exec::init_mbarrier(word, 1), exec::MbarrierProblem::none);
  copy(0, 0);
  copies_.arrive(thread(0), reinterpret_cast<std::uint64_t>(&word));
  EXPECT_EQ(copies_.outstanding(cta_), 1u);
  Always last(true);
  EXPECT_FALSE(copies_.advance(last, cta_));
  EXPECT_EQ(to_[0], from_[0]);
  EXPECT_FALSE(exec::is_over(word.load(), false));
  EXPECT_FALSE(copies_.advance(last, cta_));
  EXPECT_TRUE(exec::is_over(word.load(), false));
}

TEST_F(LateCopies, AnArrivalNeedsAnMbarrier) {
  std::atomic<std::uint64_t> word{0};
  copies_.arrive(thread(7), reinterpret_cast<std::uint64_t>(&word));
  Always oldest(false);
  EXPECT_EQ(copies_.advance(oldest, cta_).fault, exec::FaultKind::illegal_barrier);
  EXPECT_EQ(copies_.culprit().thread, 7u);
}

TEST_F(LateCopies, OfACtaThatEndsNothingLands) {
  copy(0, 0);
  copies_.copy({.cta = &other_, .thread = 0, .line = 1}, {.from = reinterpret_cast<std::uint64_t>(&from_[1]),
                                                          .to = reinterpret_cast<std::uint64_t>(&to_[1]),
                                                          .bytes = 4,
                                                          .read = 4});
  EXPECT_EQ(copies_.outstanding(cta_), 1u);
  copies_.forget(cta_);
  EXPECT_EQ(copies_.outstanding(cta_), 0u);
  EXPECT_EQ(copies_.outstanding(other_), 1u);
  copies_.wait(thread(0), 0);
  EXPECT_EQ(to_[0], ~0u);
}

}  // namespace
}  // namespace raddle::machine
