// Multicast mode against sorting all SMs by the rule, and its cases.
#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "machine/shape/even_shape.h"
#include "naive_distributor.h"
#include "random_load.h"

namespace raddle::machine {
namespace {

/// All able SMs by the rule's words: TPC wholly able, most free slots, priority.
Slots by_rule(const RandomLoad& load, const Slots& order) {
  Slots able;
  for (const std::uint32_t sm : order)
    if (load.free[sm] != 0) able.push_back(sm);
  const auto whole = [&](std::uint32_t sm) {
    const Domain& tpc = load.shape.domains(Level::tpc)[load.shape.domain_of(Level::tpc, sm)];
    for (std::uint32_t i = 0; i < tpc.sm_count; ++i)
      if (load.free[tpc.first_sm + i] == 0) return false;
    return true;
  };
  Slots sorted;
  while (!able.empty()) {
    const auto best = std::max_element(able.begin(), able.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(whole(a), load.free[a]) < std::tuple(whole(b), load.free[b]);
    });  // the first of equals
    sorted.push_back(*best);
    able.erase(best);
  }
  return sorted;
}

// proves: W-6a, W-6c, W-6d, W-6e, W-6f
TEST(Multicast, TakesSmsByTheRule) {
  std::mt19937_64 random(1);
  const auto policy = std::move(*make_policy("lake"));
  for (int i = 0; i < 2000; ++i) {
    RandomLoad load(random);
    load.kind = {
        .levels = {{{.domain = Level::set, .extent = {1 + static_cast<std::uint32_t>(random() % 12), 1, 1}}}},
        .depth = 1,
        .mode = DistributionMode::multicast};
    load.left = 1;
    Placement placement;
    policy->place(load.snapshot(), placement, nullptr);
    Slots expected = by_rule(load, load.order.empty() ? by_number(load.free.size()) : load.order);
    const std::uint64_t ctas = load.kind.levels[0].size();
    ASSERT_EQ(placement.failed, expected.size() < ctas);
    if (placement.failed) continue;
    expected.resize(ctas);
    ASSERT_EQ(placement.sms, expected) << "case " << i;
    ASSERT_EQ(placement.masks.size(), 1u);
  }
}

// proves: W-6b, W-6f
TEST(Multicast, OneCtaOfAClusterPerSmButManyClusters) {
  const auto policy = std::move(*make_policy("lake"));
  const auto shape = *preset_shape("tiny", 1);
  const Slots free{3, 3}, load(2);
  GridKind kind{.levels = {{{.domain = Level::gpc, .extent = {2, 1, 1}}}},
                .depth = 1,
                .mode = DistributionMode::multicast};
  Placement placement;
  policy->place({shape, kind, free, load, {}, {}, 10}, placement, nullptr);
  EXPECT_EQ(placement.launched, 3u);
  EXPECT_EQ(placement.sms, (Slots{0, 1, 0, 1, 0, 1}));
  kind.levels[0].extent[0] = 3;
  policy->place({shape, kind, free, load, {}, {}, 10}, placement, nullptr);
  EXPECT_TRUE(placement.failed) << "six slots, but on two SMs";
}

// proves: W-7b, W-7c, W-7e
TEST(Multicast, TheFastestOfSeveralDomainsTakesTheCluster) {
  const auto policy = std::move(*make_policy("lake"));
  const MachineShape shape = machine_of(3, 1, 1, 3);
  const Slots free{2, 2, 9, 4, 3, 1, 8, 2, 0}, load(9);  // a pair leaves 1 in GPC 0, 2 in GPC 1, 1 in GPC 2
  const GridKind pairs{.levels = {{{.domain = Level::gpc, .extent = {2, 1, 1}}}},
                       .depth = 1,
                       .mode = DistributionMode::multicast};
  Placement placement;
  policy->place({shape, pairs, free, load, {}, {}, 1}, placement, nullptr);
  EXPECT_EQ(placement.sms, (Slots{3, 4}));
}

}  // namespace
}  // namespace raddle::machine
