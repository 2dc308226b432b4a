// The output merger: a warp takes the fragments of a tile's pixels in order; late depth and stencil tests,
// blending, writing. A lane has two pixels, as in the rasteriser.
#include "graphics/kernels/formats.h"
#include "graphics/kernels/tests.h"

using namespace raddle::graphics;
using raddle::ChannelType;

namespace {

struct Place {
  unsigned x, y, slice;
  unsigned first;  ///< fragment
  Span extras;     ///< quads of those behind it
  unsigned in_quad;

  /// How many fragments the pixel may have, and the i-th.
  __device__ unsigned count() const { return 1 + extras.count; }
  __device__ std::size_t fragment(unsigned i) const {
    return i == 0 ? first : std::size_t{extras.start + i - 1} * 4 + in_quad;
  }
};

/// The depth of a fragment's sample: the shader's, or the triangle's plane.
__device__ float depth_of(const DrawData& draw, const Place& place, std::size_t fragment, unsigned s) {
  float z = 0;
  if (draw.writes_depth != 0) {
    z = draw.depths[fragment];
  } else {
    const Triangle& triangle = draw.triangles[draw.fragment_triangle[fragment]];
    const SamplePlace sample = sample_place(draw.samples, s);
    const int x = static_cast<int>(place.x) * kSubPixels + kSubPixels / 2 + sample.x * (kSubPixels / 16);
    const int y = static_cast<int>(place.y) * kSubPixels + kSubPixels / 2 + sample.y * (kSubPixels / 16);
    const float fx = static_cast<float>(x - triangle.x[0]) * (1.0f / kSubPixels);
    const float fy = static_cast<float>(y - triangle.y[0]) * (1.0f / kSubPixels);
    z = fmaf(triangle.depth[2], fy, fmaf(triangle.depth[1], fx, triangle.depth[0]));
  }
  return fminf(fmaxf(z, draw.least_depth), draw.greatest_depth);
}

/// Late tests: fragments lose the samples that are hidden.
__device__ void test_late(const DrawData& draw, const Place& place) {
  for (unsigned s = 0; s < draw.samples; ++s) {
    const unsigned slice = place.slice + s;
    float depth = draw.depth.test != 0 ? *depth_at(draw, place.x, place.y, slice) : 0;
    unsigned stencil = draw.stencil.test != 0 ? *stencil_at(draw, place.x, place.y, slice) : 0;
    for (unsigned i = 0; i < place.count(); ++i) {
      const std::size_t fragment = place.fragment(i);
      std::uint8_t& coverage = draw.coverage[fragment];
      if ((coverage >> s & 1) == 0) continue;
      const bool front = (draw.triangles[draw.fragment_triangle[fragment]].flags & 1) != 0;
      if (!test_sample(draw, front, depth_of(draw, place, fragment, s), depth, stencil))
        coverage = static_cast<std::uint8_t>(coverage & ~(1u << s));
    }
    if (draw.depth.test != 0 && draw.depth.write != 0) *depth_at(draw, place.x, place.y, slice) = depth;
    if (draw.stencil.test != 0)
      *stencil_at(draw, place.x, place.y, slice) = static_cast<std::uint8_t>(stencil);
  }
}

/// The factor of channel c. `second`: the shader's output 1.
__device__ float factor_of(BlendFactor factor, const float* source, const float* target, const float* second,
                           const float* constant, unsigned c) {
  switch (factor) {
    case BlendFactor::zero: return 0;
    case BlendFactor::one: return 1;
    case BlendFactor::source_colour: return source[c];
    case BlendFactor::one_minus_source_colour: return 1 - source[c];
    case BlendFactor::source_alpha: return source[3];
    case BlendFactor::one_minus_source_alpha: return 1 - source[3];
    case BlendFactor::target_alpha: return target[3];
    case BlendFactor::one_minus_target_alpha: return 1 - target[3];
    case BlendFactor::target_colour: return target[c];
    case BlendFactor::one_minus_target_colour: return 1 - target[c];
    case BlendFactor::source_alpha_saturate: return c == 3 ? 1 : fminf(source[3], 1 - target[3]);
    case BlendFactor::constant: return constant[c];
    case BlendFactor::one_minus_constant: return 1 - constant[c];
    case BlendFactor::constant_alpha: return constant[3];
    case BlendFactor::one_minus_constant_alpha: return 1 - constant[3];
    case BlendFactor::second_colour: return second[c];
    case BlendFactor::one_minus_second_colour: return 1 - second[c];
    case BlendFactor::second_alpha: return second[3];
    case BlendFactor::one_minus_second_alpha: return 1 - second[3];
  }
  return 0;
}

__device__ float combined(BlendOperation operation, float source, float source_factor, float target, float target_factor) {
  switch (operation) {
    case BlendOperation::add: return source * source_factor + target * target_factor;
    case BlendOperation::subtract: return source * source_factor - target * target_factor;
    case BlendOperation::reverse_subtract: return target * target_factor - source * source_factor;
    case BlendOperation::least: return fminf(source, target);
    case BlendOperation::greatest: return fmaxf(source, target);
  }
  return source;
}

/// Blends `source` over `value`, in place.
__device__ void blend(const DrawData& draw, const BlendState& state, ChannelType type, const float* source, const float* second,
                      float* value) {
  float from[4], result[4], constant[4];
#pragma unroll
  for (unsigned c = 0; c < 4; ++c) {
    from[c] = to_format_range(type, source[c]);
    constant[c] = to_format_range(type, draw.blend_constant[c]);
  }
#pragma unroll 1
  for (unsigned c = 0; c < 4; ++c) {
    const bool alpha = c == 3;
    const float source_factor =
        factor_of(alpha ? state.source_alpha : state.source, from, value, second, constant, c);
    const float target_factor =
        factor_of(alpha ? state.target_alpha : state.target, from, value, second, constant, c);
    result[c] = combined(alpha ? state.alpha_operation : state.operation, from[c], source_factor, value[c], target_factor);
  }
#pragma unroll
  for (unsigned c = 0; c < 4; ++c)
    if ((state.write_mask >> c & 1) != 0) value[c] = as_stored(type, result[c]);
}

__device__ void read_colour(const DrawData& draw, unsigned target, std::size_t fragment, float* value) {
  const std::size_t stride = std::size_t{draw.quad_capacity} * 4;
  const float* const plane = draw.colours.get() + stride * 4 * target + fragment;
#pragma unroll
  for (unsigned c = 0; c < 4; ++c) value[c] = plane[stride * c];
}

/// One fragment's colour over what is there, if it covers the sample.
__device__ bool merge_fragment(const DrawData& draw, std::size_t fragment, unsigned t, unsigned s,
                               float* value) {
  const BlendState& state = draw.blend[t];
  if ((draw.coverage[fragment] >> s & 1) == 0) return false;
  if (state.enabled == 0) {
    read_colour(draw, t, fragment, value);
    return true;
  }
  float source[4], second[4] = {0, 0, 0, 0};
  read_colour(draw, t, fragment, source);
  if (state.enabled == 2) read_colour(draw, 1, fragment, second);
  blend(draw, state, draw.targets[t].format.type, source, second, value);
  return true;
}

/// All fragments of a sample, in order, into one target. @param more  whether a pixel of the tile has several
__device__ void merge_target(const DrawData& draw, const Place& place, bool more, unsigned t, unsigned s) {
  const TargetView& target = draw.targets[t];
  const unsigned bytes = channel_bytes(target.format.type) * target.format.channels;
  const std::uint64_t at = texel(target, bytes, place.x, place.y, place.slice + s);
  float value[4] = {0, 0, 0, 0};
  if (draw.blend[t].enabled != 0) read_texel(target, at, bytes, value);
  bool any = false;
  if (!more && draw.blend[t].enabled == 0) {  // the usual one, in whole vectors
    any = (draw.coverage[place.first] >> s & 1) != 0;
    read_colour(draw, t, place.first, value);
  } else {
#pragma unroll 1
    for (unsigned i = 0; i < place.count(); ++i)
      any = merge_fragment(draw, place.fragment(i), t, s, value) || any;
  }
  if (any) write_texel(target, at, bytes, draw.blend[t].write_mask, value);
}

}  // namespace

