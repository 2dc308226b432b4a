// Grids that write more than the host's caches hold: their stores go past them, wherever rows begin and
// however many lanes of a warp store, and whoever comes next sees them.
#include <cstdint>

#include "kernel_test.h"
#include "machine/shape/host.h"

namespace {

// out[t + shift] = 3 t for t < n; and then double[t] = 2 out[t]. out[i] = i for the i of rows.
constexpr const char* kLargeGrids = R"(.version 8.4
.target sm_90
.address_size 64
.visible .entry fill(.param .u64 out, .param .u32 shift, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %t, %b, %s, %n, %x;
  .reg .b64 %out;
  ld.param.u64 %out, [out];
  ld.param.u32 %s, [shift];
  ld.param.u32 %n, [n];
  mov.u32 %t, %tid.x;
  mov.u32 %b, %ctaid.x;
  mad.lo.u32 %t, %b, 256, %t;
  setp.ge.u32 %p, %t, %n;
  @%p ret;
  mul.lo.u32 %x, %t, 3;
  add.u32 %t, %t, %s;
  mad.wide.u32 %out, %t, 4, %out;
  st.global.u32 [%out], %x;
  ret;
}
.visible .entry rows(.param .u64 out, .param .u32 pitch)
{
  .reg .b32 %x, %y, %b, %p;
  .reg .b64 %out;
  ld.param.u64 %out, [out];
  ld.param.u32 %p, [pitch];
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  mov.u32 %b, %ctaid.x;
  mad.lo.u32 %y, %b, 8, %y;
  mad.lo.u32 %x, %y, %p, %x;
  mad.wide.u32 %out, %x, 4, %out;
  st.global.u32 [%out], %x;
  ret;
}
.visible .entry twice(.param .u64 to, .param .u64 from, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %t, %b, %n, %x;
  .reg .b64 %to, %from;
  ld.param.u64 %to, [to];
  ld.param.u64 %from, [from];
  ld.param.u32 %n, [n];
  mov.u32 %t, %tid.x;
  mov.u32 %b, %ctaid.x;
  mad.lo.u32 %t, %b, 256, %t;
  setp.ge.u32 %p, %t, %n;
  @%p ret;
  mad.wide.u32 %to, %t, 4, %to;
  mad.wide.u32 %from, %t, 4, %from;
  ld.global.u32 %x, [%from];
  add.u32 %x, %x, %x;
  st.global.u32 [%to], %x;
  ret;
}
.visible .entry behind_a_barrier(.param .u64 out, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %t, %i, %b, %n, %x, %y, %z, %w;
  .reg .b64 %out;
  .shared .align 4 .b8 tile[1024];
  ld.param.u64 %out, [out];
  ld.param.u32 %n, [n];
  mov.u32 %t, %tid.x;
  mov.u32 %b, %ctaid.x;
  mad.lo.u32 %i, %b, 256, %t;
  mov.u32 %y, tile;
  mad.lo.u32 %x, %t, 4, %y;
  st.shared.u32 [%x], %i;
  bar.sync 0;
  xor.b32 %t, %t, 255;
  mad.lo.u32 %x, %t, 4, %y;
  ld.shared.u32 %x, [%x];
  add.u32 %y, %x, 1;
  add.u32 %z, %x, 2;
  add.u32 %w, %x, 3;
  mad.wide.u32 %out, %i, 16, %out;
  setp.lt.u32 %p, %i, %n;
  @%p st.global.v4.u32 [%out], {%x, %y, %z, %w};
  ret;
}
)";

class PastCaches : public KernelTest {};
ON_EVERY_ENGINE(PastCaches);

TEST_P(PastCaches, ManyWords) {
  load_text(kLargeGrids);
  const auto fill = module().kernel("fill"), twice = module().kernel("twice");
  ASSERT_TRUE(fill.ok() && twice.ok());
  const auto words =  // the interpreter knows no caches, and would take long
      interpreted() ? 5000u : static_cast<std::uint32_t>(raddle::machine::largest_cache() / 4 + 12345);
  const unsigned blocks = (words + 255) / 256;
  auto out = buffer(std::vector<std::uint32_t>(words + 64)),
       doubled = buffer(std::vector<std::uint32_t>(words));
  for (const std::uint32_t shift : {0u, 1u, 16u, 21u}) {
    run(*fill, {.grid = {blocks}, .block = {256}}, out, shift, words);
    const auto seen = contents(out);
    for (std::uint32_t t = 0; t < words; ++t) ASSERT_EQ(seen[t + shift], 3 * t) << "shift " << shift;
    for (std::uint32_t t = words + shift; t < seen.size(); ++t)  // the last warp's other lanes
      ASSERT_EQ(seen[t], 0u) << "shift " << shift;
  }
  run(*fill, {.grid = {blocks}, .block = {256}}, out, 0u, words);
  run(*twice, {.grid = {blocks}, .block = {256}}, doubled, out, words);
  const auto seen = contents(doubled);
  for (std::uint32_t t = 0; t < words; ++t) ASSERT_EQ(seen[t], 6 * t);
}

// Warps end within rows, whose begins are no line's, nor a vector's where the pitch is odd.
TEST_P(PastCaches, RowsOfTheirOwn) {
  load_text(kLargeGrids);
  const auto kernel = module().kernel("rows");
  ASSERT_TRUE(kernel.ok());
  constexpr unsigned kWidth = 24, kRows = 8;  // of a block
  const unsigned blocks =
      interpreted() ? 9 : static_cast<unsigned>(raddle::machine::largest_cache() / 4 / kWidth / kRows) + 9;
  for (const std::uint32_t pitch : {kWidth, kWidth + 1, kWidth + 8}) {
    auto out = buffer(std::vector<std::uint32_t>(std::size_t{pitch} * kRows * blocks));
    run(*kernel, {.grid = {blocks}, .block = {kWidth, kRows}}, out, pitch);
    const auto seen = contents(out);
    for (std::uint32_t i = 0; i < seen.size(); ++i)
      ASSERT_EQ(seen[i], i % pitch < kWidth ? i : 0u) << "pitch " << pitch << ", word " << i;
  }
}

// A block's words come from its last thread to its first; few threads write as much as many do above.
TEST_P(PastCaches, BehindABarrier) {
  load_text(kLargeGrids);
  const auto kernel = module().kernel("behind_a_barrier");
  ASSERT_TRUE(kernel.ok());
  const auto threads =
      interpreted() ? 1285u : static_cast<std::uint32_t>(raddle::machine::largest_cache() / 16 + 1285);
  const unsigned blocks = (threads + 255) / 256;
  auto out = buffer(std::vector<std::uint32_t>(4 * threads));
  run(*kernel, {.grid = {blocks}, .block = {256}}, out, threads);
  const auto seen = contents(out);
  for (std::uint32_t t = 0; t < 4 * threads; ++t) ASSERT_EQ(seen[t], (t / 4 ^ 255) + t % 4) << t;
}

}  // namespace
