// Depth and stencil tests, which the rasteriser makes before pixels are shaded, or the merger after that.
#pragma once

#include "graphics/kernels/draw.h"

namespace raddle::graphics {

/// Places of a tile's pixels in a warp: lane and half (0, 1) to pixel. Four lanes that follow each other are
/// a quad.
__device__ inline unsigned pixel_x(unsigned lane) { return (lane >> 2 & 3) * 2 + (lane & 1); }
__device__ inline unsigned pixel_y(unsigned lane, unsigned half) {
  return (lane >> 4) * 2 + half * 4 + (lane >> 1 & 1);
}

/// Samples in sixteenths of a pixel from its centre: the patterns of Direct3D.
struct SamplePlace {
  int x, y;
};
__device__ inline SamplePlace sample_place(unsigned samples, unsigned s) {
  // Four bits each, plus 8; the sample's index from the right.
  constexpr unsigned long long kX8 = 0xfb135d79u, kX4 = 0xa2e6u, kX2 = 0x4cu;
  constexpr unsigned long long kY8 = 0x1f7d39b5u, kY4 = 0xea62u, kY2 = 0x4cu;
  if (samples == 1) return {0, 0};
  const unsigned long long xs = samples == 2 ? kX2 : samples == 4 ? kX4 : kX8;
  const unsigned long long ys = samples == 2 ? kY2 : samples == 4 ? kY4 : kY8;
  return {static_cast<int>(xs >> 4 * s & 15) - 8, static_cast<int>(ys >> 4 * s & 15) - 8};
}

__device__ inline bool passes(Compare compare, float value, float reference) {
  const unsigned mask = static_cast<unsigned>(compare);
  const bool below = (mask & 1) != 0 && value < reference, same = (mask & 2) != 0 && value == reference;
  return below || same || ((mask & 4) != 0 && value > reference) || mask == 7;
}

__device__ inline unsigned changed(StencilOperation operation, unsigned value, unsigned reference) {
  switch (operation) {
    case StencilOperation::keep:
      return value;
    case StencilOperation::zero:
      return 0;
    case StencilOperation::replace:
      return reference;
    case StencilOperation::increment_clamp:
      return value == 255 ? 255 : value + 1;
    case StencilOperation::decrement_clamp:
      return value == 0 ? 0 : value - 1;
    case StencilOperation::invert:
      return value ^ 255;
    case StencilOperation::increment_wrap:
      return (value + 1) & 255;
    case StencilOperation::decrement_wrap:
      return (value - 1) & 255;
  }
  return value;
}

/// Tests one sample and changes what is stored of it. @returns whether it is drawn
__device__ inline bool test_sample(const DrawData& draw, bool front, float z, float& depth,
                                   unsigned& stencil) {
  const bool nearer = draw.depth.test == 0 || passes(draw.depth.compare, z, depth);
  bool drawn = nearer;
  if (draw.stencil.test != 0) {
    const StencilFace& face = front ? draw.stencil.front : draw.stencil.back;
    const unsigned mask = draw.stencil.read_mask;
    const bool passed = passes(face.compare, static_cast<float>(draw.stencil.reference & mask),
                               static_cast<float>(stencil & mask));
    const StencilOperation operation = !passed ? face.fail : nearer ? face.pass : face.depth_fail;
    const unsigned write = draw.stencil.write_mask & 255;
    stencil = (stencil & ~write) | (changed(operation, stencil, draw.stencil.reference & 255) & write);
    drawn = passed && nearer;
  }
  if (drawn && draw.depth.test != 0 && draw.depth.write != 0) depth = z;
  return drawn;
}

__device__ inline std::uint64_t texel(const TargetView& target, unsigned texel_bytes, unsigned x, unsigned y,
                                      unsigned slice) {
  return target.address + slice * target.slice_pitch + y * target.row_pitch + std::uint64_t{x} * texel_bytes;
}
__device__ inline float* depth_at(const DrawData& draw, unsigned x, unsigned y, unsigned slice) {
  return reinterpret_cast<float*>(texel(draw.depth_target, 4, x, y, slice));
}
__device__ inline std::uint8_t* stencil_at(const DrawData& draw, unsigned x, unsigned y, unsigned slice) {
  return reinterpret_cast<std::uint8_t*>(texel(draw.stencil_target, 1, x, y, slice));
}

/// Where a warp's tile lies.
struct Tile {
  unsigned x, y, layer;  ///< tiles
  unsigned index;        ///< in DrawData::tiles
  unsigned quads;        ///< the place of its first quad in DrawData::extras; its quads follow each other
};
__device__ inline Tile tile_of(const DrawData& draw, unsigned index) {
  Tile tile;
  tile.x = index % draw.tiles_x, tile.y = index / draw.tiles_x % draw.tiles_y;
  tile.layer = index / (draw.tiles_x * draw.tiles_y);
  tile.index = index, tile.quads = index * (kTilePixels / 4);
  return tile;
}

}  // namespace raddle::graphics
