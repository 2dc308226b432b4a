// The bookkeeping of named barriers, without any machine.
#include "exec/barrier.h"

#include <gtest/gtest.h>

#include "exec/fault.h"

namespace raddle::exec {
namespace {

constexpr std::uint32_t kAll = ~0u;

// proves: K-5a
TEST(Barrier, CompletesWhenAllLiveThreadsArrived) {
  Barrier barrier{};
  EXPECT_FALSE(arrive(barrier, {0, kAll, 0}, kAll, 64));
  EXPECT_TRUE(arrive(barrier, {0, kAll, 0}, kAll, 64));
  EXPECT_EQ(barrier.generation, 1u);
  EXPECT_FALSE(arrive(barrier, {0, kAll, 0}, kAll, 64));  // the next phase starts from nothing
}

// proves: K-5a
TEST(Barrier, CountsThreadsOfDivergedWarps) {
  Barrier barrier{};
  EXPECT_FALSE(arrive(barrier, {0, 0x0000ffff, 0}, kAll, 32));
  EXPECT_TRUE(arrive(barrier, {0, 0xffff0000, 0}, kAll, 32));
}

// proves: K-5f
TEST(Barrier, AnExplicitCountTakesAPartialWarpForAWholeOne) {
  Barrier barrier{};
  EXPECT_FALSE(arrive(barrier, {64, kAll, 0}, kAll, 33));
  EXPECT_TRUE(arrive(barrier, {64, 1, 0}, 1, 33));
  EXPECT_EQ(barrier.result_arrived, 33u);
}

// proves: K-5h
TEST(Barrier, ReductionCountsPredicates) {
  Barrier barrier{};
  EXPECT_FALSE(arrive(barrier, {0, kAll, 0x5}, kAll, 64));
  EXPECT_TRUE(arrive(barrier, {0, kAll, kAll}, kAll, 64));
  EXPECT_EQ(barrier.result_count, 34u);
  EXPECT_EQ(barrier.result_arrived, 64u);
}

// proves: K-6b
TEST(Barrier, ExitsLowerTheExpectation) {
  Barrier barrier{};
  EXPECT_FALSE(arrive(barrier, {0, kAll, 0}, kAll, 64));
  EXPECT_FALSE(complete_after_exit(barrier, 33));
  EXPECT_TRUE(complete_after_exit(barrier, 32));
  EXPECT_FALSE(complete_after_exit(barrier, 0));  // no thread waits any more
}

// proves: K-6b
TEST(Barrier, AnExplicitCountIsMetByExitedThreadsOnlyAsALastResort) {
  Barrier barrier{};
  EXPECT_FALSE(arrive(barrier, {96, kAll, 0}, kAll, 64));
  EXPECT_FALSE(complete_after_exit(barrier, 32));
  EXPECT_FALSE(complete_counting_exited(barrier, 32));
  EXPECT_TRUE(complete_counting_exited(barrier, 64));
}

TEST(Fault, NamesWhatIsKnown) {
  Fault fault;
  fault.kind = FaultKind::illegal_address;
  fault.kernel = "k";
  fault.ctaid[0] = 3;
  fault.thread_known = true;
  fault.tid[1] = 7;
  fault.address = 0x1000;
  fault.ptx_line = 12;
  fault.source = "k.cu:4";
  fault.detail = "4 bytes past the end";
  EXPECT_EQ(fault.to_string(),
            "illegal address 0x1000 in kernel k, block (3,0,0), thread (0,7,0), PTX line 12 (k.cu:4): 4 "
            "bytes past the end");
}

}  // namespace
}  // namespace raddle::exec
