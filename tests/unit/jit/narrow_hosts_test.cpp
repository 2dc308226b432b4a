// What hosts without AVX-512 are spared: masks of memory accesses where all lanes make them, gathers lane by
// lane, the C library's multiply-adds.
#include <fmt/format.h>

#include "unit/jit/dump.h"

namespace raddle::jit {
namespace {

/// Of one block of 32 threads, of which those below `n` execute `body`: %at is an address that steps by the
/// bytes of an element, %far one that does not.
std::string optimised(SimdLevel level, const char* body, unsigned bytes = 4) {
  const std::string ptx = fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data, .param .u32 n) {{
 .reg .b64 %at, %far; .reg .b32 %t, %n, %x; .reg .b16 %h; .reg .f32 %f; .reg .pred %p;
 ld.param.u64 %at, [data];
 ld.param.u32 %n, [n];
 mov.u32 %t, %tid.x;
 mad.wide.u32 %at, %t, {}, %at;
 setp.ge.u32 %p, %t, %n;
 @%p bra done;
 {}
done:
 ret;
}})",
                                      bytes, body);
  const EngineOptions options{.simd = level, .tier = Tier::optimised};
  return dump_of("optimised", ptx, options, {.block = {32}});
}

bool holds_text(const std::string& text, const std::string& what) { return text.find(what) != text.npos; }

TEST(NarrowHosts, WholeWarpsAccessMemoryWithoutMasks) {
  const char* kBody = "ld.global.u32 %x, [%at]; add.u32 %x, %x, 7; st.global.u32 [%at], %x;";
  const std::pair<SimdLevel, const char*> kLevels[] = {{SimdLevel::avx2, "<8 x i32>"},
                                                       {SimdLevel::sse42, "<4 x i32>"}};
  for (const auto& [level, vector] : kLevels) {
    const std::string text = optimised(level, kBody);
    EXPECT_TRUE(holds_text(text, fmt::format("load {}, ptr", vector))) << text;
    EXPECT_TRUE(holds_text(text, fmt::format("store {} ", vector))) << text;
    EXPECT_TRUE(holds_text(text, "@llvm.masked.load")) << "some lanes alone may do so, too";
    EXPECT_TRUE(holds_text(text, "@llvm.masked.store"));
  }
}

TEST(NarrowHosts, SmallElementsHaveNoMasksEither) {
  const std::string text =
      optimised(SimdLevel::avx2, "ld.global.u16 %h, [%at]; add.u16 %h, %h, 7; st.global.u16 [%at], %h;", 2);
  EXPECT_TRUE(holds_text(text, "load <8 x i16>, ptr")) << text;
  EXPECT_TRUE(holds_text(text, "store <8 x i16> "));
}

TEST(NarrowHosts, VolatileRowsOfWholeWarpsHaveNoMasks) {
  const std::string text = optimised(SimdLevel::avx2, R"(.shared .align 4 .b8 tile[128];
 mov.u32 %x, tile; mad.lo.u32 %t, %t, 4, %x;
 st.volatile.shared.u32 [%t], %n; ld.volatile.shared.u32 %x, [%t]; st.global.u32 [%at], %x;)");
  EXPECT_TRUE(holds_text(text, "%unmaskedload = load <8 x i32>, ptr")) << text;  // LLVM names it so
}

TEST(NarrowHosts, GathersOfAvx2AreInstructions) {
  const char* kBody = R"(ld.global.u32 %x, [%at]; mul.wide.u32 %far, %x, 4; add.u64 %far, %far, %at;
 ld.global.u32 %x, [%far]; st.global.u32 [%at], %x;)";
  EXPECT_TRUE(holds_text(optimised(SimdLevel::avx2, kBody), "+fast-gather"));
}

TEST(NarrowHosts, GathersOfAvx2AddAndMultiplyByThemselves) {
  const std::string text = optimised(SimdLevel::avx2, R"(.reg .b64 %base; ld.param.u64 %base, [data];
 ld.global.u32 %x, [%at]; mul.wide.s32 %far, %x, 4; add.u64 %far, %far, %base;
 ld.global.u32 %x, [%far]; st.global.u32 [%at], %x;)");
  EXPECT_TRUE(holds_text(text, "call <8 x i32> @llvm.masked.gather.v8i32.v8p0(")) << text;
  EXPECT_FALSE(holds_text(text, "call <4 x i32> @llvm.masked.gather.")) << text;
}

TEST(NarrowHosts, NoOneCallsTheCLibraryForMultiplyAdds) {
  const char* kBody = "ld.global.f32 %f, [%at]; fma.rn.f32 %f, %f, %f, %f; st.global.f32 [%at], %f;";
  EXPECT_TRUE(holds_text(optimised(SimdLevel::avx2, kBody), "call <8 x float> @llvm.fma"));
  const std::string text = optimised(SimdLevel::sse42, kBody);
  EXPECT_FALSE(holds_text(text, "call <4 x float> @llvm.fma")) << text;
  EXPECT_TRUE(holds_text(text, "call void @fused("));
}

/// Of the four parts of a warp two are the first operands of what the other two compute as well.
TEST(NarrowHosts, LanesThatExchangeMaximaComputeThemOnce) {
  const std::string text = optimised(SimdLevel::avx2, R"(.reg .f32 %g; ld.global.f32 %f, [%at];
 shfl.sync.bfly.b32 %g, %f, 16, 31, -1; max.f32 %f, %f, %g; st.global.f32 [%at], %f;)");
  const std::string call = "call <8 x float> @llvm.x86.avx.max.ps.256(";
  unsigned calls = 0;
  for (auto at = text.find(call); at != text.npos; at = text.find(call, at + 1)) ++calls;
  EXPECT_EQ(calls, 4) << text;  // in both orders
}

}  // namespace
}  // namespace raddle::jit
