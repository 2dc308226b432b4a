// CTAs that wait for their children: what they give back meanwhile, and how they come back.
#include "distributor_fixture.h"

namespace raddle::machine::testing {
namespace {

constexpr std::uint64_t kFull = 8;  ///< CTAs of a quarter that the two SMs of these tests hold

class SuspensionTest : public DistributorTest {
 protected:
  void SetUp() override { make_with(128); }
  void make_with(std::uint32_t slots, std::uint64_t turn = 0) {
    grids_.clear();
    sink_ = {};
    make(grid_of_gpcs(1, 1), {.task_slots = slots, .turn = turn});
  }
  /// Its oldest CTA that is resident waits from now on.
  Cta suspend_one(Grid& grid) {
    const auto oldest = std::ranges::find(sink_.ctas, &grid, &Cta::grid);
    const Cta cta = *oldest;
    sink_.ctas.erase(oldest);
    distributor_->suspend(grid, cta.sm, cta.index);
    return cta;
  }
  bool resume(const Cta& cta, CtaStanding& standing) {
    if (!distributor_->resume(*cta.grid, cta.sm, cta.index, standing, sink_)) return false;
    sink_.ctas.push_back(cta);
    return true;
  }
  std::uint64_t on_sm(std::uint32_t sm) const { return distributor_->activity().ctas[sm]; }
};

// proves: A-3f
TEST_F(SuspensionTest, LeavesItsRoomToOthers) {
  Grid& parent = add(20, kQuarter);
  EXPECT_EQ(distribute(), kFull);
  Grid& child = add(3, kQuarter);
  EXPECT_EQ(distribute(), 0u);
  suspend_one(parent);
  suspend_one(parent);
  EXPECT_EQ(distribute(), 2u) << "the child's; as long as some wait, no more parents are launched";
  EXPECT_EQ(child.next, 2u);
  EXPECT_EQ(parent.next, kFull);
  EXPECT_FALSE(parent.finished());
}

TEST_F(SuspensionTest, EndsWhenThereIsRoomOnTheSameSm) {
  Grid& parent = add(kFull, kQuarter);
  distribute();
  Grid &child = add(1, kQuarter), &later = add(9, kQuarter);
  const Cta cta = suspend_one(parent);
  CtaStanding standing = CtaStanding::suspended;
  EXPECT_EQ(distribute(), 1u);
  EXPECT_FALSE(resume(cta, standing)) << "the child has its place";
  EXPECT_EQ(standing, CtaStanding::returning);
  EXPECT_EQ(on_sm(cta.sm), kFull / 2);
  complete_one(child);
  EXPECT_EQ(distribute(), 0u) << "the place is kept for who comes back";
  EXPECT_TRUE(resume(cta, standing));
  EXPECT_EQ(standing, CtaStanding::resident);
  EXPECT_EQ(distribute(), 0u);
  complete_all(parent);
  EXPECT_TRUE(parent.finished());
  EXPECT_EQ(distribute(), kFull);
  EXPECT_EQ(later.next, kFull);
}

TEST_F(SuspensionTest, KeepsOneSmClosedAndNotTheOther) {
  Grid& parent = add(kFull, kQuarter);
  distribute();
  add(1, kQuarter);
  const Cta cta = suspend_one(parent);
  EXPECT_EQ(distribute(), 1u);
  CtaStanding standing = CtaStanding::suspended;
  EXPECT_FALSE(resume(cta, standing));
  Grid& later = add(1, kQuarter);
  const auto other = std::ranges::find_if(
      sink_.ctas, [&](const Cta& each) { return each.grid == &parent && each.sm != cta.sm; });
  std::iter_swap(sink_.ctas.begin(), other);
  complete_one(parent);
  EXPECT_EQ(distribute(), 1u);
  EXPECT_EQ(later.next, 1u);
  EXPECT_NE(sink_.ctas.back().sm, cta.sm);
}

// proves: A-3f
TEST_F(SuspensionTest, GivesBackTheSlotOfAGridThatOnlyWaits) {
  make_with(1);
  Grid& parent = add(2, kQuarter);
  EXPECT_EQ(distribute(), 2u);
  Grid& child = add(1, kQuarter);
  const Cta first = suspend_one(parent);
  EXPECT_EQ(distribute(), 0u) << "the other one still has the slot";
  const Cta second = suspend_one(parent);
  EXPECT_EQ(distribute(), 1u);
  Grid& grandchild = add(1, kQuarter);
  const Cta middle = suspend_one(child);
  EXPECT_EQ(distribute(), 1u);
  CtaStanding standings[3] = {CtaStanding::suspended, CtaStanding::suspended, CtaStanding::suspended};
  EXPECT_FALSE(resume(middle, standings[2])) << "the grandchild has the slot";
  complete_one(grandchild);
  EXPECT_TRUE(resume(middle, standings[2]));
  EXPECT_FALSE(resume(first, standings[0])) << "the child has the slot";
  complete_one(child);
  EXPECT_TRUE(resume(first, standings[0]));
  EXPECT_TRUE(resume(second, standings[1]));
  EXPECT_EQ(distribute(), 0u);
  complete_all(parent);
  EXPECT_TRUE(parent.finished());
  EXPECT_EQ(distributor_->waiting(), 0u);
}

// Else grids with slots could wait for SMs that are kept for one without, and that one for a slot.
// proves: A-3f
TEST_F(SuspensionTest, KeepsNothingWithoutASlot) {
  make_with(1);
  Grid& parent = add(1, kQuarter);
  distribute();
  Grid& child = add(kFull + 2, kQuarter);
  const Cta cta = suspend_one(parent);
  EXPECT_EQ(distribute(), kFull);
  CtaStanding standing = CtaStanding::suspended;
  EXPECT_FALSE(resume(cta, standing)) << "the child has the slot";
  const auto there = std::ranges::find(sink_.ctas, cta.sm, &Cta::sm);
  std::iter_swap(sink_.ctas.begin(), there);
  complete_one(child);
  EXPECT_EQ(distribute(), 1u);
}

TEST_F(SuspensionTest, OfAGridWithMoreToLaunchGivesTheSlotBackToo) {
  make_with(1);
  Grid& parent = add(kFull + 2, kQuarter);
  EXPECT_EQ(distribute(), kFull);
  std::vector<Cta> away;
  for (std::uint64_t i = 0; i < kFull; ++i) away.push_back(suspend_one(parent));
  Grid& child = add(1, kQuarter);
  EXPECT_EQ(distribute(), 1u);
  EXPECT_EQ(child.next, 1u);
  complete_one(child);
  for (const Cta& cta : away) {
    CtaStanding standing = CtaStanding::suspended;
    EXPECT_TRUE(resume(cta, standing));
  }
  EXPECT_EQ(distribute(), 0u);
  complete_one(parent);
  complete_one(parent);
  EXPECT_EQ(distribute(), 2u) << "it goes on where it was";
  complete_all(parent);
  EXPECT_TRUE(parent.finished());
}

TEST_F(SuspensionTest, OutlastsAnEvictionByAMoreUrgentOne) {
  make_with(1);
  Grid& low = add(kFull + 4, kQuarter, {}, 1);
  distribute();
  const Cta cta = suspend_one(low);
  Grid& high = add(1, kQuarter, {}, 0);
  distribute();
  for (std::uint64_t i = 1; i < kFull; ++i) complete_one(low);
  EXPECT_EQ(distribute(), 1u);
  CtaStanding standing = CtaStanding::suspended;
  EXPECT_FALSE(resume(cta, standing));
  complete_one(high);
  EXPECT_TRUE(resume(cta, standing));
  EXPECT_EQ(distribute(), 4u);
  complete_all(low);
  EXPECT_TRUE(low.finished());
}

TEST_F(SuspensionTest, LeavesNothingOfAGridThatHasEnded) {
  make_with(1);
  Grid& parent = add(1, kQuarter);
  distribute();
  const Cta cta = suspend_one(parent);
  CtaStanding standing = CtaStanding::suspended;
  EXPECT_TRUE(resume(cta, standing));
  EXPECT_EQ(distributor_->waiting(), 0u) << "it has nothing to launch";
  complete_one(parent);
  parent = {};  // the next launch has it
  EXPECT_EQ(distribute(), 0u);
}

TEST_F(SuspensionTest, EndsWithAGridThatIsStopped) {
  Grid& parent = add(20, kQuarter);
  distribute();
  const Cta away = suspend_one(parent), returning = suspend_one(parent);
  Grid& child = add(2, kQuarter);
  EXPECT_EQ(distribute(), 2u);
  CtaStanding standing = CtaStanding::suspended;
  EXPECT_FALSE(resume(returning, standing));
  distributor_->withdraw(parent);
  distributor_->complete(parent, away.sm, 1, CtaStanding::suspended);
  distributor_->complete(parent, returning.sm, 1, standing);
  while (parent.outstanding != 0) complete_one(parent);
  EXPECT_TRUE(parent.finished());
  complete_all(child);
  EXPECT_EQ(on_sm(0) + on_sm(1), 0u);
  add(kFull, kQuarter);
  EXPECT_EQ(distribute(), kFull) << "nothing is kept for it any more";
}

TEST_F(SuspensionTest, IsRecorded) {
  struct Log final : DecisionLog {
    std::vector<Decision> moves;
    void record(const Decision& decision) override {
      if (decision.kind == Decision::Kind::park || decision.kind == Decision::Kind::resume)
        moves.push_back(decision);
    }
  } log;
  distributor_->observe(&log);
  Grid& parent = add(3, kQuarter);
  distribute();
  suspend_one(parent);
  const Cta cta = suspend_one(parent);
  CtaStanding standing = CtaStanding::suspended;
  EXPECT_TRUE(resume(cta, standing));
  ASSERT_EQ(log.moves.size(), 3u);
  EXPECT_EQ(log.moves[0].kind, Decision::Kind::park);
  EXPECT_EQ(log.moves[2].kind, Decision::Kind::resume);
  EXPECT_EQ(log.moves[2].first, 1u);
  EXPECT_EQ(log.moves[2].sms, std::vector<std::uint32_t>{cta.sm});
}

}  // namespace
}  // namespace raddle::machine::testing
