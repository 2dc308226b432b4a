#include "exec/mbarrier.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <thread>
#include <vector>

namespace raddle::exec {
namespace {

using Word = std::atomic<std::uint64_t>;

Mbarrier object_of(const Word& word) { return Mbarrier::unpack(word.load()); }

TEST(Mbarrier, IsItsWord) {
  const Mbarrier object{.odd = true, .expected = 0xabcde, .pending = 0x12345, .transactions = -77};
  const Mbarrier again = Mbarrier::unpack(object.pack());
  EXPECT_TRUE(again.odd);
  EXPECT_EQ(again.expected, 0xabcdeu);
  EXPECT_EQ(again.pending, 0x12345u);
  EXPECT_EQ(again.transactions, -77);
  EXPECT_EQ(object.pack(), std::uint64_t{1} << 63 | std::uint64_t{1} << 61 | std::uint64_t{0xabcde} << 41 |
                               std::uint64_t{0x12345} << 21 | (0x20'0000u - 77));
  EXPECT_EQ(pending_count(object.pack()), 0x12345u);
}

TEST(Mbarrier, PhasesEndWithTheLastArrival) {
  Word word{0};
  ASSERT_EQ(init_mbarrier(word, 3), MbarrierProblem::none);
  const auto first = arrive_at_mbarrier(word, {});
  EXPECT_EQ(pending_count(first.before), 3u);
  EXPECT_FALSE(first.completed);
  EXPECT_TRUE(arrive_at_mbarrier(word, {.count = 2}).completed);
  EXPECT_TRUE(is_over(word, false));
  EXPECT_FALSE(is_over(word, true));
  EXPECT_EQ(object_of(word).pending, 3u);  // of the next phase
}

TEST(Mbarrier, PhasesWaitForTransactions) {
  Word word{0};
  init_mbarrier(word, 1);
  EXPECT_FALSE(complete_transactions(word, 16).completed);  // before they are expected
  EXPECT_EQ(object_of(word).transactions, -16);
  EXPECT_FALSE(arrive_at_mbarrier(word, {.transactions = 64}).completed);
  EXPECT_FALSE(complete_transactions(word, 32).completed);
  EXPECT_TRUE(complete_transactions(word, 16).completed);
  EXPECT_TRUE(is_over(word, false));
}

TEST(Mbarrier, DroppedArrivalsAreNotExpectedAgain) {
  Word word{0};
  init_mbarrier(word, 2);
  arrive_at_mbarrier(word, {.drops = true});
  EXPECT_TRUE(arrive_at_mbarrier(word, {}).completed);
  EXPECT_EQ(object_of(word).expected, 1u);
  EXPECT_TRUE(arrive_at_mbarrier(word, {.drops = true}).completed);
  EXPECT_EQ(object_of(word).expected, 0u);
  EXPECT_FALSE(expect_transactions(word, 0).completed);  // nobody is left, nothing ends by itself
}

TEST(Mbarrier, WrongUseChangesNothing) {
  Word word{0};
  EXPECT_EQ(arrive_at_mbarrier(word, {}).problem, MbarrierProblem::not_initialised);
  EXPECT_EQ(invalidate_mbarrier(word), MbarrierProblem::not_initialised);
  EXPECT_EQ(init_mbarrier(word, 0), MbarrierProblem::count_out_of_range);
  EXPECT_EQ(init_mbarrier(word, kMbarrierMost + 1), MbarrierProblem::count_out_of_range);
  init_mbarrier(word, 2);
  const std::uint64_t before = word;
  EXPECT_EQ(arrive_at_mbarrier(word, {.count = 0}).problem, MbarrierProblem::count_out_of_range);
  EXPECT_EQ(arrive_at_mbarrier(word, {.count = 3}).problem, MbarrierProblem::too_many_arrivals);
  EXPECT_EQ(arrive_at_mbarrier(word, {.count = 2, .may_complete = false}).problem,
            MbarrierProblem::would_complete);
  EXPECT_EQ(arrive_at_mbarrier(word, {.transactions = kMbarrierMost + 1}).problem,
            MbarrierProblem::transactions_overflow);
  EXPECT_EQ(complete_transactions(word, kMbarrierMost + 1).problem, MbarrierProblem::transactions_overflow);
  EXPECT_EQ(word, before);
  EXPECT_EQ(invalidate_mbarrier(word), MbarrierProblem::none);
  EXPECT_EQ(word, 0u);
}

// Bytes complete in the word; taken apart it is the same.
TEST(Mbarrier, BytesCompleteAsByParts) {
  for (const bool odd : {false, true})
    for (const std::uint32_t pending : {0u, 1u, kMbarrierMost})
      for (const std::uint32_t expected : {0u, 7u, kMbarrierMost})
        for (const std::int32_t transactions : {-0x100000, -0xfffff, -16, 0, 15, 16, 17, 0xfffff})
          for (const std::uint32_t bytes : {0u, 16u, kMbarrierMost, kMbarrierMost + 1, ~0u}) {
            const Mbarrier before{odd, expected, pending, transactions};
            Mbarrier after = before;
            const bool over = before.is_complete();
            const MbarrierProblem problem = after.expect(-std::int64_t{bytes});
            const bool completes = problem == MbarrierProblem::none && after.is_complete() && !over;
            if (completes) after.next_phase();
            Word word{before.pack()};
            const MbarrierResult result = complete_transactions(word, bytes);
            EXPECT_EQ(word, after.pack())
                << pending << ' ' << expected << ' ' << transactions << ' ' << bytes;
            EXPECT_EQ(result.problem, problem);
            EXPECT_EQ(result.completed, completes);
            EXPECT_EQ(result.before, before.pack());
          }
  Word nothing{16};
  EXPECT_EQ(complete_transactions(nothing, 16).problem, MbarrierProblem::not_initialised);
  EXPECT_EQ(nothing, 16u);
}

TEST(Mbarrier, ThreadsMayArriveTogether) {
  constexpr unsigned kThreads = 4, kArrivals = 5000;
  Word word{0};
  init_mbarrier(word, kThreads * kArrivals);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (unsigned k = 0; k < kArrivals; ++k) {
        expect_transactions(word, 3);
        arrive_at_mbarrier(word, {});
        complete_transactions(word, 3);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(is_over(word, false));
  EXPECT_EQ(object_of(word).pending, kThreads * kArrivals);
  EXPECT_EQ(object_of(word).transactions, 0);
}

RC_GTEST_PROP(MbarrierProperties, APhaseEndsExactlyWhenNothingIsMissing, ()) {
  Word word{0};
  const auto expected = *rc::gen::inRange<std::uint32_t>(1, 20);
  init_mbarrier(word, expected);
  std::int64_t pending = expected, transactions = 0;
  bool odd = false;
  for (int step = *rc::gen::inRange(0, 200); step > 0; --step) {
    const auto amount = *rc::gen::inRange<std::uint32_t>(1, 8);
    bool completed = false;
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        if (amount > pending) continue;
        pending -= amount;
        completed = arrive_at_mbarrier(word, {.count = amount}).completed;
        break;
      case 1:
        transactions += amount;
        completed = expect_transactions(word, amount).completed;
        break;
      default:
        transactions -= amount;
        completed = complete_transactions(word, amount).completed;
    }
    const bool ends = pending == 0 && transactions == 0;
    RC_ASSERT(completed == ends);
    if (ends) odd = !odd, pending = expected;
    RC_ASSERT(is_over(word, !odd));
    RC_ASSERT(object_of(word).pending == static_cast<std::uint32_t>(pending));
    RC_ASSERT(object_of(word).transactions == static_cast<std::int32_t>(transactions));
  }
}

}  // namespace
}  // namespace raddle::exec
