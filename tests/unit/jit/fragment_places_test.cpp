// Matrices that follow each other lie in one place (src/jit/fragment_places.cpp), and a whole warp's loads of
// them are vectors.
#include <fmt/format.h>

#include "unit/jit/dump.h"

namespace raddle::jit {
namespace {

std::string registers_of_matrix(char name, unsigned number) {
  std::string text = "{";
  for (unsigned i = 0; i < 8; ++i) text += fmt::format("{}%{}{}", i ? ", " : "", name, number * 8 + i);
  return text + "}";
}

/// Products that each add to the one before, of matrices loaded for each.
std::string chain_of_products(unsigned count) {
  std::string body;
  for (unsigned n = 0; n < count; ++n)
    body += fmt::format(
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {}, [%in+{}];\n"
        "wmma.load.b.sync.aligned.row.m16n16k16.global.f16 {}, [%in+{}];\n"
        "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 {}, {}, {}, {};\n",
        registers_of_matrix('a', n), n * 512, registers_of_matrix('b', n), n * 512 + 256,
        registers_of_matrix('d', n + 1), registers_of_matrix('a', n), registers_of_matrix('b', n),
        registers_of_matrix('d', n));
  return fmt::format(R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {{
 .reg .b32 %a<{0}>, %b<{0}>; .reg .f32 %d<{0}>; .reg .b64 %in, %out;
 ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
 wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {1}, [%out];
 {2} wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%out], {3};
 ret;
}})",
                     8 * (count + 1), registers_of_matrix('d', 0), body, registers_of_matrix('d', count));
}

unsigned occurrences(const std::string& text, const std::string& what) {
  unsigned count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(FragmentPlaces, MatricesOfAChainShareThem) {
  const std::string text = dump_of("ir", chain_of_products(20), {.tier = Tier::optimised}, {.block = {32}});
  EXPECT_LE(occurrences(text, " = alloca [1024 x i8]"), 6) << "20 sums, 40 matrices";
  EXPECT_EQ(occurrences(text, "call void @raddle.wmma"), 20);
}

TEST(FragmentPlaces, LoadsOfAWholeWarpAreVectors) {
  const std::string text = dump_of("ir", chain_of_products(1), {.tier = Tier::optimised}, {.block = {32}});
  EXPECT_EQ(occurrences(text, "load volatile <4 x i32>"), 32)
      << "four lanes of a row of A, four registers twice";
  EXPECT_EQ(occurrences(text, "load volatile <8 x i16>"), 32) << "rows of B, transposed";
}

}  // namespace
}  // namespace raddle::jit
