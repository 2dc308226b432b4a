// How code finds the lanes that hold the same value.
#include <gtest/gtest.h>

#include <string>

#include "unit/jit/dump.h"

namespace raddle::jit {
namespace {

/// What the engine writes of a kernel, before LLVM optimises it.
std::string ir_of(const std::string& body) {
  return dump_of("ir",
                 ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n"
                 "{ .reg .b32 %v, %m; .reg .b64 %out; ld.param.u64 %out, [out]; mov.u32 %v, %tid.x;\n"
                 "mad.wide.u32 %out, %v, 4, %out;\n" +
                     body + "\nst.global.u32 [%out], %m; ret; }\n",
                 {.simd = SimdLevel::avx2, .tier = Tier::quick, .cache = false}, {.block = {64, 1, 1}});
}

// Each lane's value is compared with those of all, and what that gives stays in vectors: masks that become
// numbers, one for each lane, took half of a radix sort's ranking.
TEST(Match, ComparesInVectorsAlone) {
  const std::string text = ir_of("and.b32 %v, %v, 7; match.any.sync.b32 %m, %v, -1;");
  const std::size_t begin = text.find("\nmatch:"), end = text.find("\nmatched:");
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::string loop = text.substr(begin, end - begin);
  EXPECT_EQ(loop.find("bitcast <8 x i1>"), std::string::npos) << loop;
  EXPECT_NE(loop.find("or <8 x i32>"), std::string::npos) << loop;
}

}  // namespace
}  // namespace raddle::jit
