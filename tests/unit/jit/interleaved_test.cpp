// Values of several words that a load has taken apart, and that a store puts together as they were.
#include <fmt/format.h>

#include "unit/jit/dump.h"

namespace raddle::jit {
namespace {

/// @param body  %at is an address that steps by 16 bytes, %half one by 8
std::string optimised(const std::string& body, SimdLevel level = SimdLevel::avx512) {
  const std::string ptx = fmt::format(R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data, .param .f32 scale) {{
 .reg .b64 %at, %half; .reg .b32 %t, %x, %y, %z, %w; .reg .f32 %s, %f<4>; .reg .pred %p;
 ld.param.u64 %at, [data];
 ld.param.f32 %s, [scale];
 mov.u32 %t, %tid.x;
 mad.wide.u32 %half, %t, 8, %at;
 mad.wide.u32 %at, %t, 16, %at;
 {}
 ret;
}})",
                                      body);
  const EngineOptions options{.simd = level, .tier = Tier::optimised};
  return dump_of("optimised", ptx, options, {.block = {32}});
}

bool has(const std::string& text, const std::string& what) { return text.find(what) != text.npos; }

TEST(Interleaved, WordsThatAreTreatedAlikeStayWhereTheyAre) {
  for (const auto& [level, sum] : {std::pair(SimdLevel::avx512, "add <64 x i32>"),
                                   {SimdLevel::avx2, "add <32 x i32>"},
                                   {SimdLevel::sse42, "add <16 x i32>"}})
    EXPECT_TRUE(has(optimised("ld.global.v4.u32 {%x, %y, %z, %w}, [%at];"
                              "add.u32 %x, %x, 1; add.u32 %y, %y, 2; add.u32 %z, %z, 3; add.u32 %w, %w, 4;"
                              "st.global.v4.u32 [%at+8192], {%x, %y, %z, %w};",
                              level),
                    sum));
  EXPECT_TRUE(has(optimised("ld.global.v2.f32 {%f0, %f1}, [%half];"
                            "fma.rn.f32 %f0, %f0, %s, %s; fma.rn.f32 %f1, %f1, %s, %s;"
                            "st.global.v2.f32 [%half+8192], {%f0, %f1};"),
                  "@llvm.fma.v32f32("));
}

TEST(Interleaved, OthersAreTakenApart) {
  EXPECT_FALSE(has(optimised("ld.global.v4.u32 {%x, %y, %z, %w}, [%at];"
                             "add.u32 %x, %x, 1; add.u32 %y, %y, 2; add.u32 %z, %z, 3; add.u32 %w, %w, 4;"
                             "st.global.v4.u32 [%at+8192], {%y, %x, %z, %w};"),
                   "add <64 x i32>"))
      << "in another order";
  EXPECT_FALSE(has(optimised("ld.global.v2.u32 {%x, %y}, [%half];"
                             "add.u32 %x, %x, 1; xor.b32 %y, %y, 2;"
                             "st.global.v2.u32 [%half+8192], {%x, %y};"),
                   "<64 x i32> %"))
      << "by other operations";
}

}  // namespace
}  // namespace raddle::jit
