// Address spaces that may use some SMs only, or so many at one time.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "distributor_fixture.h"
#include "naive_distributor.h"

namespace raddle::machine {
namespace {

class SmLimitsTest : public testing::DistributorTest {
 protected:
  void make(const std::string& policy, MachineShape shape = testing::grid_of_gpcs(2, 2)) {
    sink_ = {};
    shape_ = std::move(shape);
    distributor_ = std::make_unique<Distributor>(shape_, std::move(*make_policy(policy)));
  }
  Grid& add(std::uint64_t space, std::uint64_t ctas, GridKind kind = {}, CtaNeeds needs = testing::kQuarter) {
    return DistributorTest::add({.needs = needs, .kind = kind, .ctas = ctas, .space = space});
  }
  std::set<std::uint32_t> sms_of(std::uint64_t space) const {
    std::set<std::uint32_t> sms;
    for (const testing::Cta& cta : sink_.ctas)
      if (cta.grid->space == space) sms.insert(cta.sm);
    return sms;
  }
};

using Sms = std::set<std::uint32_t>;

// proves: A-21a
TEST_F(SmLimitsTest, AnInstanceHasItsOwnSms) {
  make("lake");
  distributor_->confine(1, {.sms = {0, 1, 2, 3}});
  distributor_->confine(2, {.sms = {4, 5, 6, 7}});
  add(1, 100), add(2, 7);
  EXPECT_EQ(distribute(), 16u + 7u);
  EXPECT_EQ(sms_of(1), (Sms{0, 1, 2, 3}));
  EXPECT_EQ(sms_of(2), (Sms{4, 5, 6, 7}));
  distributor_->confine(1, {});
  EXPECT_EQ(distribute(), 9u) << "without a limit it takes the rest";
}

TEST_F(SmLimitsTest, AShareHoldsAndTheOthersHaveTheRest) {
  for (const std::string& policy : policy_names()) {
    make(policy);
    distributor_->confine(1, {.most = 2});
    Grid& endless = add(1, 1000);
    Grid& other = add(2, 1000);
    distribute();
    EXPECT_EQ(sms_of(1).size(), 2u) << policy;
    EXPECT_GE(other.outstanding, policy == "partitioned" ? 8u : 24u) << policy;
    for (int i = 0; i < 3000 && endless.next != endless.ctas; ++i) {
      complete_one(i % 2 == 0 ? endless : other);
      distribute();
      ASSERT_LE(sms_of(1).size(), 2u) << policy;
    }
    EXPECT_EQ(endless.next, endless.ctas) << policy;
  }
}

// The client that waits for its own blocks holds no SM back from others, however many pass it.
TEST_F(SmLimitsTest, WhoIsAtItsLimitKeepsNothingFromOthers) {
  make("lake");
  distributor_->confine(1, {.most = 1});
  Grid& limited = add(1, 100);
  distribute();
  Grid& other = add(2, 5000);
  distribute();
  EXPECT_EQ(other.outstanding, 7u * 4);
  while (other.next != other.ctas) {
    complete_one(other);
    ASSERT_EQ(distribute(), 1u) << "CTA " << other.next;
  }
  EXPECT_EQ(limited.kept, kNothingKept);
}

TEST_F(SmLimitsTest, AClusterIsKeptWithinTheShare) {
  make("lake");
  distributor_->confine(1, {.most = 2});
  Grid& grid = add(1, 24, testing::clusters_of(4));
  EXPECT_EQ(distribute(), 8u) << "two clusters of four CTAs on two SMs of four slots";
  EXPECT_EQ(sms_of(1).size(), 2u);
  complete_all(grid);
  while (distribute() != 0) complete_all(grid);
  EXPECT_TRUE(grid.finished());
  EXPECT_EQ(distributor_->most_active(testing::clusters_of(4), testing::kQuarter, 1), 2u);
  EXPECT_EQ(distributor_->most_active(testing::clusters_of(16), testing::kQuarter, 1), 0u);
  EXPECT_EQ(distributor_->most_active(testing::clusters_of(16), testing::kQuarter), 2u);
}

TEST_F(SmLimitsTest, ALowerLimitTakesEffectAsCtasEnd) {
  make("lake");
  Grid& grid = add(1, 200);
  EXPECT_EQ(distribute(), 32u);
  distributor_->confine(1, {.most = 3});
  while (grid.next != grid.ctas) {
    const std::size_t before = sms_of(1).size();
    complete_one(grid);
    distribute();
    ASSERT_LE(sms_of(1).size(), before);
  }
  EXPECT_EQ(sms_of(1).size(), 3u);
}

// proves: A-21a
TEST_F(SmLimitsTest, HoldUnderRandomLoad) {
  std::mt19937_64 random(5);
  const std::vector<std::string> policies = policy_names();
  for (int run = 0; run < 60; ++run) {
    grids_.clear();
    make(policies[static_cast<std::size_t>(run) % policies.size()], testing::grid_of_gpcs(3, 2));
    std::vector<SmLimit> limits(4);
    for (std::size_t space = 1; space < 4; ++space) {
      for (std::uint32_t sm = 0; sm < 12; ++sm)
        if (random() % 2 == 0) limits[space].sms.push_back(sm);
      limits[space].most = static_cast<std::uint32_t>(random() % 4);
      distributor_->confine(space, limits[space]);
    }
    for (int step = 0; step < 300; ++step) {
      if (step < 40) {
        const auto size = static_cast<std::uint32_t>(1 + random() % 3);
        const bool is_plain = random() % 2 == 0;
        add(random() % 4, size * (1 + random() % 8),
            is_plain ? GridKind{} : testing::clusters_of(size, Level::cpc), {.threads = 256, .warps = 8})
            .mode = random() % 2 == 0 ? std::optional(PlacementMode::deep) : std::nullopt;
      }
      distribute();
      for (std::size_t space = 1; space < 4; ++space) {
        const Sms used = sms_of(space);
        if (limits[space].most != 0) ASSERT_LE(used.size(), limits[space].most) << "run " << run;
        for (const std::uint32_t sm : used)
          ASSERT_TRUE(limits[space].sms.empty() || std::ranges::count(limits[space].sms, sm) == 1);
      }
      if (!sink_.ctas.empty() && random() % 3 != 0)
        complete_one(*sink_.ctas[random() % sink_.ctas.size()].grid);
    }
    for (int rounds = 0; rounds < 2000 && !sink_.ctas.empty(); ++rounds) {
      complete_one(*sink_.ctas.front().grid);
      distribute();
    }
    for (const auto& grid : grids_)
      ASSERT_TRUE(grid->finished() || distributor_->most_active(grid->kind, grid->needs, grid->space) == 0)
          << "run " << run << ", space " << grid->space;
  }
}

}  // namespace
}  // namespace raddle::machine
