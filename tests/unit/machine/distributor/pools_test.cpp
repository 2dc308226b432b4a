// The pools of GPCs: whose CTAs may come in.
#include "distributor_fixture.h"

namespace raddle::machine::testing {
namespace {

/// Two GPCs of two SMs, each with room for eight CTAs of a quarter.
class PoolsTest : public DistributorTest {
 protected:
  void make_with(DistributorOptions options, std::uint32_t gpcs = 2) { make(grid_of_gpcs(gpcs, 1), options); }
  /// A grid of which an SM holds one CTA, so that there is room for others.
  Grid& add_slow(std::uint64_t ctas, int priority = 0) {
    return add({.needs = kQuarter, .ctas = ctas, .priority = priority, .cap_per_sm = 1});
  }
  std::uint64_t on_sms(const Grid& grid, std::uint32_t first, std::uint32_t end) const {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        sink_.ctas, [&](const Cta& cta) { return cta.grid == &grid && cta.sm >= first && cta.sm < end; }));
  }
};

// proves: A-4i
TEST_F(PoolsTest, LetNobodyInWhileAnActiveGridHasMoreToLaunch) {
  for (const std::uint32_t active : {0u, 1u, 2u}) {
    SCOPED_TRACE(active);
    make_with({.active_pool = active});
    Grid &first = add_slow(6), &second = add_slow(4), &third = add_slow(4);
    distribute();
    EXPECT_EQ(first.next, 4u);
    EXPECT_EQ(second.next, active == 1 ? 0u : 4u) << "there is room";
    EXPECT_EQ(third.next, active == 0 || active == 2 ? 4u : 0u) << "the second has nothing left to launch";
    complete_one(first);
    distribute();
    EXPECT_EQ(second.next, active == 1 ? 0u : 4u);
    complete_one(first);
    distribute();
    EXPECT_EQ(first.next, 6u);
    EXPECT_EQ(second.next, 4u) << "the first has launched all";
    EXPECT_EQ(third.next, 4u);
    sink_ = {};
  }
}

// proves: A-4i
TEST_F(PoolsTest, AreThoseOfEachGpc) {
  make_with({.active_pool = 1});
  distributor_->confine(1, {.sms = {0, 1}});
  Grid& first = add({.needs = kQuarter, .ctas = 90, .cap_per_sm = 1, .space = 1});
  Grid& second = add(8, kQuarter);
  distribute();
  EXPECT_EQ(first.outstanding, 2u);
  EXPECT_EQ(on_sms(second, 2, 4), 8u);
  Grid& third = add(3, kQuarter);
  complete_all(second), distribute();
  EXPECT_EQ(on_sms(third, 2, 4), 3u);
}

// A queue task without entries, though its CTAs run.
// proves: A-4j
TEST_F(PoolsTest, PassFromAGridThatWaitsForEntries) {
  make_with({.active_pool = 1});
  Grid& queue = add({.needs = kQuarter, .ctas = 4, .cap_per_sm = 1, .open = true});
  Grid& other = add_slow(6);
  distribute();
  ASSERT_EQ(other.next, 4u);
  distributor_->grow(queue, 3);
  complete_one(queue), distribute();
  EXPECT_EQ(queue.next, 4u) << "the other one is active now";
  while (!other.none_left()) complete_one(other), distribute();
  EXPECT_GT(queue.next, 4u);
}

// proves: A-4j
TEST_F(PoolsTest, PassFromAGridThatCanOnlyWait) {
  make_with({.active_pool = 1});
  Grid &first = add_slow(90), &second = add_slow(6);
  distribute();
  EXPECT_EQ(second.next, 0u);
  sink_.idle.insert(&first);
  distributor_->look_again();
  distribute();
  ASSERT_EQ(second.next, 4u);
  sink_.idle.clear();
  complete_one(first), distribute();
  EXPECT_EQ(first.next, 4u) << "it is pending";
  while (!second.none_left()) complete_one(second), distribute();
  distribute();
  EXPECT_GT(first.next, 4u);
}

TEST_F(PoolsTest, PassToAMoreUrgentGrid) {
  make_with({.active_pool = 1});
  Grid& low = add_slow(90, 1);
  distribute();
  Grid& high = add_slow(6, 0);
  distribute();
  EXPECT_EQ(high.next, 4u);
  complete_one(low), distribute();
  EXPECT_EQ(low.next, 4u);
}

// Two clusters that lack room are pending; nobody looks at the small grid behind them.
// proves: A-4i
TEST_F(PoolsTest, OfPendingGridsHoldSoMany) {
  for (const std::uint32_t pending : {0u, 2u, 3u}) {
    SCOPED_TRACE(pending);
    make_with({.active_pool = 1, .pending_pool = pending}, 1);
    Grid& resident = add(2, kQuarter);
    distribute();
    Grid &one = add(8, kQuarter, clusters_of(8)), &other = add(8, kQuarter, clusters_of(8));
    Grid& small = add(1, kQuarter);
    distribute();
    EXPECT_EQ(small.next, pending == 2 ? 0u : 1u);
    complete_all(resident);
    if (small.outstanding != 0) complete_all(small);
    distribute();
    EXPECT_EQ(one.next, 8u);
    complete_all(one), distribute();
    EXPECT_EQ(other.next, 8u);
    sink_ = {};
  }
}

TEST_F(PoolsTest, HaveNoPlaceForWhatFitsNowhere) {
  make_with({.active_pool = 1, .pending_pool = 2}, 1);
  for (int i = 0; i < 3; ++i) add(9, kQuarter, clusters_of(9));
  Grid& small = add(1, kQuarter);
  EXPECT_EQ(distribute(), 1u);
  EXPECT_TRUE(small.all_launched());
}

// An older grid that found no room at first, and then no place, gets both after its patience.
TEST_F(PoolsTest, PassToAnOlderGridAfterItsPatience) {
  make_with({.patience = 6, .active_pool = 1}, 1);
  Grid& resident = add(1, kQuarter);
  distribute();
  Grid& wide = add(8, kQuarter, clusters_of(8));
  Grid& many = add_slow(1000);
  distribute();
  EXPECT_EQ(many.next, 2u);
  complete_all(resident);
  std::uint64_t ended = 0;
  for (; wide.next == 0 && ended < 100; ++ended) complete_one(many), distribute();
  EXPECT_EQ(wide.next, 8u);
  EXPECT_LT(ended, 20u);
}

// One cluster of the whole GPU is launched by no GPC alone.
TEST_F(PoolsTest, AreNotForClustersOfSeveralGpcs) {
  make_with({.active_pool = 1});
  add_slow(90), distribute();
  Grid& together = add(6, kQuarter, clusters_of(6, Level::gpu));
  EXPECT_EQ(distribute(), 6u);
  EXPECT_TRUE(together.all_launched());
}

}  // namespace
}  // namespace raddle::machine::testing
