// What the quick tier leaves out of the code that both tiers are made from.
#include <gtest/gtest.h>

#include <algorithm>

#include "dump.h"

namespace raddle::jit {
namespace {

constexpr const char* kLoop = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 turns)
{
  .reg .pred %p; .reg .b32 %t, %n, %sum; .reg .b64 %out;
  ld.param.u64 %out, [out];
  ld.param.u32 %n, [turns];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %out, %t, 4, %out;
  mov.u32 %sum, 0;
AGAIN:
  add.u32 %sum, %sum, %t;
  sub.u32 %n, %n, 1;
  setp.ne.u32 %p, %n, 0;
  @%p bra AGAIN;
  st.global.u32 [%out], %sum;
  ret;
})";

/// Lines of the form in which warps run together, as it goes to code generation; 0: there is none.
std::size_t lines_together(Tier tier) {
  const std::string text =
      dump_of("optimised", kLoop, {.tier = tier, .cache = false, .together = Together::wherever_possible},
              {.block = {64, 1, 1}});
  const std::size_t begin = text.find("@together.k(ptr");
  if (begin == text.npos) return 0;
  const std::string function = text.substr(begin, text.find("\n}", begin) - begin);
  return static_cast<std::size_t>(std::count(function.begin(), function.end(), '\n'));
}

TEST(QuickTier, WarpsRunByThemselves) { EXPECT_EQ(lines_together(Tier::quick), 3u); }

}  // namespace
}  // namespace raddle::jit
