// Loads whose coordinates are limited: which are vectors, if no lane that runs is held back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "jit/engine.h"
#include "ptx/parser.h"

namespace raddle::jit {
namespace {

/// Of a load at data[%i], where `index` makes %i of a thread's place in its block: whether it is none of the
/// operations that are not vectorised.
bool is_vector(const std::string& index, const exec::BlockShape& block) {
  const auto module = ptx::parse(fmt::format(R"(.version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 out, .param .u32 n) {{
 .reg .b64 %data, %out, %at; .reg .b32 %x, %y, %n, %i, %j; .reg .pred %p;
 ld.param.u64 %data, [data]; ld.param.u64 %out, [out]; ld.param.u32 %n, [n];
 mov.u32 %x, %tid.x; mov.u32 %y, %tid.y;
 {}
 mul.wide.s32 %at, %i, 4; add.s64 %at, %data, %at;
 ld.global.u32 %j, [%at];
 mad.lo.s32 %i, %y, 16, %x; mul.wide.s32 %at, %i, 4; add.s64 %at, %out, %at;
 st.global.u32 [%at], %j;
 ret;
}})",
                                             index));
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  const auto engine = make_engine({.simd = SimdLevel::avx512});
  const auto code = engine->compile(*module, 0, {.block = block});
  EXPECT_TRUE(code.ok()) << code.error().to_string();
  return code.ok() && (*code)->statistics.not_vectorised == 0;
}

TEST(Limits, OfRowsAreMadeOnScalars) {
  constexpr exec::BlockShape kSquare = {16, 16};
  EXPECT_TRUE(is_vector("add.s32 %j, %y, -1; max.s32 %j, %j, 0; mad.lo.s32 %i, %j, 16, %x;", kSquare));
  EXPECT_TRUE(is_vector("min.u32 %j, %y, %n; mad.lo.s32 %i, %j, 16, %x;", kSquare));
  EXPECT_TRUE(
      is_vector("setp.gt.u32 %p, %n, 3; selp.b32 %j, %y, %n, %p; mad.lo.s32 %i, %j, 16, %x;", kSquare));
}

TEST(Limits, OfColumnsAreLookedAtWhenTheLoadRuns) {
  for (const exec::BlockShape block : {exec::BlockShape{16, 16}, {32, 8}, {256}}) {
    EXPECT_TRUE(is_vector("add.s32 %j, %x, -1; max.s32 %j, %j, 0; mad.lo.s32 %i, %y, 16, %j;", block));
    EXPECT_TRUE(is_vector("add.s32 %j, %x, 1; max.s32 %j, %j, 0; min.s32 %i, %n, %j;", block));
    EXPECT_TRUE(is_vector("setp.gt.s32 %p, %x, %n; selp.b32 %i, %n, %x, %p;", block));
  }
}

TEST(Limits, OfOtherValuesAreGathers) {
  constexpr exec::BlockShape kSquare = {16, 16};
  EXPECT_FALSE(is_vector("mul.lo.s32 %j, %x, %x; min.s32 %i, %j, %n;", kSquare)) << "at no common distance";
  EXPECT_FALSE(is_vector("shl.b32 %j, %x, 1; min.s32 %i, %j, %n;", kSquare)) << "not side by side";
  EXPECT_FALSE(is_vector("xor.b32 %j, %x, 5; min.s32 %i, %j, %x;", kSquare)) << "no lanes share the limit";
}

}  // namespace
}  // namespace raddle::jit
