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

/// What a lane has of its two pixels, and where their samples' values lie in shared memory.
struct Lane {
  unsigned lane;
  int x, y[2];       ///< pixels of the target
  bool inside[2];    ///< of what may be drawn
  float* depth;      ///< [sample][half][lane]
  unsigned* winner;  ///< triangle of each sample
  unsigned* stencil;
  unsigned count[2];  ///< entries of each half's quad so far
};

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
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    const bool covered = lane.inside[half] && (value[0] | value[1] | value[2]) >= 0;
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

/// The next place of a lane's quad, where a fragment goes. All lanes of a quad have the same.
__device__ void put(const DrawData& draw, const Tile& tile, const Lane& lane, unsigned half, unsigned start,
                    unsigned triangle, unsigned coverage) {
  const unsigned quad = start + lane.count[half];
  draw.coverage[quad * 4 + (lane.lane & 3)] = static_cast<std::uint8_t>(coverage);
  if ((lane.lane & 3) != 0) return;
  draw.quad_triangle[quad] = triangle;
  draw.quad_place[quad] = static_cast<unsigned>(lane.x) >> 1 | (static_cast<unsigned>(lane.y[half]) >> 1) << 16;
}

/// Draws all triangles of the bin that touch the tile, in order. If it `writes`, fragments go to the quads'
/// lists from `start` on; else they are counted, if order counts, or leave a winner for each sample.
__device__ void draw_all(const DrawData& draw, const Tile& tile, Lane& lane, const Span& list, bool writes,
                         const unsigned* start) {
  for (unsigned i = 0; i < list.count; i += 32) {
    const unsigned at = i + lane.lane;
    bool hit = at < list.count;
    if (hit) {
      const unsigned triangle = draw.bin_entries[list.start + at];
      const unsigned x = draw.box_x[triangle], y = draw.box_y[triangle];
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
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned any = __ballot_sync(kAll, coverage[half] != 0) >> (lane.lane & 28) & 15;
        if (writes && any != 0) put(draw, tile, lane, half, start[half], index, coverage[half]);
        lane.count[half] += any != 0;
      }
    }
  }
}

/// What is left of the samples, a quad for each triangle that shows in it. All lanes go on until all quads
/// are done.
__device__ void winners(const DrawData& draw, const Tile& tile, Lane& lane, bool writes, const unsigned* start) {
  for (unsigned half = 0; half < 2; ++half) {
    unsigned left = 0;
    for (unsigned s = 0; s < draw.samples; ++s)
      if (lane.winner[(s * 2 + half) * 32 + lane.lane] != kNone) left |= 1u << s;
    while (__any_sync(kAll, left != 0)) {
      unsigned first = kNone;
      for (unsigned s = 0; s < draw.samples; ++s)
        if ((left >> s & 1) != 0) first = min(first, lane.winner[(s * 2 + half) * 32 + lane.lane]);
      first = min(first, __shfl_xor_sync(kAll, first, 1));
      first = min(first, __shfl_xor_sync(kAll, first, 2));
      unsigned coverage = 0;
      for (unsigned s = 0; s < draw.samples; ++s)
        if ((left >> s & 1) != 0 && lane.winner[(s * 2 + half) * 32 + lane.lane] == first) coverage |= 1u << s;
      if (writes && first != kNone) put(draw, tile, lane, half, start[half], first, coverage);
      lane.count[half] += first != kNone;
      left &= ~coverage;
    }
  }
}

__device__ void load(const DrawData& draw, const Tile& tile, Lane& lane) {
  for (unsigned s = 0; s < draw.samples; ++s)
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned at = (s * 2 + half) * 32 + lane.lane, slice = tile.layer * draw.samples + s;
      const bool there = lane.inside[half] && draw.early_tests != 0;
      lane.winner[at] = kNone;
      lane.depth[at] = there && draw.depth.test != 0 ? *depth_at(draw, lane.x, lane.y[half], slice) : 0;
      if (draw.stencil.test != 0)
        lane.stencil[at] = there ? *stencil_at(draw, lane.x, lane.y[half], slice) : 0;
    }
  lane.count[0] = lane.count[1] = 0;
}

