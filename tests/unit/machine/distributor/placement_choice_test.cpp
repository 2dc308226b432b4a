// Which policy places a grid: what it asks for, or what follows from the address spaces that are scheduled.
#include <gtest/gtest.h>

#include <set>

#include "distributor_fixture.h"
#include "naive_distributor.h"

namespace raddle::machine {
namespace {

class Choice : public testing::DistributorTest {
 protected:
  void make(const char* policy = "lake") {
    sink_ = {};
    shape_ = testing::grid_of_gpcs(4, 2);
    distributor_ = std::make_unique<Distributor>(shape_, std::move(*make_policy(policy)));
  }
  Grid& add(std::uint64_t space, std::optional<PlacementMode> mode, std::uint64_t ctas = 4) {
    return DistributorTest::add({.needs = testing::kQuarter, .ctas = ctas, .space = space, .mode = mode});
  }
  /// SMs with CTAs of a grid.
  std::size_t sms_of(const Grid& grid) const {
    std::set<std::uint32_t> sms;
    for (const testing::Cta& cta : sink_.ctas)
      if (cta.grid == &grid) sms.insert(cta.sm);
    return sms.size();
  }
};

constexpr std::size_t kDeep = 1, kWide = 4;  // SMs that four quarters of an SM are on

// proves: A-15a, A-16b
TEST_F(Choice, IsTheGrids) {
  for (const std::string& policy : policy_names()) {
    make(policy.c_str());
    const Grid &deep = add(1, PlacementMode::deep), &wide = add(1, PlacementMode::wide);
    distribute();
    EXPECT_EQ(sms_of(deep), kDeep) << policy;
    EXPECT_EQ(sms_of(wide), kWide) << policy;
  }
  make("first_fit");
  const Grid& unsaid = add(1, {});
  distribute();
  EXPECT_EQ(sms_of(unsaid), kDeep) << "the policy's";
}

// proves: A-15b
TEST_F(Choice, WideGivesALargeGridOfOneSpaceTheWholeMachine) {
  make();
  const Grid& large = add(1, PlacementMode::wide, 1000);
  EXPECT_EQ(distribute(), 16u * 4);
  EXPECT_EQ(sms_of(large), 16u);
}

// proves: A-16d, A-16f, A-16g
TEST_F(Choice, FollowsTheSpacesThatAreScheduled) {
  make();
  Grid& alone = add(1, PlacementMode::automatic, 4);
  distribute();
  EXPECT_EQ(sms_of(alone), kWide);
  Grid &first = add(1, PlacementMode::automatic), &second = add(2, PlacementMode::automatic);
  distribute();
  EXPECT_EQ(sms_of(second), kDeep);
  EXPECT_LE(sms_of(first), kWide) << "on SMs that the space has";
  complete_all(second);
  const Grid& again = add(1, PlacementMode::automatic);
  distribute();
  EXPECT_EQ(sms_of(again), kWide) << "the other space has ended";
}

/// Launches a CTA of the first grid, then one of another space's, then the rest. @returns SMs of the first
class Begun : public Choice {
 protected:
  std::size_t sms_of_one_begun(PlacementMode mode) {
    shape_ = testing::grid_of_gpcs(4, 2);
    sink_ = {};
    distributor_ = std::make_unique<Distributor>(shape_, std::move(*make_policy("lake")),
                                                 DistributorOptions{.credits = 1});
    Grid& first = add(1, mode);
    EXPECT_EQ(distribute(), 1u);
    add(2, mode, 1);
    while (distribute() != 0) {
    }
    return sms_of(first);
  }
};

// The context's tasks change together; a task keeps to how it began.
// proves: A-16d, A-16e
TEST_F(Begun, AContextChangesAndATaskDoesNot) {
  EXPECT_EQ(sms_of_one_begun(PlacementMode::automatic), kDeep);
  EXPECT_EQ(sms_of_one_begun(PlacementMode::automatic_per_task), kWide);
  make();
  add(1, PlacementMode::automatic_per_task);
  const Grid& second = add(2, PlacementMode::automatic_per_task);
  distribute();
  EXPECT_EQ(sms_of(second), kDeep) << "two spaces when it began";
}

TEST(PlacementModes, HaveNames) {
  for (const PlacementMode mode : {PlacementMode::wide, PlacementMode::deep, PlacementMode::automatic,
                                   PlacementMode::automatic_per_task})
    EXPECT_EQ(*find_placement(placement_name(mode)), mode);
  EXPECT_FALSE(parse_placement("")->has_value());
  const auto wrong = parse_placement("narrow");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message, "no placement 'narrow'; there are wide, deep, auto, auto_per_task");
}

}  // namespace
}  // namespace raddle::machine
