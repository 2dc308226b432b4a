// Which branches of warps that run together scalars decide, on hosts without mask registers: those by a limit
// that lanes at constant distances are below.
#include <fmt/format.h>

#include "unit/jit/dump.h"

namespace raddle::jit {
namespace {

/// Whether one scalar number may decide the loop's branch, before LLVM.
/// @param end  compares, and branches to TURN or falls through: %i steps by one from lane to lane, %down by
/// minus one, %wide is %i in 64 bits, %n the limit
bool is_decided(const std::string& end, SimdLevel simd = SimdLevel::avx2) {
  const std::string text = dump_of("ir",
                                   fmt::format(R"(.version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {{
 .reg .b32 %t, %i, %down, %w, %n, %x, %sum; .reg .b64 %in, %out, %at, %wide, %n64; .reg .pred %p, %q;
 .reg .f32 %f, %g;
 ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u32 %n, [n];
 mov.u32 %t, %tid.x; mov.u32 %w, %ntid.x; mov.u32 %i, %t; mov.u32 %sum, 0; cvt.u64.u32 %n64, %n;
 setp.eq.u32 %q, %n, 7; cvt.rn.f32.u32 %g, %n;
TURN:
 mul.wide.s32 %at, %i, 4; add.s64 %at, %in, %at;
 ld.global.u32 %x, [%at];
 add.u32 %sum, %sum, %x; add.s32 %i, %i, %w;
 neg.s32 %down, %t; mul.wide.u32 %wide, %t, 4; cvt.rn.f32.u32 %f, %t;
 {}
 mul.wide.u32 %at, %t, 4; add.s64 %at, %out, %at;
 st.global.u32 [%at], %sum;
 ret;
}})",
                                               end),
                                   {.simd = simd, .tier = Tier::optimised}, {.block = {128}});
  EXPECT_NE(text.find("apart:"), std::string::npos) << "warps do not run together: " << end;
  return text.find("at_limit:") != std::string::npos;
}

TEST(LaneLimits, DecideWhereNumbersStepUp) {
  EXPECT_TRUE(is_decided("setp.lt.s32 %p, %i, %n; @%p bra TURN;"));
  EXPECT_TRUE(is_decided("setp.le.u32 %p, %i, %n; @%p bra TURN;"));
  EXPECT_TRUE(is_decided("setp.ge.s32 %p, %i, %n; @!%p bra TURN;"));
  EXPECT_TRUE(is_decided("setp.gt.s32 %p, %i, 1000; @%p bra DONE; bra.uni TURN; DONE:"));
}

TEST(LaneLimits, NotOthers) {
  EXPECT_FALSE(is_decided("setp.lt.s32 %p, %i, %n; @%p bra TURN;", SimdLevel::avx512)) << "masks are cheap";
  EXPECT_FALSE(is_decided("setp.ne.s32 %p, %i, %n; @%p bra TURN;")) << "no order";
  EXPECT_FALSE(is_decided("setp.lt.s32 %p, %down, %n; @%p bra TURN;")) << "the first lane is the highest";
  EXPECT_FALSE(is_decided("setp.lt.s32 %p, %i, %sum; @%p bra TURN;")) << "each lane has its limit";
  EXPECT_FALSE(is_decided("setp.lt.s32 %p, %sum, %n; @%p bra TURN;")) << "lanes lie anywhere";
  EXPECT_FALSE(is_decided("setp.lt.u64 %p, %wide, %n64; @%p bra TURN;")) << "64 bits may wrap";
  EXPECT_FALSE(is_decided("setp.lt.f32 %p, %f, %g; @%p bra TURN;")) << "no integers";
  EXPECT_FALSE(is_decided("setp.lt.and.s32 %p, %i, %n, %q; @%p bra TURN;")) << "another condition";
  EXPECT_FALSE(is_decided("setp.lt.s32 %p, %t, %sum; @%q setp.lt.s32 %p, %i, %n; @%p bra TURN;"))
      << "compared by a guard";
  EXPECT_FALSE(is_decided("setp.lt.s32 %p, %i, %n; mov.u32 %x, 0; @%p bra TURN;")) << "something between";
  EXPECT_FALSE(is_decided("setp.lt.s32 %p, %t, %sum; setp.lt.s32 %q, %i, %n; @%p bra TURN;"))
      << "another comparison";
  EXPECT_FALSE(is_decided("@%q bra OVER; setp.lt.s32 %p, %i, %n; OVER: @%p bra TURN;")) << "another block";
}

}  // namespace
}  // namespace raddle::jit
