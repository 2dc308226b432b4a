// The lake: both searches against one CTA at a time, and what they cost in steps.
#include "machine/distributor/lake.h"

#include <gtest/gtest.h>

#include <bit>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "naive_distributor.h"
#include "sanitized.h"

namespace raddle::machine {
namespace {

/// Shallow or deep, level or ragged, few SMs or many.
Slots random_slots(std::mt19937_64& random) {
  Slots free(1 + random() % (random() % 4 == 0 ? 200 : 20));
  const std::uint32_t depth = random() % 3 == 0 ? 100 : 10;
  const bool sparse = random() % 3 == 0;
  for (std::uint32_t& slots : free) slots = sparse && random() % 8 != 0 ? 0 : random() % (depth + 1);
  return free;
}

// proves: W-5a, W-5b, W-5c
TEST(Lake, BothSearchesChooseAsOneCtaAtATime) {
  std::mt19937_64 random(1);
  for (int i = 0; i < (kSanitized ? 1000 : 5000); ++i) {
    const Slots free = random_slots(random);
    const std::uint64_t total = std::accumulate(free.begin(), free.end(), std::uint64_t{0});
    const std::uint64_t ctas = random() % (total + 2);
    const Slots expected = one_at_a_time(free, by_number(free.size()), ctas);
    for (const auto search : {scan_levels, bisect_height, find_water_level}) {
      const WaterLevel water = search(free, ctas);
      ASSERT_EQ(water.ctas, expected.size());
      Placement placement;
      append_levels(free, water, 0, placement);
      ASSERT_EQ(placement.sms, expected) << "case " << i;
    }
  }
}

/// How hardware counts, for each of a row of flags, those set before it: sums of pairs, of pairs of pairs and
/// so on up a tree, then down it what lies to the left of every node.
Slots exclusive_prefix(Slots flags) {
  const std::size_t count = flags.size();
  flags.resize(std::bit_ceil(count));
  for (std::size_t step = 1; step < flags.size(); step *= 2)
    for (std::size_t i = 2 * step - 1; i < flags.size(); i += 2 * step) flags[i] += flags[i - step];
  flags.back() = 0;
  for (std::size_t step = flags.size() / 2; step != 0; step /= 2)
    for (std::size_t i = 2 * step - 1; i < flags.size(); i += 2 * step)
      flags[i - step] = std::exchange(flags[i], flags[i] + flags[i - step]);
  flags.resize(count);
  return flags;
}

// proves: W-5d, W-5e
TEST(Lake, TheLastLevelFollowsThePrefixRule) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 5000; ++i) {
    const Slots free = random_slots(random);
    const WaterLevel water = find_water_level(free, random() % 1000);
    Slots reaches, expected;
    for (const std::uint32_t slots : free) reaches.push_back(slots >= water.bottom ? 1 : 0);
    const Slots before = exclusive_prefix(reaches);
    for (std::uint32_t sm = 0; sm < free.size(); ++sm)
      if (reaches[sm] != 0 && before[sm] < water.rest) expected.push_back(sm);
    ASSERT_EQ(expected.size(), water.rest);
    Placement placement;
    append_levels(free, water, 0, placement);
    ASSERT_EQ(Slots(placement.sms.end() - static_cast<std::ptrdiff_t>(water.rest), placement.sms.end()),
              expected);
  }
}

TEST(Lake, AMaskIsALevel) {
  const Slots free{1, 3, 0, 2};
  Placement placement;
  append_levels(free, find_water_level(free, 5), 10, placement);
  EXPECT_EQ(placement.sms, (Slots{11, 11, 13, 10, 11}));
  ASSERT_EQ(placement.masks.size(), 3u);
  EXPECT_EQ(placement.masks[0].count, 1u);
  EXPECT_EQ(placement.masks[1].count, 2u);
  EXPECT_EQ(placement.masks[2].first, 3u);
  EXPECT_EQ(placement.masks[2].count, 2u);
}

// proves: W-5h, W-22h
TEST(Lake, AThousandCtasTakeEightSteps) {
  const Slots free(128, 8);
  for (const std::uint64_t ctas : {1024, 1000, 512, 1}) {
    EXPECT_LE(find_water_level(free, ctas).steps, 8u);
    EXPECT_LE(bisect_height(free, ctas).steps, 4u);
  }
  EXPECT_EQ(scan_levels(free, 1024).steps, 8u);
}

// proves: W-5c, W-5h
TEST(Lake, DeepLakesAreBisected) {
  const Slots free(100, 1000);
  EXPECT_LE(find_water_level(free, 50001).steps, 10u);
  EXPECT_EQ(scan_levels(free, 50001).steps, 501u);
}

}  // namespace
}  // namespace raddle::machine
