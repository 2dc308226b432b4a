// The functions that runs of products share.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "unit/jit/dump.h"

namespace raddle::jit {
namespace {

constexpr unsigned kAs = 2, kBs = 4, kOfMatrix = 4;

std::string registers_of(const char* name, unsigned matrix, unsigned count) {
  std::string all;
  for (unsigned i = 0; i < count; ++i)
    all += fmt::format("{}%{}{}", i == 0 ? "{" : ", ", name, matrix * kOfMatrix + i);
  return all + "}";
}

/// A kernel that multiplies every A by every B, in two runs.
std::string grid_of_products(const char* spelling, const char* sum) {
  std::string text = fmt::format(R"(.version 8.4
.target sm_89
.address_size 64
.visible .entry k(.param .u64 data) {{
 .reg .b64 %data; .reg .b32 %a<8>, %b<16>, %t; .reg .{} %d<32>;
 ld.param.u64 %data, [data];
 mov.u32 %t, %tid.x;
 mad.wide.u32 %data, %t, 4, %data;
)",
                                 sum);
  for (unsigned i = 0; i < 32; ++i)
    text += fmt::format(" ld.global.b32 %{}, [%data+{}];\n",
                        i < 8 ? fmt::format("a{}", i) : fmt::format("b{}", i % 16), i * 128);
  for (unsigned i = 0; i < 32; ++i)
    text += fmt::format(" ld.global.{} %d{}, [%data+{}];\n", sum, i, 4096 + i * 128);
  for (unsigned n = 0; n < kAs * kBs; ++n) {
    const std::string d = registers_of("d", n, 4);
    text += fmt::format(" mma.sync.aligned.{} {}, {}, {}, {};\n", spelling, d, registers_of("a", n / kBs, 4),
                        registers_of("b", n % kBs, 2), d);
  }
  for (unsigned i = 0; i < 32; ++i) text += fmt::format(" st.global.{} [%data+{}], %d{};\n", sum, i * 128, i);
  return text + " ret;\n}\n";
}

unsigned count_of(const std::string& text, const std::string& wanted) {
  unsigned count = 0;
  for (std::size_t at = 0; (at = text.find(wanted, at)) != std::string::npos; ++at) ++count;
  return count;
}

void expect_pieces(const char* spelling, const char* sum) {
  const std::string text = dump_of("ir", grid_of_products(spelling, sum),
                                   {.simd = SimdLevel::avx512, .tier = Tier::optimised}, {.block = {32}});
  const std::string define = "define internal void @raddle.run.", call = "call void @raddle.run.";
  EXPECT_EQ(count_of(text, define + "mma"), 2u) << spelling;
  EXPECT_EQ(count_of(text, define + "a."), 1u) << spelling;
  EXPECT_EQ(count_of(text, call + "a."), kAs) << spelling;
  EXPECT_EQ(count_of(text, define + "b."), 1u) << spelling;
  EXPECT_EQ(count_of(text, call + "b."), kBs) << spelling;
  EXPECT_EQ(count_of(text, define + "tile."), 1u) << spelling;
  EXPECT_EQ(count_of(text, call + "tile."), kAs * kBs / 2) << spelling;
}

TEST(MatrixPieces, AreWrittenOnceForAllRuns) {
  expect_pieces("m16n8k16.row.col.f32.f16.f16.f32", "f32");
  expect_pieces("m16n8k32.row.col.f32.e4m3.e5m2.f32", "f32");
}

}  // namespace
}  // namespace raddle::jit
