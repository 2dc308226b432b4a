// Loads of neighbours whose coordinates are limited to the image: by min, max and selp, in blocks as wide as
// a vector and as a warp, where all, some and none of a vector's lanes are at a limit.
#include <cstdint>

#include "kernel_test.h"

namespace {

// Thread (x, y) of a block: out[y][x] = the sum of the image's left, right, upper and lower neighbour, each
// limited to the image and weighted, where first <= x < end; two of them from shared memory.
constexpr const char* kNeighbours = R"(.version 8.4
.target sm_90
.address_size 64
.visible .entry sums(.param .u64 in, .param .u64 out, .param .u32 last, .param .u32 first, .param .u32 end)
{
  .reg .pred %p;
  .reg .b32 %x, %y, %n, %last, %first, %end, %l, %r, %u, %d, %i, %v, %sum, %tile, %at;
  .reg .b64 %in, %out, %a;
  .shared .align 16 .b8 tile[4096];
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  ld.param.u32 %last, [last];
  ld.param.u32 %first, [first];
  ld.param.u32 %end, [end];
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  mov.u32 %n, %ntid.x;
  mov.u32 %tile, tile;
  mad.lo.s32 %i, %y, %n, %x;
  mul.wide.s32 %a, %i, 4;
  add.s64 %out, %out, %a;
  add.s64 %a, %in, %a;
  ld.global.u32 %v, [%a];
  shl.b32 %at, %i, 2;
  add.s32 %at, %tile, %at;
  st.shared.u32 [%at], %v;
  bar.sync 0;
  setp.lt.s32 %p, %x, %first;
  @%p bra DONE;
  setp.ge.s32 %p, %x, %end;
  @%p bra DONE;
  add.s32 %l, %x, -1;
  max.s32 %l, %l, %first;
  add.s32 %r, %x, 1;
  setp.gt.s32 %p, %r, %last;
  selp.b32 %r, %last, %r, %p;
  add.s32 %u, %y, -1;
  max.s32 %u, %u, 0;
  add.s32 %d, %y, 1;
  min.s32 %d, %d, 3;
  mad.lo.s32 %i, %y, %n, %l;
  mul.wide.s32 %a, %i, 4;
  add.s64 %a, %in, %a;
  ld.global.u32 %sum, [%a];
  mad.lo.s32 %i, %y, %n, %r;
  shl.b32 %i, %i, 2;
  add.s32 %i, %tile, %i;
  ld.shared.u32 %v, [%i];
  mad.lo.s32 %sum, %v, 3, %sum;
  mad.lo.s32 %i, %u, %n, %x;
  shl.b32 %i, %i, 2;
  add.s32 %i, %tile, %i;
  ld.shared.u32 %v, [%i];
  mad.lo.s32 %sum, %v, 5, %sum;
  mad.lo.s32 %i, %d, %n, %x;
  mul.wide.s32 %a, %i, 4;
  add.s64 %a, %in, %a;
  ld.global.u32 %v, [%a];
  mad.lo.s32 %sum, %v, 7, %sum;
  st.global.u32 [%out], %sum;
DONE:
  ret;
}
)";

class Limits : public KernelTest {};
ON_EVERY_ENGINE(Limits);

std::vector<std::uint32_t> sums(const std::vector<std::uint32_t>& in, int width, int last, int first,
                                int end) {
  std::vector<std::uint32_t> out(in.size());
  for (int y = 0; y < 4; ++y)
    for (int x = first; x < std::min(end, width); ++x) {
      const auto at = [&](int column, int row) { return in[static_cast<std::size_t>(row * width + column)]; };
      out[static_cast<std::size_t>(y * width + x)] =
          at(std::max(x - 1, first), y) + 3 * at(std::min(x + 1, last), y) + 5 * at(x, std::max(y - 1, 0)) +
          7 * at(x, std::min(y + 1, 3));
    }
  return out;
}

TEST_P(Limits, HoldLanesBack) {
  load_text(kNeighbours);
  for (const int width : {8, 16, 20, 32, 64}) {
    std::vector<std::uint32_t> image(static_cast<std::size_t>(width) * 4);
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::uint32_t>(i * i + 11);
    struct Case {
      int last, first, end;
    };
    for (const auto& [last, first, end] : {Case{width - 1, 0, width},
                                           {width - 1, 1, width - 1},
                                           {5, 0, width},
                                           {width - 1, 3, width},
                                           {width - 3, 2, width - 2},
                                           {0, 0, 0}}) {
      auto in = buffer(image), out = buffer(std::vector<std::uint32_t>(image.size()));
      run(*module().kernel("sums"), {.grid = {1}, .block = {static_cast<std::uint32_t>(width), 4}}, in, out,
          last, first, end);
      EXPECT_EQ(contents(out), sums(image, width, last, first, end))
          << width << ", up to " << last << ", " << first << " to " << end;
    }
  }
}

}  // namespace
