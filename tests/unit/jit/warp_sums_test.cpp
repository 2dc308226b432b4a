// What is left of a sum over a warp's lanes: equal parts once, and of one lane's no more than it needs.
#include <fmt/format.h>

#include <regex>

#include "unit/jit/dump.h"

namespace raddle::jit {
namespace {

/// Each warp's sum of a word of each lane, stored by all lanes or by the first.
std::string summing(const std::string& mode, const std::string& guard) {
  std::string steps;
  for (unsigned distance : {16, 8, 4, 2, 1})
    steps += fmt::format(" shfl.sync.{}.b32 %o, %x, {}, 31, -1;\n add.f32 %x, %x, %o;\n", mode, distance);
  return fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {{
 .reg .b64 %in, %out; .reg .b32 %t, %w, %x, %o; .reg .pred %q;
 ld.param.u64 %in, [in];
 ld.param.u64 %out, [out];
 mov.u32 %t, %tid.x;
 shr.u32 %w, %t, 5;
 mad.wide.u32 %in, %t, 4, %in;
 mad.wide.u32 %out, %w, 4, %out;
 ld.global.f32 %x, [%in];
{}
 and.b32 %t, %t, 31;
 setp.ne.u32 %q, %t, 0;
 {}
 st.global.f32 [%out], %x;
end:
 ret;
}})",
                     steps, guard);
}

std::string optimised(const std::string& ptx, SimdLevel level) {
  return dump_of("optimised", ptx, {.simd = level, .tier = Tier::optimised}, {.block = {64, 1, 1}});
}

unsigned count(const std::string& text, const char* what) {
  const std::regex wanted(what);
  return static_cast<unsigned>(std::distance(std::sregex_iterator(text.begin(), text.end(), wanted), {}));
}

TEST(WarpSums, OfAButterflyEqualPartsAreComputedOnce) {
  const std::string ptx = summing("bfly", "");
  EXPECT_EQ(count(optimised(ptx, SimdLevel::avx2), " fadd "), 6u);    // of 4 parts 2, then one
  EXPECT_EQ(count(optimised(ptx, SimdLevel::sse42), " fadd "), 9u);   // of 8 parts 4, 2, then one
  EXPECT_EQ(count(optimised(ptx, SimdLevel::avx512), " fadd "), 5u);  // of 2 parts one
}

TEST(WarpSums, OfAButterflyPartsAreNotJoined) {
  for (SimdLevel level : {SimdLevel::avx512, SimdLevel::avx2, SimdLevel::sse42}) {
    const auto joins = [&](const std::string& mode) {
      return count(dump_of("ir", summing(mode, ""), {.simd = level}, {.block = {64, 1, 1}}), "<32 x i32>");
    };
    EXPECT_EQ(joins("bfly"), 0u);
    EXPECT_GT(joins("down"), 0u);
  }
}

TEST(WarpSums, OfOneLaneNothingGoesThroughMemory) {
  const std::string ptx = summing("down", "@%q bra end;");
  EXPECT_EQ(count(optimised(ptx, SimdLevel::avx2), "%spill"), 0u);
  EXPECT_EQ(count(optimised(ptx, SimdLevel::sse42), "%spill"), 0u);
}

}  // namespace
}  // namespace raddle::jit
