// The rasteriser: a warp draws a tile of 8 x 8 pixels, each lane two of them. Edge functions are integers, so
// a sample on a shared edge belongs to exactly one triangle (top-left rule). What is visible becomes quads
// for the pixel shader.
//
// Where neither blending nor the shader looks at what lies behind, only the last visible triangle of each
// sample is kept and shaded (DrawData::in_order is 0); otherwise all fragments are, in order, and the tile is
// drawn twice: to count, to write.
#include "graphics/kernels/tests.h"

using namespace raddle::graphics;

namespace {

constexpr unsigned kAll = 0xffffffffu;

/// What a warp keeps of its tile in shared memory, and where a lane's two pixels lie. Values of half h are at
/// h * 32 + lane.
struct Lane {
  unsigned lane;
  int x, y;          ///< pixel of the first half; the second lies four rows below
  float* depth;      ///< of sample s from s * 64 on
  unsigned* winner;  ///< triangle of each sample
  unsigned* stencil;
  unsigned* count;   ///< fragments of each pixel's quad so far
  unsigned* extra;   ///< where the quad's fragments behind the first go
};

/// Whether a lane's pixel may be drawn.
__device__ bool inside(const DrawData& draw, const Lane& lane, unsigned half) {
  const int y = lane.y + static_cast<int>(half) * 4;
  return lane.x >= draw.left && lane.x < draw.right && y >= draw.top && y < draw.bottom;
}

/// The edges of a triangle at a tile, in whole pixels: value at the lane's column and row 0, and steps.
struct Edge {
  int from, across, down;
};

/// The edge from corner a to b. Inside is 0 or more. Values far from 0 are cut: they keep their sign in the
/// tile.
__device__ Edge edge_at(int ax, int ay, int bx, int by, int x, int y) {
  const int dx = bx - ax, dy = by - ay;
  const long long bias = dy < 0 || (dy == 0 && dx > 0) ? 0 : -1;
  const long long value =
      (static_cast<long long>(dx) * (y - ay) - static_cast<long long>(dy) * (x - ax) + bias) >> 8;
  constexpr long long kFar = 1 << 29;
  return {static_cast<int>(value > kFar ? kFar : value < -kFar ? -kFar : value), -dy, dx};
}

/// Draws a triangle's sample s in both halves. @returns, in bit h, whether the sample of half h is covered
/// and passes
__device__ unsigned draw_sample(const DrawData& draw, const Tile& tile, Lane& lane, const Triangle& triangle,
                                unsigned index, unsigned s) {
  const SamplePlace place = sample_place(draw.samples, s);
  const int x = static_cast<int>(tile.x * kTile) * kSubPixels + kSubPixels / 2 + place.x * (kSubPixels / 16);
  const int y = static_cast<int>(tile.y * kTile) * kSubPixels + kSubPixels / 2 + place.y * (kSubPixels / 16);
  const int column = pixel_x(lane.lane), row = pixel_y(lane.lane, 0);
  int value[3], down[3];
#pragma unroll
  for (int e = 0; e < 3; ++e) {
    const int next = e == 2 ? 0 : e + 1;
    const Edge edge = edge_at(triangle.x[e], triangle.y[e], triangle.x[next], triangle.y[next], x, y);
    value[e] = edge.from + edge.across * column + edge.down * row;
    down[e] = edge.down * 4;
  }
  const float fx = static_cast<float>(x - triangle.x[0] + column * kSubPixels) * (1.0f / kSubPixels);
  const float z0 = fmaf(triangle.depth[1], fx, triangle.depth[0]);
  unsigned drawn = 0;
#pragma unroll 1
  for (unsigned half = 0; half < 2; ++half) {
    const bool covered = inside(draw, lane, half) && (value[0] | value[1] | value[2]) >= 0;
#pragma unroll
    for (int e = 0; e < 3; ++e) value[e] += down[e];
    if (draw.early_tests == 0) {
      drawn |= covered ? 1u << half : 0;
      continue;
    }
    const unsigned at = (s * 2 + half) * 32 + lane.lane;
    const float fy =
        static_cast<float>(y - triangle.y[0] + (row + static_cast<int>(half) * 4) * kSubPixels) * (1.0f / kSubPixels);
    const float z = fminf(fmaxf(fmaf(triangle.depth[2], fy, z0), draw.least_depth), draw.greatest_depth);
    float depth = lane.depth[at];
    unsigned stencil = draw.stencil.test != 0 ? lane.stencil[at] : 0;
    if (covered && test_sample(draw, (triangle.flags & 1) != 0, z, depth, stencil)) {
      drawn |= 1u << half;
      lane.winner[at] = index;
    }
    if (covered) {
      lane.depth[at] = depth;
      if (draw.stencil.test != 0) lane.stencil[at] = stencil;
    }
  }
  return drawn;
}

/// Each quad of a tile that anything shows in has a first fragment for each pixel, covered or not, in the
/// tile's order; these are written in whole vectors.
__device__ void put_first(const DrawData& draw, const Span& mine, const Lane& lane, unsigned half, unsigned triangle,
                          unsigned coverage) {
  const unsigned at = mine.start * 4 + half * 32 + lane.lane;
  draw.coverage[at] = static_cast<std::uint8_t>(coverage);
  draw.fragment_triangle[at] = triangle;
  draw.fragment_place[at] = static_cast<unsigned>(lane.x) | (static_cast<unsigned>(lane.y) + half * 4) << 16;
}

/// Any fragment: the `number`th of its quad, from 0 on.
__device__ void put(const DrawData& draw, const Span& mine, const Lane& lane, unsigned half, unsigned number,
                    unsigned triangle, unsigned coverage) {
  const unsigned extra = (lane.extra[half * 32 + lane.lane] + number - 1) * 4 + (lane.lane & 3);
  const unsigned at = number == 0 ? mine.start * 4 + half * 32 + lane.lane : extra;
  draw.coverage[at] = static_cast<std::uint8_t>(coverage);
  draw.fragment_triangle[at] = triangle;
  draw.fragment_place[at] = static_cast<unsigned>(lane.x) | (static_cast<unsigned>(lane.y) + half * 4) << 16;
}

/// Draws all triangles of the bin that touch the tile, in order. If it `writes`, fragments go to the quads'
/// lists from `start` on; else they are counted, if order counts, or leave a winner for each sample.
__device__ void draw_all(const DrawData& draw, const Tile& tile, Lane& lane, const Span& list, bool writes,
                         const Span& mine) {
  for (unsigned i = 0; i < list.count; i += 32) {
    const unsigned at = i + lane.lane;
    bool hit = at < list.count;
    if (hit) {
      const unsigned x = draw.bin_x[list.start + at], y = draw.bin_y[list.start + at];
      hit = (x & 0xffff) <= tile.x && x >> 16 >= tile.x && (y & 0xffff) <= tile.y && y >> 16 >= tile.y;
    }
    for (unsigned hits = __ballot_sync(kAll, hit); hits != 0; hits &= hits - 1) {
      const unsigned index = draw.bin_entries[list.start + i + __ffs(hits) - 1];
      const Triangle& triangle = draw.triangles[index];
      unsigned coverage[2] = {0, 0};
      for (unsigned s = 0; s < draw.samples; ++s) {
        const unsigned drawn = draw_sample(draw, tile, lane, triangle, index, s);
        coverage[0] |= (drawn & 1) << s;
        coverage[1] |= (drawn >> 1) << s;
      }
      if (draw.in_order == 0) continue;
#pragma unroll 1
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned mine_covered = half == 0 ? coverage[0] : coverage[1];
        const unsigned any = __ballot_sync(kAll, mine_covered != 0) >> (lane.lane & 28) & 15;
        unsigned& count = lane.count[half * 32 + lane.lane];
        if (any == 0) continue;
        if (writes) put(draw, mine, lane, half, count, index, mine_covered);
        ++count;
      }
    }
  }
}

