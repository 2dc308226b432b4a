// What is fetched ahead of a CTA's bulk loads.
#include "machine/tma/look_ahead.h"

#include <gtest/gtest.h>

namespace raddle::machine {
namespace {

struct Loads : ::testing::Test {
  Loads() { cta.launch = &launch; }

  void load(std::uint64_t from, std::uint32_t bytes = 4096, exec::BulkKind kind = {}) {
    ahead.note(cta, {.kind = kind.word(), .bytes = bytes, .global = from});
  }

  exec::LaunchContext launch{};
  exec::CtaContext cta{};
  LookAhead ahead;
};

TEST_F(Loads, AtOneDistanceAreExpectedToGoOn) {
  load(0x10000);
  load(0x30000);
  EXPECT_EQ(ahead.left(), 0u) << "two of any kind are at one distance";
  load(0x50000);
  EXPECT_EQ(ahead.next(), 0x70000u);
  EXPECT_EQ(ahead.left(), 4096u);
  ahead.go_on();
  EXPECT_EQ(ahead.next(), 0x70400u);
  for (int i = 0; i < 5; ++i) ahead.go_on();
  EXPECT_EQ(ahead.left(), 0u);
  load(0x70000);
  EXPECT_EQ(ahead.next(), 0x90000u);
  load(0x70000);
  EXPECT_EQ(ahead.left(), 0u) << "another distance";
}

TEST_F(Loads, BackwardsOrLargeOrOfOddSizes) {
  for (std::uint64_t from : {0x90000, 0x80000, 0x70000}) load(from, 48);
  EXPECT_EQ(ahead.next(), 0x60000u);
  ahead.go_on();
  EXPECT_EQ(ahead.left(), 0u);
  for (std::uint64_t from : {0x100000, 0x200000, 0x300000}) load(from, 200 << 10);
  EXPECT_EQ(ahead.left(), 64u << 10) << "no more than the caches should give";
}

TEST_F(Loads, OfOtherKindsAndOtherCtasAreNone) {
  for (std::uint64_t from : {0x10000, 0x20000, 0x30000}) load(from);
  for (std::uint64_t from : {0x40000, 0x50000})
    load(from, 4096, {.direction = exec::BulkDirection::to_global});
  load(0x40000, 4096, {.mode = exec::BulkMode::tile, .rank = 2});
  EXPECT_EQ(ahead.next(), 0x40000u) << "the stream of loads goes on";
  exec::CtaContext other{};
  other.launch = &launch;
  ahead.note(other, {.kind = exec::BulkKind{}.word(), .bytes = 4096, .global = 0x40000});
  EXPECT_EQ(ahead.left(), 0u);
  launch.asid = 3;
  for (std::uint64_t from : {0x10000, 0x20000, 0x30000}) load(from);
  EXPECT_EQ(ahead.left(), 0u) << "an address of a modelled space is none of the host";
}

}  // namespace
}  // namespace raddle::machine
