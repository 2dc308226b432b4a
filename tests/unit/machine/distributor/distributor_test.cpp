// The distributor, case by case: when it launches, what it holds until when, which grid waits for which.
#include "distributor_fixture.h"

namespace raddle::machine::testing {
namespace {

constexpr CtaNeeds kWhole{.threads = 2048, .warps = 64};

// proves: W-3a, W-4e, W-4f
TEST_F(DistributorTest, PlainGridFillsAllSlotsAndTheRestAsTheyFreeUp) {
  make(grid_of_gpcs(1, 2));
  Grid& grid = add(20, kQuarter);
  EXPECT_EQ(distribute(), 16u);
  EXPECT_EQ(distribute(), 0u);
  complete_one(grid), complete_one(grid);
  EXPECT_EQ(distribute(), 2u);
  complete_all(grid);
  EXPECT_EQ(distribute(), 2u);
  EXPECT_EQ(distributor_->waiting(), 0u);
  EXPECT_FALSE(grid.finished());
  complete_all(grid);
  EXPECT_TRUE(grid.finished());
}

// proves: W-4a, W-10g
TEST_F(DistributorTest, ClusterIsLaunchedWholeOrNotAtAll) {
  make(grid_of_gpcs(2, 2));
  Grid& filler = add(24, kQuarter);
  EXPECT_EQ(distribute(), 24u);
  Grid& grid = add(10, kQuarter, clusters_of(5));
  EXPECT_EQ(distribute(), 0u);  // eight slots are free, four in each GPC
  complete_one(filler);
  EXPECT_EQ(distribute(), 5u);
  EXPECT_EQ(grid.clusters, 1u);
}

// proves: W-10h
TEST_F(DistributorTest, OtherClustersGoPastOneThatDoesNotFit) {
  make(grid_of_gpcs(1, 2));
  add(13, kQuarter);
  EXPECT_EQ(distribute(), 13u);
  Grid& large = add(4, kQuarter, clusters_of(4));
  Grid& small = add(2, kQuarter, clusters_of(2));
  EXPECT_EQ(distribute(), 2u);
  EXPECT_EQ(large.next, 0u);
  EXPECT_TRUE(small.all_launched());
}

// proves: W-4c
TEST_F(DistributorTest, ResourcesOfAnExitedCtaAreFreeBeforeItsClusterEnds) {
  for (const CtaNeeds& quarter : {kQuarter, CtaNeeds{.registers = 16384}, CtaNeeds{.shared_bytes = 57 << 10},
                                  CtaNeeds{.barriers = 128}}) {
    make(grid_of_gpcs(1, 1, 1));
    sink_ = {};
    Grid& grid = add(4, quarter, clusters_of(4));
    Grid& next = add(1, quarter);
    EXPECT_EQ(distribute(), 4u);
    EXPECT_FALSE(exit_one(grid));
    EXPECT_EQ(distribute(), 1u);
    EXPECT_TRUE(next.all_launched());
  }
}

// proves: W-10g, W-16d, W-16e, W-16f, W-20g, W-20h
TEST_F(DistributorTest, LaunchStallsWithoutAFreeClusterIdUntilTheTrafficHasDrained) {
  MachineShape shape = grid_of_gpcs(1, 2);
  shape.cluster_ids_per_gpc = 1;
  make(std::move(shape));
  Grid& grid = add(4, kQuarter, clusters_of(2));
  EXPECT_EQ(distribute(), 2u);
  const std::uint32_t cluster = oldest_cluster(grid);
  ASSERT_EQ(distributor_->local_ids(cluster).size(), 1u);
  EXPECT_FALSE(exit_one(grid));
  EXPECT_TRUE(exit_one(grid));
  EXPECT_EQ(distribute(), 0u);  // all CTAs have exited, their traffic is on its way
  EXPECT_FALSE(distributor_->flush_done(cluster, 1));
  EXPECT_EQ(distribute(), 0u) << "the first is not flushed";
  EXPECT_TRUE(distributor_->flush_done(cluster, 0));
  distributor_->cluster_complete(grid, cluster);
  EXPECT_EQ(distribute(), 2u);
}

// proves: W-24b, W-24d, W-24e
TEST_F(DistributorTest, LaunchStallsWithoutClusterMemory) {
  MachineShape shape = grid_of_gpcs(2, 2);
  shape.cluster_memory_slots = 2;
  make(std::move(shape));
  Grid& grid = add(Grid{.needs = kQuarter, .kind = clusters_of(2), .ctas = 6, .cluster_memory = true});
  EXPECT_EQ(distribute(), 4u);
  EXPECT_NE(sink_.masks.front().cluster_memory, sink_.masks.back().cluster_memory);
  complete_one(grid);
  EXPECT_EQ(distribute(), 0u);
  complete_one(grid);
  EXPECT_EQ(distribute(), 2u);
}

// proves: W-23a
TEST_F(DistributorTest, CapsKeepHeadroom) {
  make(grid_of_gpcs(1, 2), {.cap_per_sm = 3});
  add(Grid{.needs = kQuarter, .ctas = 100, .cap_per_sm = 2});
  EXPECT_EQ(distribute(), 8u);
  add(100, kQuarter);
  EXPECT_EQ(distribute(), 4u);
}

// proves: W-2g
TEST_F(DistributorTest, CreditsLimitACall) {
  make(grid_of_gpcs(1, 2), {.credits = 3});
  add(5, kQuarter);
  EXPECT_EQ(distribute(), 3u);
  EXPECT_EQ(distribute(), 2u);
  add(8, kQuarter, clusters_of(4));
  EXPECT_EQ(distribute(), 4u);  // larger than the credits: alone
  EXPECT_EQ(distribute(), 4u);
}

TEST_F(DistributorTest, HigherPriorityIsServedFirst) {
  make(grid_of_gpcs(1, 1, 1));
  Grid& low = add(8, kQuarter, {}, 0);
  Grid& high = add(2, kQuarter, {}, -1);
  EXPECT_EQ(distribute(), 4u);
  EXPECT_TRUE(high.all_launched());
  EXPECT_EQ(low.next, 2u);
}

// The fairness rule, small past large: a cluster that waits for a GPC lets small CTAs pass, but only so many,
// and then keeps the GPC for itself.
TEST_F(DistributorTest, SmallGridsGoPastAWaitingClusterButNotForever) {
  make(grid_of_gpcs(1, 2), {.patience = 10});
  Grid& filler = add(4, kQuarter);
  distribute();
  Grid& large = add(4, kWhole, clusters_of(4));
  Grid& small = add(1000, kQuarter);
  EXPECT_EQ(distribute(), 10u);
  complete_all(filler);
  EXPECT_EQ(distribute(), 0u);
  complete_all(small);
  EXPECT_EQ(distribute(), 4u);
  EXPECT_TRUE(large.all_launched());
  complete_all(large);
  EXPECT_EQ(distribute(), 16u);
}

// The same, large past small: grids that do not need the kept GPC go on in the others.
TEST_F(DistributorTest, OnlyOneDomainIsKeptForAGridThatWaits) {
  make(grid_of_gpcs(3, 2), {.patience = 4});
  Grid& filler = add(3 * 4 * 4 - 1, kQuarter);
  distribute();
  Grid& large = add(4, kWhole, clusters_of(4));
  Grid& small = add(1000, kQuarter);
  EXPECT_EQ(distribute(), 1u);
  for (int i = 0; i < 40; ++i) complete_one(filler), distribute();
  ASSERT_LT(large.kept, 3u);
  const std::uint32_t kept = large.kept;
  const auto in_kept = [&](const Cta& cta) { return cta.grid == &small && cta.sm / 4 == kept; };
  const auto before = std::count_if(sink_.ctas.begin(), sink_.ctas.end(), in_kept);
  EXPECT_LE(before, 4);
  EXPECT_GE(small.next, 24u);  // elsewhere nothing stands still
  complete_all(filler);
  distribute();
  EXPECT_EQ(std::count_if(sink_.ctas.begin(), sink_.ctas.end(), in_kept), before);
  for (int i = 0; i < 5 && !large.all_launched(); ++i) complete_one(small), distribute();
  EXPECT_TRUE(large.all_launched());
}

// A stream of younger grids that never ends does not starve a cluster, whatever it waits for: room, ids, or
// cluster-wide memory.
TEST_F(DistributorTest, EndlessStreamOfYoungerGridsDoesNotStarveACluster) {
  for (const bool memory : {false, true}) {
    SCOPED_TRACE(memory);
    MachineShape shape = grid_of_gpcs(2, 2);
    shape.cluster_ids_per_gpc = 2;
    shape.cluster_memory_slots = 3;
    make(std::move(shape), {.patience = 50});
    sink_.ctas.clear();
    Grid* last = nullptr;
    const auto add_younger = [&] {
      last = &add(
          Grid{.needs = kQuarter, .kind = clusters_of(2, Level::cpc), .ctas = 4, .cluster_memory = memory});
      distribute();
    };
    for (int i = 0; i < 8; ++i) add_younger();
    Grid large{.needs = kQuarter, .kind = clusters_of(12), .ctas = 12, .cluster_memory = memory};
    Grid& waiting = add(large);
    for (int i = 0; i < 100 && !waiting.all_launched(); ++i) {
      add_younger();
      complete_one(*sink_.ctas.front().grid), distribute();
    }
    EXPECT_TRUE(waiting.all_launched());
    EXPECT_FALSE(last->all_launched());
    distributor_.reset();
  }
}

// Ids of a GPC with a kept part: clusters in the other part do not take them one by one.
TEST_F(DistributorTest, IdsAreKeptForAClusterThatNeedsSeveral) {
  MachineShape shape = machine_of(1, 2, 1, 2);
  shape.cluster_ids_per_gpc = 2;
  make(std::move(shape), {.patience = 2});
  GridKind nested = clusters_of(2, Level::cpc);
  nested.levels[nested.depth++] = {Level::sm, {1, 1, 1}};  // two ids
  add(1000, kQuarter, clusters_of(1, Level::cpc), 1);
  Grid& younger = *grids_.back();
  distribute();
  Grid& large = add(2, kQuarter, nested);
  Grid& rest = add(1000, kQuarter, clusters_of(1, Level::cpc));
  distributor_->withdraw(younger);
  for (int i = 0; i < 20 && !large.all_launched(); ++i) {
    complete_one(*sink_.ctas.front().grid);
    distribute();
  }
  EXPECT_TRUE(large.all_launched());
  EXPECT_LE(rest.next, 4u);
}

// An SM offers a CTA per cluster slot, and more once CTAs of a cluster share one.
TEST_F(DistributorTest, CtasOfAClusterShareAClusterSlot) {
  MachineShape shape = grid_of_gpcs(1, 1, 1);
  shape.sm.cluster_slots = 4;
  make(std::move(shape));
  add(20, {.threads = 32}, clusters_of(2));
  EXPECT_EQ(distribute(), 6u);  // in three slots; the fourth is too few for two CTAs that may need one each
}

// A younger cluster that is larger than what is left of somebody's patience does not wait for nothing: the
// patience is at its end, and it goes on where nothing is kept.
TEST_F(DistributorTest, ClusterLargerThanThePatienceGoesOnElsewhere) {
  make(grid_of_gpcs(2, 2), {.patience = 3});
  Grid& filler = add(8, kWhole);
  distribute();
  Grid& large = add(4, kWhole, clusters_of(4));
  Grid& younger = add(8, kQuarter, clusters_of(8));
  for (int i = 0; i < 3; ++i) complete_one(filler);  // of GPC 0; then one of each
  distribute();
  EXPECT_FALSE(large.all_launched());
  EXPECT_NE(large.kept == 0, younger.all_launched());
}

TEST_F(DistributorTest, WithdrawnGridKeepsNothing) {
  make(grid_of_gpcs(1, 2), {.patience = 0});
  Grid& filler = add(1, kQuarter);
  distribute();
  Grid& large = add(4, kWhole, clusters_of(4));
  Grid& small = add(15, kQuarter);
  EXPECT_EQ(distribute(), 0u);
  distributor_->withdraw(large);
  EXPECT_EQ(distribute(), 15u);
  EXPECT_TRUE(small.all_launched());
  EXPECT_EQ(filler.outstanding, 1u);
}

TEST_F(DistributorTest, GridThatCanNeverFitHoldsNobodyBack) {
  make(grid_of_gpcs(1, 1), {.patience = 4});
  add(3, kWhole, clusters_of(3));
  Grid& small = add(100, kQuarter);
  for (int round = 0; round < 13 && !small.finished(); ++round) distribute(), complete_all(small);
  EXPECT_TRUE(small.finished());
}

TEST_F(DistributorTest, CooperativeGridWaitsForItsWholeRoom) {
  make(grid_of_gpcs(2, 1));
  Grid& filler = add(1, kQuarter);
  distribute();
  Grid& cooperative = add(16, kQuarter, clusters_of(16, Level::gpu));
  EXPECT_EQ(distribute(), 0u);
  complete_all(filler);
  EXPECT_EQ(distribute(), 16u);
  EXPECT_TRUE(distributor_->local_ids(sink_.ctas.front().cluster).empty());
  complete_all(cooperative);
  EXPECT_TRUE(cooperative.finished());
}

TEST_F(DistributorTest, WithdrawnGridLaunchesNothingMore) {
  make(grid_of_gpcs(1, 1, 1));
  Grid& grid = add(8, kQuarter);
  distribute();
  distributor_->withdraw(grid);
  EXPECT_EQ(distributor_->waiting(), 0u);
  complete_all(grid);
  EXPECT_TRUE(grid.finished());
  EXPECT_EQ(distribute(), 0u);
}

// proves: W-2f
TEST_F(DistributorTest, DisabledTpcGetsNothingMore) {
  make(grid_of_gpcs(1, 2, 1));
  distributor_->enable(0, false);
  Grid& grid = add(8, kQuarter);
  EXPECT_EQ(distribute(), 4u);
  for (const Cta& cta : sink_.ctas) EXPECT_EQ(cta.sm, 1u);
  distributor_->enable(0, true);
  EXPECT_EQ(distribute(), 4u);
  EXPECT_TRUE(grid.all_launched());
}

// The short way puts a grid's next CTAs where its last ones were: only where the long one would, too.
// proves: W-2f, W-2g, W-5a, W-5f, W-9e
TEST_F(DistributorTest, NothingGoesTheShortWayPastTheRule) {
  const auto succeeds = [&](const DistributorOptions& options, const auto& then, std::uint32_t exited = 1) {
    make(grid_of_gpcs(1, 2, 1), options);
    sink_ = {};
    Grid& grid = add(20, kQuarter);
    while (distribute() != 0) {
    }
    then(grid);
    return distributor_->succeed(grid, {0, 0, exited});
  };
  const auto nothing = [](const Grid&) {};
  EXPECT_TRUE(succeeds({}, nothing));
  EXPECT_TRUE(succeeds({}, nothing, 11));
  EXPECT_FALSE(succeeds({}, nothing, 12)) << "the last of it, after which others come";
  EXPECT_FALSE(succeeds({.credits = 100}, nothing));
  EXPECT_FALSE(succeeds({.sm_order = {1, 0}}, nothing));
  EXPECT_FALSE(succeeds({}, [&](const Grid&) { distributor_->enable(0, false); }));
  EXPECT_FALSE(succeeds({}, [&](const Grid&) { add(1, kQuarter); })) << "another waits";
  EXPECT_FALSE(succeeds({}, [&](Grid& grid) { complete_one(grid); })) << "the machine is not full";
  shape_ = grid_of_gpcs(1, 2, 1);
  distributor_ = std::make_unique<Distributor>(shape_, std::move(*make_policy("round_robin")));
  Grid& turns = add(20, kQuarter);
  distribute();
  EXPECT_FALSE(distributor_->succeed(turns, {0, 0, 1})) << "whose turn it is, is its policy's to say";
}

TEST_F(DistributorTest, MostActiveIsWhatAnEmptyMachineRuns) {
  make(grid_of_gpcs(2, 2, 2));
  add(5, kQuarter);
  distribute();
  EXPECT_EQ(distributor_->most_active({}, kQuarter), 32u);
  EXPECT_EQ(distributor_->most_active(clusters_of(3), kWhole), 2u);
  EXPECT_EQ(distributor_->most_active(clusters_of(5), kWhole), 0u);
  EXPECT_EQ(distributor_->most_active(clusters_of(5, Level::gpu), kWhole), 1u);
  make(grid_of_gpcs(2, 2, 2), {.credits = 3});
  EXPECT_EQ(distributor_->most_active({}, kQuarter), 32u) << "in as many sessions as it takes";
}

}  // namespace
}  // namespace raddle::machine::testing