/// What is left of the samples: a fragment for each triangle that shows in a quad. All lanes go on until all
/// quads are done. @param some a triangle for pixels that nothing shows in
__device__ void winners(const DrawData& draw, Lane& lane, bool writes, const Span& mine, unsigned some) {
#pragma unroll 1
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned* const winner = lane.winner + half * 32 + lane.lane;
    unsigned left = 0, count = 0;
    for (unsigned s = 0; s < draw.samples; ++s)
      if (winner[s * 64] != kNone) left |= 1u << s;
    for (unsigned number = 0; number == 0 || __any_sync(kAll, left != 0); ++number) {
      unsigned first = kNone;
      for (unsigned s = 0; s < draw.samples; ++s)
        if ((left >> s & 1) != 0) first = min(first, winner[s * 64]);
      first = min(first, __shfl_xor_sync(kAll, first, 1));
      first = min(first, __shfl_xor_sync(kAll, first, 2));
      unsigned coverage = 0;
      for (unsigned s = 0; s < draw.samples; ++s)
        if ((left >> s & 1) != 0 && winner[s * 64] == first) coverage |= 1u << s;
      if (writes && number == 0) put_first(draw, mine, lane, half, first == kNone ? some : first, coverage);
      if (writes && number != 0 && first != kNone) put(draw, mine, lane, half, number, first, coverage);
      count += first != kNone;
      left &= ~coverage;
    }
    lane.count[half * 32 + lane.lane] = count;
  }
}