__device__ void store(const DrawData& draw, const Tile& tile, const Lane& lane) {
  for (unsigned s = 0; s < draw.samples; ++s)
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned at = (s * 2 + half) * 32 + lane.lane, slice = tile.layer * draw.samples + s;
      if (!lane.inside[half]) continue;
      if (draw.depth.test != 0 && draw.depth.write != 0)
        *depth_at(draw, lane.x, lane.y[half], slice) = lane.depth[at];
      if (draw.stencil.test != 0)
        *stencil_at(draw, lane.x, lane.y[half], slice) = static_cast<std::uint8_t>(lane.stencil[at]);
    }
}

/// Adds to the number of quads, unless they do not fit: those that are counted are those that are there.
__device__ unsigned take(const DrawData& draw, unsigned count) {
  unsigned* const quads = &draw.counters.get()->quads;
  unsigned before = *quads, seen = 0;
  do {
    seen = before;
    if (seen + count > draw.quad_capacity) return seen;
    before = atomicCAS(quads, seen, seen + count);
  } while (before != seen);
  return seen;
}

/// Room for the quads of the tile, which begin at `start` for each half. False: there is none, the quads are
/// lost.
__device__ bool reserve(const DrawData& draw, const Tile& tile, Lane& lane, unsigned* start) {
  const bool first = (lane.lane & 3) == 0;
  unsigned sum = first ? lane.count[0] + lane.count[1] : 0;
  const unsigned mine = sum;
  for (unsigned step = 4; step < 32; step *= 2) {
    const unsigned other = __shfl_up_sync(kAll, sum, step);
    if (first && lane.lane >= step) sum += other;
  }
  const unsigned total = __shfl_sync(kAll, sum, 28);
  unsigned base = 0;
  if (lane.lane == 0 && total != 0) base = take(draw, total);
  base = __shfl_sync(kAll, base, 0);
  const bool fits = base + total <= draw.quad_capacity;
  if (!fits && lane.lane == 0) report(draw.status, DrawError::fragment_quads, base + total, draw.quad_capacity);
  start[0] = base + __shfl_sync(kAll, sum - mine, lane.lane & 28);
  start[1] = start[0] + lane.count[0];
  for (unsigned half = 0; half < 2; ++half)
    if (first) draw.quads[tile.quads + half * 8 + lane.lane / 4] = {start[half], fits ? lane.count[half] : 0};
  return fits && total != 0;
}

}  // namespace

extern "C" __global__ void raddle_draw_raster(const __grid_constant__ DrawData draw) {
  extern __shared__ unsigned shared[];
  const unsigned index = Loop::first() / 32;
  if (index >= draw.tiles_x * draw.tiles_y * draw.layers) return;
  const Tile tile = tile_of(draw, index);
  Lane lane;
  lane.lane = threadIdx.x & 31;
  unsigned* const mine = shared + (threadIdx.x >> 5) * draw.samples * kTilePixels * 3;
  lane.depth = reinterpret_cast<float*>(mine);
  lane.winner = mine + draw.samples * kTilePixels;
  lane.stencil = lane.winner + draw.samples * kTilePixels;
  lane.x = tile.x * kTile + pixel_x(lane.lane);
  for (unsigned half = 0; half < 2; ++half) {
    lane.y[half] = tile.y * kTile + pixel_y(lane.lane, half);
    lane.inside[half] = lane.x >= draw.left && lane.x < draw.right && lane.y[half] >= draw.top && lane.y[half] < draw.bottom;
  }
  const unsigned bin = (tile.layer * draw.bins_y + (tile.y >> draw.bin_shift)) * draw.bins_x + (tile.x >> draw.bin_shift);
  const Span list = draw.bins[bin];
  unsigned start[2] = {0, 0};
  if (list.count == 0 && draw.shades != 0) {
    if ((lane.lane & 3) == 0)
      for (unsigned half = 0; half < 2; ++half) draw.quads[tile.quads + half * 8 + lane.lane / 4] = {0, 0};
  }
  if (list.count == 0) return;
#pragma unroll 1
  for (unsigned pass = 0; pass < 2; ++pass) {
    if (pass == 0 || draw.in_order != 0) {
      load(draw, tile, lane);
      draw_all(draw, tile, lane, list, pass == 1, start);
    }
    if (draw.shades == 0) break;
    if (draw.in_order == 0) winners(draw, tile, lane, pass == 1, start);
    if (pass == 1 || !reserve(draw, tile, lane, start)) break;
    lane.count[0] = lane.count[1] = 0;
  }
  if (draw.early_tests != 0) store(draw, tile, lane);
}
