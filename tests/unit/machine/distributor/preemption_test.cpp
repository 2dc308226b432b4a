// The preemptive mode: CTAs that leave their SMs in the middle for a more urgent grid, and come back.
#include "distributor_fixture.h"

namespace raddle::machine::testing {
namespace {

constexpr std::uint64_t kSlots = 8;  ///< CTAs of a quarter that the machine of these tests holds

class Preemption : public DistributorTest {
 protected:
  void make_with(DistributorOptions options) {
    if (options.task_slots == 128) options.task_slots = 1;
    options.preemptive = true;
    make(grid_of_gpcs(1, 1), options);
  }
  Grid& add_small(int priority, std::uint64_t ctas = 1) { return add(ctas, kQuarter, {}, priority); }
  std::vector<std::uint64_t> indices_back() const {
    std::vector<std::uint64_t> indices;
    for (const Cta& cta : sink_.back) indices.push_back(cta.index);
    return indices;
  }
};

// proves: A-4g, A-4h
TEST_F(Preemption, StopsCtasInTheMiddleAndTheyGoOnWhereTheyWere) {
  make_with({});
  Grid& low = add_small(1, 20);
  EXPECT_EQ(distribute(), kSlots);
  const std::deque<Cta> before = sink_.ctas;
  Grid& high = add_small(0, 3);
  EXPECT_EQ(distribute(), 0u);
  EXPECT_EQ(sink_.preempted, std::vector<Grid*>{&low});
  complete_one(low);
  EXPECT_EQ(distribute(), 0u);
  EXPECT_EQ(sink_.preempted.size(), 1u) << "it is told once";
  park_all(low);
  EXPECT_EQ(low.turn, Grid::Turn::listed);
  EXPECT_EQ(distributor_->activity().parked, kSlots - 1);
  EXPECT_EQ(distribute(), 3u) << "the room is the urgent one's";
  EXPECT_EQ(distribute(), 0u);
  complete_all(high);
  EXPECT_EQ(distribute(), kSlots) << "seven come back, and one more";
  ASSERT_EQ(indices_back(), (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7}));
  for (std::size_t i = 0; i < sink_.back.size(); ++i) EXPECT_EQ(sink_.back[i].sm, before[i + 1].sm);
  EXPECT_EQ(distributor_->activity().parked, 0u);
  while (!low.finished()) complete_all(low), distribute();
  EXPECT_EQ(sink_.heard[&low], 20u) << "none is new a second time";
}

TEST_F(Preemption, IsOffUntilItIsAskedFor) {
  make(grid_of_gpcs(1, 1), {.task_slots = 1});
  add_small(1, 20), distribute(), add_small(0);
  distribute();
  EXPECT_TRUE(sink_.preempted.empty());
  EXPECT_FALSE(DistributorOptions{}.preemptive);
}

// One that has launched all it has would keep its slot for as long as its CTAs run.
TEST_F(Preemption, StopsAGridThatHasNothingLeftToLaunch) {
  make_with({});
  Grid& low = add_small(1, 2);
  distribute();
  add_small(0), distribute();
  EXPECT_EQ(sink_.preempted, std::vector<Grid*>{&low});
  park_all(low);
  EXPECT_EQ(distribute(), 1u);
  EXPECT_FALSE(low.finished());
}

TEST_F(Preemption, IsNotForEqualsButForOneThatComesWhileTheyWait) {
  make_with({.turn = 4});
  Grid& low = add_small(2, 20);
  distribute();
  add_small(2, 20), distribute();
  EXPECT_EQ(low.turn, Grid::Turn::leaves);
  EXPECT_TRUE(sink_.preempted.empty()) << "equals take turns at the ends of CTAs";
  add_small(1), distribute();
  EXPECT_EQ(sink_.preempted, std::vector<Grid*>{&low});
}

TEST_F(Preemption, TakesNoMoreThanAreWanted) {
  make_with({.task_slots = 2});
  Grid& least = add_small(5, 2);
  add_small(4, 2);
  distribute();
  add_small(0), distribute(), distribute();
  EXPECT_EQ(sink_.preempted, std::vector<Grid*>{&least});
}

TEST_F(Preemption, LeavesClustersWithIdsAndWithMemoryOfTheirOwn) {
  make_with({});
  Grid& low = add(16, kQuarter, clusters_of(4), 1);
  distribute();
  Grid& high = add_small(0);
  distribute();
  EXPECT_TRUE(sink_.preempted.empty());
  complete_all(low);
  EXPECT_EQ(distribute(), 1u) << "it left at the end of its clusters";
  EXPECT_TRUE(high.all_launched());
}

// A cooperative launch is a cluster of the whole GPU: its blocks wait for one another.
TEST_F(Preemption, PutsAClusterBackAsAWhole) {
  make_with({.task_slots = 2});
  Grid& low = add(6, kQuarter, clusters_of(6, Level::gpu), 1);
  distribute();
  Grid& stays = add_small(2, 1);
  distribute();
  Grid& high = add_small(0, 8);
  distribute();
  ASSERT_EQ(sink_.preempted, std::vector<Grid*>{&stays});
  Grid& higher = add_small(-1, 8);
  distribute();
  ASSERT_EQ(sink_.preempted.back(), &low);
  park_all(stays), park_all(low);
  EXPECT_EQ(low.clusters, 1u);
  EXPECT_FALSE(low.is_resident());
  distribute();
  complete_all(higher), distribute();
  EXPECT_EQ(high.outstanding, 8u);
  while (sink_.back.empty()) {
    ASSERT_NE(high.outstanding, 0u);
    complete_one(high), distribute();
  }
  EXPECT_EQ(indices_back().size(), 6u) << "all at once";
  EXPECT_LE(high.outstanding, 2u);
  complete_all(high), complete_all(low);
  EXPECT_TRUE(low.finished());
}

// What comes later passes a CTA that waits for its SM, but not for ever.
TEST_F(Preemption, KeepsTheSmOfAParkedCtaAfterItsPatience) {
  make_with({.patience = 4, .task_slots = 3});
  Grid& low = add(1, {.threads = 2048, .warps = 64}, {}, 2);
  distribute();
  Grid &first = add_small(0), &second = add_small(0);
  distribute();
  Grid& last = add_small(0);
  distribute(), park_all(low), distribute();
  ASSERT_EQ(sink_.ctas.back().sm, 0u) << "where it was";
  Grid& many = add_small(2, 1000);
  complete_all(first), distribute();
  EXPECT_EQ(low.turn, Grid::Turn::runs);
  complete_all(second), distribute();
  EXPECT_EQ(many.outstanding, 6u) << "after four, nothing goes past it to its SM";
  complete_all(last);
  std::uint64_t ended = 0;
  for (; sink_.back.empty() && ended < 100; ++ended) distribute(), complete_one(many);
  EXPECT_LT(ended, 20u);
  EXPECT_EQ(sink_.back.at(0).sm, 0u);
}

TEST_F(Preemption, EndsWithItsGrid) {
  make_with({});
  Grid& low = add_small(1, 20);
  distribute();
  Grid& high = add_small(0);
  distribute();
  park_all(low);
  distributor_->withdraw(low);
  EXPECT_FALSE(low.finished()) << "somebody has what has begun";
  for (std::uint64_t i = 0; i < kSlots; ++i) distributor_->drop(low, i);
  EXPECT_TRUE(low.finished());
  EXPECT_EQ(distributor_->activity().parked, 0u);
  EXPECT_EQ(distribute(), 1u);
  complete_all(high);
  EXPECT_EQ(distributor_->waiting(), 0u);
}

// A space that may use one SM uses the one on which its CTA is parked.
TEST_F(Preemption, KeepsItsSmUnderItsSpacesLimit) {
  make_with({});
  distributor_->confine(7, {.most = 1});
  Grid& low = add({.needs = kQuarter, .ctas = 4, .priority = 1, .space = 7});
  EXPECT_EQ(distribute(), 4u);
  const std::uint32_t sm = sink_.ctas[0].sm;
  Grid& high = add({.needs = {.threads = 128}, .ctas = 3, .space = 7});
  distribute();
  park_all(low);
  EXPECT_EQ(distribute(), 3u);
  for (const Cta& cta : sink_.ctas) EXPECT_EQ(cta.sm, sm);
  complete_all(high);
  EXPECT_EQ(distribute(), 4u);
}

class MoveLog final : public DecisionLog {
 public:
  void record(const Decision& decision) override {
    if (decision.kind == Decision::Kind::park || decision.kind == Decision::Kind::resume)
      moves.push_back(decision);
  }
  std::vector<Decision> moves;
};

TEST_F(Preemption, IsOnTheRecord) {
  make_with({});
  MoveLog heard;
  distributor_->observe(&heard);
  Grid& low = add_small(1, 1);
  distribute();
  const std::uint32_t sm = sink_.ctas[0].sm;
  Grid& high = add_small(0);
  distribute(), park_all(low), distribute();
  complete_all(high), distribute();
  ASSERT_EQ(heard.moves.size(), 2u);
  for (const Decision& decision : heard.moves) {
    EXPECT_EQ(decision.grid, low.id);
    EXPECT_EQ(decision.sms, std::vector<std::uint32_t>{sm});
  }
  EXPECT_EQ(heard.moves[0].live[sm], 0u);
  EXPECT_EQ(heard.moves[1].kind, Decision::Kind::resume);
}

}  // namespace
}  // namespace raddle::machine::testing
