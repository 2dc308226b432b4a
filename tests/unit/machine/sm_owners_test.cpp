// Which worker gets which SMs.
#include "machine/launch/sm_owners.h"

#include <gtest/gtest.h>

#include <vector>

namespace raddle::machine {
namespace {

/// By worker: CTAs of a grid that fills the SMs one after the other.
std::vector<std::uint64_t> parts(const SmOwners& owners, std::uint32_t sms, unsigned workers,
                                 std::uint64_t ctas) {
  std::vector<std::uint64_t> counts(workers, 0);
  for (std::uint64_t i = 0; i < ctas; ++i) ++counts[owners.of(static_cast<std::uint32_t>(i % sms))];
  return counts;
}

TEST(SmOwners, SmallGridsAreDealtEvenly) {
  constexpr std::uint32_t kSms = 132;
  for (const unsigned workers : {2u, 3u, 8u}) {
    SmOwners owners(kSms, workers);
    for (const std::uint64_t ctas : {16, 100, 131, 132, 133, 300, 2000}) {
      owners.deal(ctas);
      const std::uint64_t most = ctas / kSms + 1;  // on one SM
      for (const std::uint64_t count : parts(owners, kSms, workers, ctas))
        EXPECT_NEAR(static_cast<double>(count), static_cast<double>(ctas) / workers,
                    static_cast<double>(most))
            << ctas << " on " << workers;
    }
  }
}

TEST(SmOwners, AreDealtToOneAlone) {
  SmOwners owners(8, 2);
  owners.take(3, 1, 1);
  for (const unsigned worker : {1u, 0u, 0u, 1u}) {
    owners.deal_to(worker);
    for (std::uint32_t sm = 0; sm < 8; ++sm) EXPECT_EQ(owners.of(sm), sm == 3 ? 0 : worker) << sm;
    owners.move(5, 1 - worker);  // as by a thief: the next deal brings it back
    owners.deal_to(worker);
    EXPECT_EQ(owners.of(5), worker);
  }
  owners.deal(4);
  EXPECT_EQ(owners.of(2), 1);
  EXPECT_EQ(owners.of(0), 0);
}

TEST(SmOwners, LargeGridsAndSingleBlocksFindThemAtHome) {
  SmOwners owners(8, 2);
  for (const std::uint64_t ctas : {std::uint64_t{1}, ~std::uint64_t{0}}) {
    owners.deal(4);
    EXPECT_EQ(owners.of(2), 1);
    owners.deal(ctas);
    for (std::uint32_t sm = 0; sm < 8; ++sm) EXPECT_EQ(owners.of(sm), sm / 4) << sm;
  }
}

TEST(SmOwners, WhatHasBegunOrIsParkedStays) {
  SmOwners owners(8, 2);
  owners.take(2, 1, 2);
  owners.park(1);
  EXPECT_TRUE(owners.any_parked());
  owners.deal(2);
  EXPECT_EQ(owners.of(1), 0) << "parked";
  EXPECT_EQ(owners.of(2), 0) << "taken";
  owners.unpark(1);
  owners.leave(2, 1, 2);
  owners.move(0, 1);
  owners.deal(2);
  EXPECT_EQ(owners.of(0), 0) << "what had to move comes home";
  EXPECT_EQ(owners.of(1), 1);
}

}  // namespace
}  // namespace raddle::machine