__device__ void load(const DrawData& draw, const Tile& tile, Lane& lane) {
#pragma unroll 1
  for (unsigned half = 0; half < 2; ++half) {
    const bool there = draw.early_tests != 0 && inside(draw, lane, half);
    lane.count[half * 32 + lane.lane] = 0;
#pragma unroll 1
    for (unsigned s = 0; s < draw.samples; ++s) {
      const unsigned at = (s * 2 + half) * 32 + lane.lane, slice = tile.layer * draw.samples + s;
      lane.winner[at] = kNone;
      if (draw.depth.test != 0) lane.depth[at] = there ? *depth_at(draw, lane.x, lane.y + half * 4, slice) : 0;
      if (draw.stencil.test != 0) lane.stencil[at] = there ? *stencil_at(draw, lane.x, lane.y + half * 4, slice) : 0;
    }
  }
}

__device__ void store(const DrawData& draw, const Tile& tile, const Lane& lane) {
#pragma unroll 1
  for (unsigned half = 0; half < 2; ++half) {
    if (!inside(draw, lane, half)) continue;
#pragma unroll 1
    for (unsigned s = 0; s < draw.samples; ++s) {
      const unsigned at = (s * 2 + half) * 32 + lane.lane, slice = tile.layer * draw.samples + s;
      if (draw.depth.test != 0 && draw.depth.write != 0) *depth_at(draw, lane.x, lane.y + half * 4, slice) = lane.depth[at];
      if (draw.stencil.test != 0)
        *stencil_at(draw, lane.x, lane.y + half * 4, slice) = static_cast<std::uint8_t>(lane.stencil[at]);
    }
  }
}

/// Where each quad's fragments behind the first go, from `start` on, in quads. Those that fill the last warp
/// cover nothing.
__device__ void place_extras(const DrawData& draw, const Tile& tile, Lane& lane, unsigned start, unsigned some) {
  unsigned used = 0;
#pragma unroll 1
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned count = lane.count[half * 32 + lane.lane], mine = count > 1 ? count - 1 : 0;
    unsigned sum = mine;  // the lanes of a quad have the same
    for (unsigned step = 4; step < 32; step *= 2) {
      const unsigned other = __shfl_up_sync(kAll, sum, step);
      if (lane.lane >= step) sum += other;
    }
    const unsigned at = start + used + sum - mine;
    lane.extra[half * 32 + lane.lane] = at;
    if ((lane.lane & 3) == 0) draw.extras[tile.quads + half * 8 + lane.lane / 4] = {at, mine};
    used += __shfl_sync(kAll, sum, 31);
  }
  const unsigned left = (8 - used % 8) % 8 * 4;
  if (lane.lane >= left) return;
  const unsigned at = (start + used) * 4 + lane.lane;
  draw.coverage[at] = 0;
  draw.fragment_triangle[at] = some;
  draw.fragment_place[at] = static_cast<unsigned>(lane.x) | static_cast<unsigned>(lane.y) << 16;
}

