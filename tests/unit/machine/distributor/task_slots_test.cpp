// The slots of the task table: who waits for one, who is made to leave, and what it keeps.
#include "distributor_fixture.h"

namespace raddle::machine::testing {
namespace {

constexpr std::uint64_t kRoom = 8;  ///< CTAs of a quarter that the machine of these tests holds

class TaskSlotsTest : public DistributorTest {
 protected:
  void make_with(std::uint32_t slots, std::uint64_t turn = 0) {
    make(grid_of_gpcs(1, 1), {.task_slots = slots, .turn = turn});
  }
  Grid& add_small(int priority, std::uint64_t ctas = 1) { return add(ctas, kQuarter, {}, priority); }
};

// Grids are taken in at any time; they get slots, and launch, in a session only.
// proves: A-4b, A-4d
TEST_F(TaskSlotsTest, HoldSoManyGridsAsThereAre) {
  make_with(2);
  Grid *first = &add_small(0, 2), *second = &add_small(0, 2), *third = &add_small(0, 2);
  EXPECT_EQ(distributor_->waiting(), 3u);
  EXPECT_EQ(first->next + second->next + third->next, 0u);
  EXPECT_EQ(distribute(), 4u) << "there is room for all, but two slots";
  EXPECT_EQ(third->next, 0u);
  complete_one(*first);
  EXPECT_EQ(distribute(), 0u) << "a grid has its slot until its last CTA has ended";
  complete_one(*first);
  EXPECT_EQ(distribute(), 2u);
  EXPECT_TRUE(third->all_launched());
  EXPECT_FALSE(second->finished());
}

TEST_F(TaskSlotsTest, AreAsManyAsAreWantedIfNobodySays) {
  make_with(0);
  for (int i = 0; i < 8; ++i) add_small(i);
  EXPECT_EQ(distribute(), 8u);
}

// proves: A-4a
TEST_F(TaskSlotsTest, GoToTheHighestPriorityAndThereToTheOldest) {
  make_with(1);
  std::vector<Grid*> grids;
  for (const int priority : {2, 0, 1, 0, 2}) grids.push_back(&add_small(priority));
  std::vector<std::uint64_t> order;
  for (std::size_t i = 0; i < grids.size(); ++i) {
    ASSERT_EQ(distribute(), 1u);
    Grid& next = *sink_.ctas.back().grid;
    order.push_back(next.id);
    complete_one(next);
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{2, 4, 3, 1, 5}));
}

// proves: A-4e, A-4f, A-4h
TEST_F(TaskSlotsTest, AreTakenFromALowerPriorityAtTheEndOfItsCtas) {
  make_with(1);
  Grid& low = add_small(1, 20);
  EXPECT_EQ(distribute(), kRoom);
  Grid& high = add_small(0, 3);
  for (std::uint64_t left = kRoom; left != 0; --left) {
    EXPECT_EQ(distribute(), 0u) << left << " CTAs of the lower one are there, and no more come";
    complete_one(low);
  }
  EXPECT_EQ(low.next, kRoom);
  EXPECT_FALSE(low.finished());
  EXPECT_EQ(distribute(), 3u);
  EXPECT_TRUE(high.all_launched());
  Grid& equal = add_small(1, 1);
  complete_all(high);
  EXPECT_EQ(distribute(), kRoom) << "it goes on where it was";
  EXPECT_EQ(sink_.ctas.front().index, kRoom);
  EXPECT_EQ(equal.next, 0u) << "it was listed later";
  complete_all(low);
  EXPECT_EQ(distribute(), 4u);
  complete_all(low);
  EXPECT_TRUE(low.finished());
  EXPECT_EQ(sink_.heard[&low], 20u);
  EXPECT_EQ(distribute(), 1u);
}

// proves: A-4e
TEST_F(TaskSlotsTest, AreNotTakenFromEqualsNorFromMoreThanNeedBe) {
  make_with(3);
  Grid &least = add_small(5, 90), &less = add_small(4, 90), &urgent = add_small(0, 90);
  distribute();
  complete_all(urgent);
  add_small(0), add_small(5);
  distribute();
  EXPECT_EQ(least.turn, Grid::Turn::listed) << "it had nothing resident";
  EXPECT_EQ(less.turn, Grid::Turn::runs);
  EXPECT_EQ(urgent.turn, Grid::Turn::runs);
}

// Three equals and a slot. Who has launched a turn's CTAs leaves, the one that waits longest comes.
// proves: A-4c
TEST_F(TaskSlotsTest, PassFromOneToTheNextAmongEquals) {
  make_with(1, 4);
  Grid &first = add_small(2, 20), &second = add_small(2, 20), &third = add_small(2, 3);
  std::vector<std::uint64_t> order;
  while (distributor_->waiting() != 0) {
    if (distribute() != 0) order.push_back(sink_.ctas.back().grid->id);
    ASSERT_FALSE(sink_.ctas.empty()) << "nobody gets on";
    complete_one(*sink_.ctas.front().grid);
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{1, 2, 3, 1, 2, 1, 2}));
  for (Grid* grid : {&first, &second, &third}) {
    complete_all(*grid);
    EXPECT_TRUE(grid->finished());
    EXPECT_EQ(sink_.heard[grid], grid->ctas);
  }
}

