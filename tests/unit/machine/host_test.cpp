// What the host tells of its caches, and how much of it is believed.
#include "machine/shape/host.h"

#include <gtest/gtest.h>

namespace raddle::machine {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;

TEST(Host, CountsCpusOfAList) {
  EXPECT_EQ(count_cpus("0"), 1u);
  EXPECT_EQ(count_cpus("0-1\n"), 2u);
  EXPECT_EQ(count_cpus("0-7,64-71,80"), 17u);
  EXPECT_EQ(count_cpus(""), 0u);
}

TEST(Host, BelievesInAThirdCacheOfItsOwn) {
  EXPECT_EQ(largest_cache({.l2 = kMiB, .l3 = 32 * kMiB, .l3_cpus = 16}), 32 * kMiB);
  EXPECT_EQ(largest_cache({.l2 = kMiB, .l3 = 32 * kMiB, .l3_cpus = 2}), 32 * kMiB);
  EXPECT_EQ(largest_cache({.l2 = kMiB, .l3 = 40 * kMiB}), 40 * kMiB) << "nobody says who shares it";
}

// A virtual machine sees the whole cache of its host, whose other cores fill it.
TEST(Host, DoesNotCountOnACacheOfManyCores) {
  EXPECT_EQ(largest_cache({.l2 = 2 * kMiB, .l3 = 300 * kMiB, .l3_cpus = 2}), 32 * kMiB);
  EXPECT_EQ(largest_cache({.l2 = 64 * kMiB, .l3 = 300 * kMiB, .l3_cpus = 2}), 64 * kMiB);
}

TEST(Host, TakesACacheForGranted) { EXPECT_EQ(largest_cache({}), 32 * kMiB); }

}  // namespace
}  // namespace raddle::machine
