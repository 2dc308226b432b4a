// Binning: for each square of tiles, which triangles may touch it, in order. A warp makes a bin's list.
#include "graphics/kernels/draw.h"

using namespace raddle::graphics;

namespace {

struct Bin {
  unsigned x0, x1, y0, y1, layer;  ///< tiles, the last ones included
};

__device__ bool touches(const DrawData& draw, const Bin& bin, unsigned triangle, unsigned x, unsigned y) {
  const bool inside = (x & 0xffff) <= bin.x1 && x >> 16 >= bin.x0 && (y & 0xffff) <= bin.y1 && y >> 16 >= bin.y0;
  return inside && (draw.layers == 1 || draw.triangles[triangle].flags >> 16 == bin.layer);
}

/// Goes through all triangles in order. @returns how many touch the bin
template <bool kWrites>
__device__ unsigned gather(const DrawData& draw, const Bin& bin, unsigned groups, unsigned start) {
  const unsigned lane = threadIdx.x & 31;
  unsigned count = 0;
  for (unsigned group = 0; group < groups; ++group) {
    const Span span = draw.groups[group];
    for (unsigned i = 0; i < span.count; i += 32) {
      const unsigned triangle = span.start + i + lane;
      unsigned x = 0, y = 0;
      if (i + lane < span.count) x = draw.box_x[triangle], y = draw.box_y[triangle];
      const bool hit = i + lane < span.count && touches(draw, bin, triangle, x, y);
      const unsigned hits = __ballot_sync(0xffffffffu, hit);
      if (kWrites && hit) {
        const unsigned at = start + count + __popc(hits & ((1u << lane) - 1));
        draw.bin_entries[at] = triangle;
        draw.bin_x[at] = x, draw.bin_y[at] = y;
      }
      count += __popc(hits);
    }
  }
  return count;
}

}  // namespace

extern "C" __global__ void raddle_draw_bin(const __grid_constant__ DrawData draw) {
  const unsigned lane = threadIdx.x & 31, at = Loop::first() / 32;
  if (at >= draw.bins_x * draw.bins_y * draw.layers) return;
  const unsigned x = at % draw.bins_x, y = at / draw.bins_x % draw.bins_y, side = 1u << draw.bin_shift;
  const Bin bin{x * side, x * side + side - 1, y * side, y * side + side - 1, at / (draw.bins_x * draw.bins_y)};
  const unsigned groups = (places(draw) + kGroup - 1) / kGroup;
  unsigned count = gather<false>(draw, bin, groups, 0), start = 0;
  if (lane == 0 && count != 0) start = atomicAdd(&draw.counters.get()->bin_entries, count);
  start = __shfl_sync(0xffffffffu, start, 0);
  if (start + count > draw.bin_capacity) {
    if (lane == 0) report(draw.status, DrawError::bin_entries, start + count, draw.bin_capacity);
    count = 0;
  }
  if (lane == 0) draw.bins[at] = {start, count};
  if (count != 0) gather<true>(draw, bin, groups, start);
}