extern "C" __global__ void raddle_draw_merge(const __grid_constant__ DrawData draw) {
  const unsigned index = Loop::first() / 32, lane = threadIdx.x & 31;
  if (index >= draw.tiles_x * draw.tiles_y * draw.layers) return;
  const Tile tile = tile_of(draw, index);
  const Span mine = draw.tiles[index];
  if (mine.count == 0) return;
  const bool more = mine.count > kTilePixels / 4;
#pragma unroll 1
  for (unsigned half = 0; half < 2; ++half) {
    Place place;
    place.x = tile.x * kTile + pixel_x(lane), place.y = tile.y * kTile + pixel_y(lane, half);
    place.slice = tile.layer * draw.samples;
    place.first = mine.start * 4 + half * 32 + lane;
    place.extras = {0, 0};
    if (more) place.extras = draw.extras[tile.quads + half * 8 + lane / 4];
    place.in_quad = lane & 3;
    if (static_cast<int>(place.x) >= draw.right || static_cast<int>(place.y) >= draw.bottom) continue;
    if (draw.early_tests == 0) test_late(draw, place);
#pragma unroll 1
    for (unsigned t = 0; t < draw.target_count; ++t)
#pragma unroll 1
      for (unsigned s = 0; s < draw.samples; ++s) merge_target(draw, place, more, t, s);
  }
}
