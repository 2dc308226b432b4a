// GPCs that are set aside per kind of work, in shares that follow the load.
#include "machine/distributor/shares.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "distributor_fixture.h"
#include "random_load.h"

namespace raddle::machine {
namespace {

using Counts = std::vector<std::uint32_t>;

Counts divided(std::uint32_t gpcs, const std::vector<std::uint64_t>& loads) {
  return divide_gpcs(gpcs, loads);
}

TEST(DivideGpcs, OneForEachAndTheRestByLoad) {
  EXPECT_EQ(divided(8, {100, 100}), (Counts{4, 4}));
  EXPECT_EQ(divided(8, {300, 100}), (Counts{6, 2}));
  EXPECT_EQ(divided(8, {100000, 1}), (Counts{7, 1}));
  EXPECT_EQ(divided(8, {0, 5, 0}), (Counts{0, 8, 0}));
  EXPECT_EQ(divided(7, {10, 0, 10}), (Counts{4, 0, 3}));
  EXPECT_EQ(divided(2, {1, 9, 1}), (Counts{1, 1, 1})) << "more kinds than GPCs";
  EXPECT_EQ(divided(8, {0, 0}), (Counts{0, 0}));
  EXPECT_EQ(divided(4, {1ull << 62, 3ull << 61}), (Counts{2, 2}));
}

class SharesTest : public testing::DistributorTest {
 protected:
  /// Four GPCs of four SMs of four slots.
  void make(DistributorOptions options = {}) {
    sink_ = {};
    options.work_kinds = options.work_kinds == 0 ? 2 : options.work_kinds;
    DistributorTest::make(testing::grid_of_gpcs(4, 2), options);
  }
  Grid& add(std::uint32_t kind, std::uint64_t ctas, int priority = 0) {
    return DistributorTest::add(
        {.needs = testing::kQuarter, .ctas = ctas, .priority = priority, .work_kind = kind});
  }
  std::set<std::uint32_t> gpcs_of(std::uint32_t kind) const {
    std::set<std::uint32_t> gpcs;
    for (const testing::Cta& cta : sink_.ctas)
      if (cta.grid->work_kind == kind) gpcs.insert(shape_.domain_of(Level::gpc, cta.sm));
    return gpcs;
  }
};

using Gpcs = std::set<std::uint32_t>;

// proves: A-21c
TEST_F(SharesTest, EachKindHasGpcsOfItsOwn) {
  make();
  Grid& first = add(0, 600);
  Grid& second = add(1, 200);
  EXPECT_EQ(distribute(), 64u);
  EXPECT_EQ(distributor_->shares(), (Counts{3, 1}));
  EXPECT_EQ(first.outstanding, 48u);
  EXPECT_EQ(second.outstanding, 16u);
  EXPECT_EQ(gpcs_of(0), (Gpcs{0, 1, 2}));
  EXPECT_EQ(gpcs_of(1), (Gpcs{3}));
}

TEST_F(SharesTest, WhoIsAloneHasAll) {
  make();
  Grid& alone = add(1, 600);
  EXPECT_EQ(distribute(), 64u);
  EXPECT_EQ(distributor_->shares(), (Counts{0, 4}));
  // Another kind comes: what is resident stays, and gives way as it ends.
  Grid& other = add(0, 600);
  EXPECT_EQ(distribute(), 0u);
  const Gpcs shared = [&] {
    while (other.outstanding < 32) complete_one(alone), distribute();
    return gpcs_of(0);
  }();
  EXPECT_EQ(shared.size(), 2u);
  EXPECT_EQ(distributor_->shares(), (Counts{2, 2}));
  complete_all(other);
  distributor_->withdraw(other);
  distribute();
  EXPECT_EQ(distributor_->shares(), (Counts{0, 4})) << "nothing is left of the other";
  EXPECT_EQ(alone.outstanding, 64u);
}

// proves: A-21d
TEST_F(SharesTest, FollowTheLoad) {
  make({.share_every = 16});
  Grid& small = add(0, 100);
  Grid& large = add(1, 300);
  distribute();
  EXPECT_EQ(distributor_->shares(), (Counts{1, 3}));
  while (large.next < 250) complete_one(large), distribute();
  EXPECT_EQ(small.outstanding + small.ctas - small.next, 100u);
  EXPECT_EQ(distributor_->shares(), (Counts{2, 2})) << "as much is left of both";
  while (large.outstanding != 0) complete_one(large), distribute();
  EXPECT_TRUE(large.finished());
  EXPECT_EQ(distributor_->shares(), (Counts{4, 0}));
  EXPECT_EQ(small.outstanding, 64u);
}

TEST_F(SharesTest, AreDecidedNoOftenerThanIsAsked) {
  make({.share_every = 100000});
  add(0, 100);
  Grid& large = add(1, 300);
  distribute();
  while (large.next < 290) complete_one(large), distribute();
  EXPECT_EQ(distributor_->shares(), (Counts{1, 3}));
}

// Whatever the priority, the slots of tasks and the credits.
TEST_F(SharesTest, NoKindStarves) {
  for (const DistributorOptions& options :
       {DistributorOptions{}, DistributorOptions{.task_slots = 1}, DistributorOptions{.credits = 1},
        DistributorOptions{.patience = 0, .task_slots = 2, .credits = 3, .work_kinds = 3}}) {
    make(options);
    Grid& endless = add(0, 1 << 20);
    Grid& more = add(0, 1 << 20);
    Grid& low = add(1, 40, 5);
    for (int i = 0; i < 300 && !low.finished(); ++i) {
      for (int k = 0; k < 8; ++k) distribute();
      for (Grid* grid : {&endless, &more, &low})
        if (grid->outstanding != 0) complete_one(*grid);
    }
    EXPECT_TRUE(low.finished());
  }
}

TEST_F(SharesTest, MoreKindsThanGpcsShareThem) {
  make({.work_kinds = 6});
  for (std::uint32_t kind = 0; kind < 6; ++kind) add(kind, 100);
  distribute();
  for (std::uint32_t kind = 0; kind < 6; ++kind) {
    EXPECT_EQ(gpcs_of(kind), (kind < 4 ? Gpcs{kind} : Gpcs{})) << kind;
    EXPECT_EQ(distributor_->shares()[kind], 1u);
  }
  complete_all(*grids_[0]);
  distributor_->withdraw(*grids_[0]);
  distribute();
  EXPECT_EQ(gpcs_of(4).size() + gpcs_of(5).size(), 1u) << "one has the room that another left";
}

// A kind that is none counts as the first.
TEST_F(SharesTest, AnUnknownKindIsTheFirst) {
  make();
  add(7, 100), add(1, 100);
  distribute();
  EXPECT_EQ(gpcs_of(7), (Gpcs{0, 1}));
}

// One that needs more than its share is not confined to it, and gets on when its patience ends.
TEST_F(SharesTest, AClusterThatSpansGpcsGetsOn) {
  make({.patience = 50});
  Grid& endless = add(0, 1 << 20);
  distribute();
  Grid& wide = DistributorTest::add({.needs = {.threads = 2048, .warps = 64},
                                     .kind = testing::clusters_of(16, Level::gpu),
                                     .ctas = 16,
                                     .work_kind = 1});
  for (int i = 0; i < 2000 && wide.outstanding == 0; ++i) {
    if (endless.outstanding != 0) complete_one(endless);
    distribute();
  }
  EXPECT_EQ(wide.outstanding, 16u);
  while (wide.outstanding != 0) complete_one(wide), distribute();
  EXPECT_EQ(endless.outstanding, 64u);
}

// A space that may use other SMs only.
TEST_F(SharesTest, ALimitOfASpaceComesFirst) {
  make();
  distributor_->confine(1, {.sms = {0, 1}});
  add(0, 600);
  Grid& confined = DistributorTest::add({.needs = testing::kQuarter, .ctas = 20, .space = 1, .work_kind = 1});
  distribute();
  while (!confined.finished()) {
    complete_one(confined.outstanding != 0 ? confined : *grids_[0]);
    distribute();
    for (const testing::Cta& cta : sink_.ctas)
      if (cta.grid == &confined) ASSERT_LT(cta.sm, 2u);
  }
}

/// What was placed where, in order.
std::vector<std::pair<std::uint64_t, std::uint32_t>> placed(std::uint64_t seed, std::uint32_t kinds,
                                                            std::uint64_t& finished) {
  std::mt19937_64 random(seed);
  const MachineShape shape = random_shape(random);
  Distributor distributor(shape, std::move(*make_policy("lake")),
                          {.patience = random() % 30,
                           .task_slots = static_cast<std::uint32_t>(random() % 4),
                           .turn = random() % 10,
                           .work_kinds = kinds,
                           .share_every = 1 + random() % 20});
  testing::KeepingSink sink;
  std::deque<Grid> grids;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> log;
  for (int i = 0; i < 25; ++i) {
    Grid grid{.id = static_cast<std::uint64_t>(i), .needs = testing::kQuarter};
    if (random() % 3 == 0) grid.kind = testing::clusters_of(2, random() % 2 == 0 ? Level::gpc : Level::gpu);
    grid.ctas = 2 * (1 + random() % 40);
    grid.priority = static_cast<int>(random() % 2);
    grid.work_kind = static_cast<std::uint32_t>(random() % 4);
    grid.context = static_cast<std::uint32_t>(random() % 2);
    if (distributor.most_active(grid.kind, grid.needs) != 0) grids.push_back(grid);
  }
  std::size_t added = 0;
  for (int step = 0; step < 20000 && finished < grids.size(); ++step) {
    if (added < grids.size() && random() % 8 == 0) distributor.add(grids[added++]);
    if (random() % 64 == 0) distributor.hold(1, random() % 4 == 0);
    distributor.distribute(sink);
    if (sink.ctas.empty()) continue;
    const std::size_t which = random() % sink.ctas.size();
    const testing::Cta cta = sink.ctas[which];
    log.emplace_back(cta.grid->id, cta.sm);
    sink.ctas.erase(sink.ctas.begin() + static_cast<std::ptrdiff_t>(which));
    if (cta.cluster == kNoCluster) {
      distributor.complete(*cta.grid, cta.sm, 1);
    } else if (distributor.complete_in_cluster(*cta.grid, cta.sm, cta.cluster, cta.index % 2).last) {
      if (cta.grid->kind.has_local_ids()) distributor.flush_all(cta.cluster);
      distributor.cluster_complete(*cta.grid, cta.cluster);
    }
    finished = static_cast<std::uint64_t>(std::ranges::count_if(grids, &Grid::finished));
  }
  EXPECT_EQ(finished, grids.size()) << "seed " << seed;
  return log;
}

// Every grid ends on machines of any form, with any mixture of kinds; and always in the same way.
TEST(RandomShares, AllEndsTheSameWay) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    std::uint64_t first = 0, second = 0;
    const std::uint32_t kinds = 2 + seed % 3;
    const auto log = placed(seed, kinds, first);
    EXPECT_EQ(placed(seed, kinds, second), log) << "seed " << seed;
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace raddle::machine