/// Room for the fragments of the tile, whole warps of them; they are lost if there is none. DrawData::tiles
/// says where.
__device__ void reserve(const DrawData& draw, const Tile& tile, Lane& lane, unsigned some) {
  const unsigned a = lane.count[lane.lane], b = lane.count[32 + lane.lane];
  unsigned extras = 0;
  if (__any_sync(kAll, a > 1 || b > 1)) {
    extras = (lane.lane & 3) == 0 ? (a > 1 ? a - 1 : 0) + (b > 1 ? b - 1 : 0) : 0;
    for (unsigned step = 4; step < 32; step *= 2) extras += __shfl_xor_sync(kAll, extras, step);
    extras = (__shfl_sync(kAll, extras, 0) + 7) & ~7u;
  }
  if (lane.lane == 0) {
    const unsigned total = kTilePixels / 4 + extras;
    const unsigned base = atomicAdd(&draw.counters.get()->quads, total);
    const bool fits = base + total <= draw.quad_capacity;
    draw.tiles[tile.index] = {base, fits ? total : 0};
    if (!fits) {  // nothing behind this place is there
      atomicMax(&draw.counters.get()->lost_quads, draw.quad_capacity - min(base, draw.quad_capacity));
      report(draw.status, DrawError::fragment_quads, base + total, draw.quad_capacity);
    }
  }
  __syncwarp();
  const Span mine = draw.tiles[tile.index];
  if (mine.count > kTilePixels / 4) place_extras(draw, tile, lane, mine.start + kTilePixels / 4, some);
}

}  // namespace

extern "C" __global__ void raddle_draw_raster(const __grid_constant__ DrawData draw) {
  extern __shared__ unsigned shared[];
  const unsigned index = Loop::first() / 32;
  if (index >= draw.tiles_x * draw.tiles_y * draw.layers) return;
  const Tile tile = tile_of(draw, index);
  Lane lane;
  lane.lane = threadIdx.x & 31;
  const unsigned values = draw.samples * kTilePixels;
  unsigned* const mine = shared + (threadIdx.x >> 5) * (3 * values + 2 * kTilePixels);
  lane.depth = reinterpret_cast<float*>(mine);
  lane.winner = mine + values, lane.stencil = lane.winner + values;
  lane.count = lane.stencil + values, lane.extra = lane.count + kTilePixels;
  lane.x = tile.x * kTile + pixel_x(lane.lane), lane.y = tile.y * kTile + pixel_y(lane.lane, 0);
  const unsigned bin = (tile.layer * draw.bins_y + (tile.y >> draw.bin_shift)) * draw.bins_x + (tile.x >> draw.bin_shift);
  const Span list = draw.bins[bin];
  if (draw.shades != 0 && lane.lane == 0) draw.tiles[index] = {0, 0};
  if (list.count == 0) return;
  const unsigned some = draw.bin_entries[list.start];
  // The loop's end must not look as if it depended on the counter of reserve(), or on memory that is read in
  // the loop: the JIT would take it for a wait, and give each warp a stack. A vote is read once.
  const unsigned last = __any_sync(kAll, draw.shades != 0) != 0 ? 1 : 0;
  Span place{0, 0};
#pragma unroll 1
  for (unsigned pass = 0; pass <= last; ++pass) {
    if (pass == 1 && draw.in_order != 0 && place.count != 0)
      for (unsigned half = 0; half < 2; ++half) put_first(draw, place, lane, half, some, 0);
    if (pass == 0 || draw.in_order != 0) {
      load(draw, tile, lane);
      draw_all(draw, tile, lane, list, place.count != 0, place);
    }
    if (draw.shades == 0) continue;
    if (draw.in_order == 0) winners(draw, lane, place.count != 0, place, some);
    if (pass == 1) continue;
    if (__any_sync(kAll, (lane.count[lane.lane] | lane.count[32 + lane.lane]) != 0)) {
      reserve(draw, tile, lane, some);
      place = draw.tiles[index];
    }
  }
  if (draw.early_tests != 0) store(draw, tile, lane);
}
