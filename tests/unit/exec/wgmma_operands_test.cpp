// Who finds what of wgmmas' B.
#include "exec/wgmma_operands.h"

#include <gtest/gtest.h>

namespace raddle::exec {
namespace {

struct Warpgroup {
  CtaContext cta{};
  WarpContext warps[4];
  WgmmaOperands operands;

  Warpgroup() {
    for (unsigned i = 0; i < 4; ++i) warps[i].cta = &cta, warps[i].warp_id = 4 + i;
  }
  /// Of the warp's next wgmma.
  std::uint64_t next(unsigned warp, std::uint64_t descriptor = 7, std::uint64_t code = 1) {
    return operands.next(warps[warp], descriptor, code, 1024);
  }
  bool finds(unsigned warp, std::uint64_t descriptor = 7, std::uint64_t code = 1) {
    return next(warp, descriptor, code) % 2 != 0;
  }
  void meet() { ++cta.barriers[kMaxBarriers + 1].generation; }
};

TEST(WgmmaOperands, AreFoundByTheOtherWarps) {
  Warpgroup group;
  const std::uint64_t first = group.next(2), second = group.next(2);
  EXPECT_EQ(first % 64, 0u);
  EXPECT_EQ(second - first, 1024u);
  for (const unsigned warp : {0u, 1u, 3u}) {
    EXPECT_EQ(group.next(warp), first + 1) << warp;
    EXPECT_EQ(group.next(warp), second + 1) << warp;
  }
}

TEST(WgmmaOperands, AreOfOneWgmma) {
  Warpgroup group;
  EXPECT_FALSE(group.finds(0));
  EXPECT_FALSE(group.finds(1, 8));     // another matrix
  EXPECT_FALSE(group.finds(2, 8, 2));  // unpacked otherwise
  EXPECT_TRUE(group.finds(3, 8, 2));
  EXPECT_FALSE(group.finds(0));  // the same matrix again, which may hold something else
  group.meet();
  EXPECT_FALSE(group.finds(1));
  EXPECT_TRUE(group.finds(0));  // the warps count from where they met
  group.operands.clear();
  EXPECT_FALSE(group.finds(2));
}

TEST(WgmmaOperands, AreForgottenWhenManyFollow) {
  Warpgroup group;
  for (unsigned i = 0; i < 9; ++i) EXPECT_FALSE(group.finds(0));
  EXPECT_FALSE(group.finds(1));
  for (unsigned i = 1; i < 8; ++i) EXPECT_TRUE(group.finds(1)) << i;
}

TEST(WgmmaOperands, TakeMoreMemoryWhereNeeded) {
  Warpgroup group;
  EXPECT_FALSE(group.finds(0));
  const std::uint64_t place = group.operands.next(group.warps[1], 7, 1, 4096);
  EXPECT_EQ(place % 64, 0u);  // what was known lay elsewhere
}

}  // namespace
}  // namespace raddle::exec