TEST_F(TaskSlotsTest, PassOnlyAfterATurnAndOnlyToThoseThatWait) {
  make_with(2, kRoom + 1);
  Grid &longest = add_small(2, 90), &other = add_small(2, 90);
  distribute();
  add_small(2, 90);
  distribute();
  EXPECT_EQ(longest.turn, Grid::Turn::runs) << "it has launched a CTA less than a turn";
  complete_one(longest), distribute();
  distribute();
  EXPECT_EQ(longest.turn, Grid::Turn::leaves);
  EXPECT_EQ(other.turn, Grid::Turn::runs) << "one slot is wanted";
  make_with(1, 4);
  Grid& urgent = add_small(1, 90);
  distribute();
  add_small(2, 90);
  distribute();
  EXPECT_EQ(urgent.turn, Grid::Turn::runs) << "nobody equal waits";
}

TEST_F(TaskSlotsTest, OfClustersAreFreeWithTheFlushOfTheLast) {
  make_with(1);
  Grid& low = add(16, kQuarter, clusters_of(4), 1);
  EXPECT_EQ(distribute(), 8u);
  Grid& high = add_small(0);
  distribute();
  complete_one(low), complete_one(low), complete_one(low), complete_one(low);
  std::uint32_t last = kNoCluster;
  while (low.outstanding != 0) last = oldest_cluster(low), exit_one(low);
  EXPECT_EQ(distribute(), 0u) << "a cluster has yet to be flushed";
  distributor_->flush_all(last);
  distributor_->cluster_complete(low, last);
  EXPECT_EQ(distribute(), 1u);
  complete_all(high);
  EXPECT_EQ(distribute(), 8u);
  EXPECT_TRUE(low.all_launched());
}

TEST_F(TaskSlotsTest, AreFreeWhenTheirGridIsWithdrawn) {
  make_with(1);
  Grid &low = add_small(1, 20), &listed = add_small(1, 20);
  distribute();
  Grid& high = add_small(0);
  distribute();
  distributor_->withdraw(listed);
  EXPECT_TRUE(listed.finished());
  distributor_->withdraw(low);
  EXPECT_FALSE(low.finished());
  complete_all(low);
  EXPECT_TRUE(low.finished());
  EXPECT_EQ(distribute(), 1u);
  complete_all(high);
  EXPECT_EQ(distributor_->waiting(), 0u);
}

// All SMs are switched off and on again.
TEST_F(TaskSlotsTest, AreNotForGridsThatFitNowhere) {
  make_with(1);
  Grid& wide = add(16, kQuarter, clusters_of(16));
  EXPECT_EQ(distribute(), 0u);
  Grid& other = add_small(3);
  EXPECT_EQ(distribute(), 1u);
  EXPECT_EQ(wide.turn, Grid::Turn::aside);
  EXPECT_EQ(distributor_->waiting(), 1u);
  complete_all(other);
  distributor_->enable(0, false);
  distributor_->enable(0, true);
  distribute();
  EXPECT_EQ(wide.turn, Grid::Turn::runs) << "it may fit by now";
  distributor_->withdraw(wide);
  EXPECT_EQ(distributor_->waiting(), 0u);
}

// A policy may look at what else is resident; whether a grid fits the empty machine does not depend on it.
TEST_F(TaskSlotsTest, AreNotLostToGridsThatAPolicyRefusesForNow) {
  shape_ = {};
  for (const Level level : {Level::set, Level::gpu, Level::ugpu}) shape_.open(level);
  for (const std::uint32_t sms : {1u, 4u}) {  // GPCs
    for (const Level level : {Level::gpc, Level::cpc, Level::tpc}) shape_.open(level);
    shape_.add_sms(sms);
    for (const Level level : {Level::tpc, Level::cpc, Level::gpc}) shape_.close(level);
  }
  for (const Level level : {Level::ugpu, Level::gpu, Level::set}) shape_.close(level);
  distributor_ = std::make_unique<Distributor>(shape_, std::move(*make_policy("partitioned")),
                                               DistributorOptions{.task_slots = 2});
  add_small(0);
  Grid& resident = add_small(0);  // in the first GPC, as its number is even
  EXPECT_EQ(distribute(), 2u);
  complete_all(*grids_[0]);
  add_small(3);
  Grid& cluster = add(8, kQuarter, clusters_of(8));  // likewise, but too large for it
  EXPECT_EQ(cluster.id % 2, 0u);
  distribute();
  EXPECT_EQ(cluster.next, 0u) << "the GPC is in use";
  complete_all(resident);
  for (int i = 0; i < 3 && cluster.next == 0; ++i) distribute();
  EXPECT_EQ(cluster.next, 8u);
}

class EvictionLog final : public DecisionLog {
 public:
  void record(const Decision& decision) override {
    if (decision.kind == Decision::Kind::evict) evictions.push_back(decision);
  }
  std::vector<Decision> evictions;
};

TEST_F(TaskSlotsTest, AreTakenOnTheRecord) {
  make_with(1);
  EvictionLog heard;
  distributor_->observe(&heard);
  Grid& low = add_small(1, 20);
  distribute();
  add_small(0);
  distribute();
  ASSERT_EQ(heard.evictions.size(), 1u);
  EXPECT_EQ(heard.evictions[0].grid, low.id);
  EXPECT_EQ(heard.evictions[0].first, kRoom);
}

}  // namespace
}  // namespace raddle::machine::testing
