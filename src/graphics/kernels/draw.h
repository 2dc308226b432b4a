// A draw, as the kernels of the fixed stages get it: one parameter with everything. Host and kernels share
// it.
#pragma once

#include "raddle/graphics_state.h"
#include "raddle/shader.h"

namespace raddle::graphics {

constexpr unsigned kTile = 8;  ///< pixels of a tile's side; a warp draws a tile
constexpr unsigned kTilePixels = 64;
constexpr unsigned kGroup = 32;        ///< primitives that a warp sets up together
constexpr unsigned kGuard = 32000;     ///< greatest distance of a corner from the target's origin, pixels
constexpr unsigned kMostCorners = 10;  ///< of a triangle that seven planes have cut
constexpr unsigned kMostRing = 64;     ///< segments of a divided edge

/// What kernels of a draw count, in the order of the pipeline. All zero before.
struct Counters {
  std::uint32_t primitives;  ///< places in the list that setup reads
  std::uint32_t patches;
  std::uint32_t points;  ///< of divided patches
  std::uint32_t divided_primitives;
  std::uint32_t triangles;
  std::uint32_t bin_entries;
  std::uint32_t quads;       ///< asked for
  std::uint32_t lost_quads;  ///< of DrawData::quad_capacity, from the first that did not fit
};

/// Part of a list: where it begins and how long it is.
struct Span {
  std::uint32_t start, count;
};

struct TargetView {
  std::uint64_t address = 0, row_pitch = 0, slice_pitch = 0;
  TexelFormat format;
};

/// Assembler: indices to primitives.
struct Assembly {
  Array<const char> indices;
  std::uint32_t index_bytes, index_count;  ///< of an instance; without indices: vertices
  std::uint32_t instances;
  std::int32_t base_vertex;
  std::uint32_t vertex_count;  ///< indices with base are below it
  std::uint32_t dense;         ///< shaded vertices are numbered by index, else by place
  std::uint32_t per_instance;  ///< shaded vertices of an instance
  Topology topology;
  std::uint32_t size;        ///< numbers of a primitive in the list
  std::uint32_t places;      ///< primitives of an instance
  std::uint32_t restart;     ///< an index of all ones ends the run; there is then a place for each index
  Array<std::uint32_t> run;  ///< of each index: where its run begins
  std::uint32_t index_base;  ///< what is taken from indices: 0 without indices
};

struct Division {
  DomainShape shape;
  Partitioning partitioning;
  OutputTopology output;
  std::uint32_t clockwise;
  std::uint32_t patch_count;  ///< most
  std::uint32_t factor_stride;
  std::uint32_t fixed;  ///< the factors of all patches are `factor`
  float factor[6];
  Array<const float> factors;
  Array<Span> points_of, primitives_of;  ///< of a patch
  Array<std::uint32_t> patch;            ///< of a point
  Array<float> u, v;
  std::uint32_t point_capacity, primitive_capacity;
  Array<std::uint32_t> list;
};

struct DrawData {
  Array<Counters> counters;
  Array<Status> status;
  Assembly assembly;
  Array<std::uint32_t> list;  ///< the assembler's
  Division division;

  // Setup
  Vertices vertices;                ///< of the last stage before
  Array<std::uint32_t> final_list;  ///< primitives; of a geometry shader: marks
  std::uint32_t from_geometry, geometry_most, geometry_capacity;
  std::uint32_t primitive_size;    ///< 1: points, 2: lines, 3: triangles
  std::uint32_t primitive_places;  ///< most; groups of kGroup have a place in `groups`
  std::uint32_t places_per_instance;
  float scale[3], offset[3];  ///< clip space / w to pixels and depth
  float least_depth, greatest_depth;
  std::int32_t left, top, right, bottom;  ///< pixels that may be drawn
  CullMode cull;
  std::uint32_t front_is_counter_clockwise, depth_clip;
  float depth_bias, slope_bias, point_size, line_width;
  std::uint32_t layers;
  Array<Triangle> triangles;
  Array<std::uint32_t> box_x, box_y;  ///< tiles that a triangle may touch: first, last in the upper half
  Array<Span> groups;
  std::uint32_t triangle_capacity;

  // Bins and tiles
  std::uint32_t tiles_x, tiles_y, bins_x, bins_y, bin_shift;  ///< a bin has 1 << bin_shift tiles a side
  Array<Span> bins;
  Array<std::uint32_t> bin_entries, bin_x,
      bin_y;  ///< triangles with their boxes, so that a tile reads them in a row
  std::uint32_t bin_capacity;

  // Rasteriser
  std::uint32_t samples;
  std::uint32_t in_order;     ///< all fragments, in order; else the last visible one of each sample
  std::uint32_t early_tests;  ///< the rasteriser tests depth and stencil, else the merger
  std::uint32_t shades;       ///< there is a pixel shader
  Array<Span> tiles;          ///< quads of a tile's fragments; the first 16 are its quads' first ones
  Array<Span> extras;         ///< of each quad of a tile with more of them: those behind the first
  Array<std::uint32_t> fragment_triangle, fragment_place;
  Array<std::uint8_t> coverage;
  std::uint32_t quad_capacity;  ///< a multiple of 8: whole warps

  // Merger
  DepthState depth;
  StencilState stencil;
  TargetView depth_target, stencil_target;
  std::uint32_t writes_depth;  ///< the pixel shader does
  Array<const float> depths, colours;
  std::uint32_t target_count;
  TargetView targets[kMaxTargets];
  BlendState blend[kMaxTargets];
  float blend_constant[4];
};

#ifdef RADDLE_SHADER_CODE
/// Places of primitives that setup looks at.
RADDLE_SHADER unsigned places(const DrawData& draw) {
  const std::uint64_t count = draw.counters.get()->primitives;
  if (draw.from_geometry == 0) return static_cast<unsigned>(count);
  const std::uint64_t all = count * draw.geometry_most;
  return static_cast<unsigned>(all < draw.geometry_capacity ? all : draw.geometry_capacity);
}
#endif

}  // namespace raddle::graphics
