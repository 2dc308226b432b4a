// What holds of every policy: whole clusters, in their domains, within free slots; nothing left out that
// fits.
#include <gtest/gtest.h>

#include <random>

#include "machine/distributor/distributor.h"
#include "machine/shape/even_shape.h"
#include "naive_distributor.h"
#include "random_load.h"

namespace raddle::machine {
namespace {

class EveryPolicy : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Policy> policy_ = std::move(*make_policy(GetParam()));
  Placement placement_;
};

/// Clusters of a level of nesting that the free slots of a domain hold. The parts of a cluster lie in
/// different domains or in one, so nothing but their number matters; not so in multicast mode.
std::uint64_t room(const RandomLoad& load, const Slots& free, unsigned depth, const Domain& domain) {
  std::uint64_t parts = 0;
  if (domain.sm_count == 0) return 0;
  if (depth + 1 == load.kind.depth) {
    for (std::uint32_t i = 0; i < domain.sm_count; ++i) parts += free[domain.first_sm + i];
  } else {
    for (const Domain& part : load.shape.domains(load.kind.levels[depth + 1].domain))
      if (part.first_sm >= domain.first_sm && part.first_sm < domain.first_sm + domain.sm_count)
        parts += room(load, free, depth + 1, part);
  }
  return parts / load.kind.levels[depth].size();
}

// proves: W-3b, W-3d
TEST_P(EveryPolicy, KeepsTheInvariants) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; ++i) {
    RandomLoad load(random);
    if (i % 4 == 0) load.kind = {};
    SCOPED_TRACE(i);
    policy_->place(load.snapshot(), placement_, nullptr);
    check_invariants(load, placement_);
    if (HasFatalFailure()) return;
    if (load.ids.empty() || !load.kind.has_local_ids()) continue;
    const std::uint64_t per_id = load.kind.levels[load.kind.depth - 1].size();
    for (std::size_t cta = 0; cta < placement_.sms.size(); cta += per_id)
      ASSERT_NE(load.ids[load.shape.domain_of(Level::gpc, placement_.sms[cta])]--, 0u);
  }
}

// proves: W-7g
TEST_P(EveryPolicy, LaunchesAllThatFits) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 3000; ++i) {
    RandomLoad load(random);
    load.ids.clear();
    load.kind.mode = DistributionMode::load_balance;
    const Slots idle(load.load.size());
    if (GetParam() == "partitioned") load.load = idle;  // then a grid's share is enough for one cluster
    policy_->place(load.snapshot(), placement_, nullptr);
    std::uint64_t fit = 0;
    for (const Domain& domain : load.shape.domains(load.kind.levels[0].domain))
      fit += room(load, load.free, 0, domain);
    ASSERT_EQ(placement_.failed, placement_.launched < load.left);
    if (GetParam() == "partitioned")
      ASSERT_EQ(placement_.launched == 0, fit == 0);
    else
      ASSERT_EQ(placement_.launched, std::min(load.left, fit)) << "case " << i;
    load.kind = {};
    const std::uint64_t slots = std::accumulate(load.free.begin(), load.free.end(), std::uint64_t{0});
    policy_->place(load.snapshot(), placement_, nullptr);
    ASSERT_FALSE(placement_.failed);
    if (GetParam() != "partitioned") ASSERT_EQ(placement_.launched, std::min(load.left, slots));
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy, ::testing::ValuesIn(policy_names()),
                         [](const auto& info) { return info.param; });

class TwoGpcs : public ::testing::Test {
 protected:
  MachineShape shape_ = machine_of(2, 1, 1, 3);
  Slots free_ = Slots(6, 3), load_ = Slots(6, 0);
  GridKind plain_, pairs_{.levels = {{{.domain = Level::gpc, .extent = {2, 1, 1}}}}, .depth = 1};

  Slots place(std::string_view name, const GridKind& kind, std::uint64_t left, std::uint64_t grid = 0,
              std::uint64_t launched = 0) {
    Placement placement;
    const auto policy = std::move(*make_policy(name));
    policy->place({shape_, kind, free_, load_, {}, {}, left, grid, launched}, placement, nullptr);
    return placement.sms;
  }
};

TEST_F(TwoGpcs, FirstFitFillsSmAfterSmAndDomainAfterDomain) {
  EXPECT_EQ(place("first_fit", plain_, 5), (Slots{0, 0, 1, 0, 1}));
  EXPECT_EQ(place("first_fit", pairs_, 3), (Slots{0, 0, 0, 1, 1, 1}));
}

TEST_F(TwoGpcs, RoundRobinTakesTurnsAndGoesOnWhereItWas) {
  EXPECT_EQ(place("round_robin", plain_, 4), (Slots{0, 1, 2, 3}));
  EXPECT_EQ(place("round_robin", plain_, 4, 0, 4), (Slots{4, 5, 0, 1}));
  free_[5] = 0;
  EXPECT_EQ(place("round_robin", plain_, 4, 0, 4), (Slots{4, 0, 1, 2}));
  EXPECT_EQ(place("round_robin", pairs_, 3), (Slots{0, 1, 3, 4, 0, 1}));
  EXPECT_EQ(place("round_robin", pairs_, 1, 0, 1), (Slots{3, 4}));
}

TEST_F(TwoGpcs, PartitionedKeepsGridsApart) {
  EXPECT_EQ(place("partitioned", plain_, 100, 4).size(), 9u);
  for (const std::uint32_t sm : place("partitioned", plain_, 100, 4)) EXPECT_LT(sm, 3u);
  for (const std::uint32_t sm : place("partitioned", pairs_, 100, 5)) EXPECT_GE(sm, 3u);
  GridKind whole = pairs_;
  whole.levels[0] = {.domain = Level::gpu, .extent = {10, 1, 1}};
  EXPECT_EQ(place("partitioned", whole, 1, 4).size(), 10u) << "more than a share ever holds";
  load_[0] = 1;
  EXPECT_EQ(place("partitioned", whole, 1, 4).size(), 0u);
}

// proves: W-5f
TEST_F(TwoGpcs, TheDistributorsOrderBreaksTies) {
  struct Sink : LaunchSink {
    void launch(const LaunchMask& mask) override { sms.insert(sms.end(), mask.sms.begin(), mask.sms.end()); }
    Slots sms;
  } sink;
  Distributor distributor(shape_, std::move(*make_policy("lake")), {.sm_order = {5, 3, 1, 0, 2, 4}});
  Grid plain{.ctas = 8}, cluster{.kind = pairs_, .ctas = 2};
  distributor.add(plain);
  distributor.add(cluster);
  distributor.distribute(sink);
  EXPECT_EQ(sink.sms, (Slots{5, 3, 1, 0, 2, 4, 5, 3, 1, 0}));
}

TEST(Policies, NamesThemWhenAskedForAnother) {
  const auto none = make_policy("best");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_NE(none.error().message.find("first_fit"), std::string::npos);
  for (const std::string& name : policy_names()) EXPECT_EQ((*make_policy(name))->name(), name);
  EXPECT_EQ(policy_names().front(), "lake");
}

}  // namespace
}  // namespace raddle::machine
