// Grids that grow while they run, and those that are put at the head of their list.
#include "distributor_fixture.h"

namespace raddle::machine::testing {
namespace {

class OpenGrids : public DistributorTest {
 protected:
  void make_with(std::uint32_t slots) { make(grid_of_gpcs(1, 1), {.task_slots = slots}); }
  Grid& add_open(std::uint64_t ctas, int priority = 0) {
    Grid grid{.needs = kQuarter, .ctas = ctas, .priority = priority};
    grid.open = true;
    return add(grid);
  }
};

TEST_F(OpenGrids, LaunchWhatHasCome) {
  make_with(1);
  Grid& grid = add_open(0);
  EXPECT_EQ(distribute(), 0u);
  distributor_->grow(grid, 2);
  EXPECT_EQ(distribute(), 2u);
  distributor_->grow(grid, 20);
  EXPECT_EQ(distribute(), 6u) << "the machine holds 8";
  complete_all(grid);
  EXPECT_FALSE(grid.finished());
  EXPECT_EQ(distribute(), 8u);
  complete_all(grid);
  distribute();
  complete_all(grid);
  EXPECT_EQ(grid.next, 22u);
  EXPECT_FALSE(grid.finished()) << "more may come";
  distributor_->close(grid);
  EXPECT_TRUE(grid.finished());
  EXPECT_EQ(sink_.heard[&grid], 22u);
  EXPECT_EQ(distributor_->waiting(), 0u);
}

TEST_F(OpenGrids, AreFinishedWithTheirLastCtaOnceTheyAreClosed) {
  make_with(1);
  Grid& grid = add_open(3);
  distribute();
  distributor_->close(grid);
  complete_one(grid), complete_one(grid);
  EXPECT_FALSE(grid.finished());
  complete_one(grid);
  EXPECT_TRUE(grid.finished());
}

TEST_F(OpenGrids, HaveNoSlotWhileTheyHaveNothing) {
  make_with(1);
  Grid& idle = add_open(1);
  Grid& other = add(1, kQuarter);
  EXPECT_EQ(distribute(), 1u);
  complete_one(idle);
  EXPECT_EQ(distribute(), 1u) << "the slot is the other one's";
  distributor_->grow(idle, 1);
  EXPECT_EQ(distribute(), 0u) << "and the idle one waits for its turn";
  complete_one(other);
  EXPECT_EQ(distribute(), 1u);
  EXPECT_EQ(idle.next, 2u);
  Grid& withdrawn = add_open(0);
  distributor_->withdraw(withdrawn);
  EXPECT_TRUE(withdrawn.finished());
}

// proves: A-4h
TEST_F(OpenGrids, AreEvictedAndGoOnWithWhatCameMeanwhile) {
  make_with(1);
  Grid& low = add_open(12, 1);
  EXPECT_EQ(distribute(), 8u);
  Grid& high = add(1, kQuarter);
  EXPECT_EQ(distribute(), 0u);
  distributor_->grow(low, 3);
  complete_all(low);
  EXPECT_EQ(distribute(), 1u);
  EXPECT_TRUE(high.all_launched());
  complete_all(high);
  EXPECT_EQ(distribute(), 7u);
  EXPECT_EQ(sink_.ctas.front().index, 8u);
  complete_all(low);
  distributor_->close(low);
  EXPECT_TRUE(low.finished());
}

// proves: A-2c
TEST_F(OpenGrids, AtTheHeadOfTheirListGridsGoFirst) {
  for (const std::uint32_t slots : {1u, 16u}) {
    make_with(slots);
    sink_.ctas.clear();
    Grid& first = add(100, kQuarter, {}, -1);
    distribute();
    std::vector<Grid*> grids;
    for (const bool at_head : {false, false, true, true}) {
      Grid grid{.needs = kQuarter, .ctas = 8};
      grid.at_head = at_head;
      grids.push_back(&add(grid));
    }
    distributor_->withdraw(first);
    complete_all(first);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(distribute(), 8u);
      Grid* const next = sink_.ctas.front().grid;
      order.push_back(static_cast<std::size_t>(std::ranges::find(grids, next) - grids.begin()));
      complete_all(*next);
    }
    EXPECT_EQ(order, (std::vector<std::size_t>{3, 2, 0, 1})) << slots << " slots";
  }
}

}  // namespace
}  // namespace raddle::machine::testing
