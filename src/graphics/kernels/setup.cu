// Clipper and triangle setup: primitives become triangles with planes for weights and depth, in the
// primitives' order. A warp takes kGroup primitives at a time. Points and lines become two triangles each.
#include "graphics/kernels/draw.h"

using namespace raddle::graphics;

namespace {

/// A corner of what is left of a primitive: its place in clip space, and its weights of the primitive's
/// vertices.
struct Corner {
  float x, y, z, w;
  float weight[3];
};

/// A polygon that planes cut, and its corners on the target's grid.
struct Polygon {
  Corner corner[kMostCorners];
  int x[kMostCorners], y[kMostCorners];
  unsigned count;
};

struct Source {
  unsigned vertex[3];
  unsigned layer;
  bool there;
};

/// Primitive p as the assembler, the tessellator or a geometry shader has left it.
__device__ Source source_of(const DrawData& draw, unsigned p) {
  Source source{};
  const unsigned size = draw.primitive_size;
  if (draw.from_geometry == 0) {
    const std::uint32_t* const from = draw.final_list.get() + std::size_t{p} * size;
    source.there = from[0] != kNone;
    for (unsigned c = 0; c < 3; ++c) source.vertex[c] = from[c < size ? c : size - 1];
    return source;
  }
  const unsigned mark = draw.final_list[p], place = mark & 0xffff;  // 1 for the first of a strip
  source.there = place >= size;
  const unsigned odd = size == 3 ? (place - size) & 1 : 0, first = p + 1 - size;
  source.vertex[0] = first;
  source.vertex[1] = size == 1 ? first : first + 1 + odd;
  source.vertex[2] = size == 3 ? first + 2 - odd : source.vertex[1];
  if (source.there) source.layer = draw.final_list[first] >> 16;
  source.there = source.there && source.layer < draw.layers;
  return source;
}

/// What a plane leaves has a distance of 0 or more. Planes 0 to 3 are the guard band's, then w, near, far.
__device__ float distance_to(const DrawData& draw, unsigned plane, const Corner& corner) {
  constexpr float kGuardEdge = kGuard;
  switch (plane) {
    case 0: return draw.scale[0] * corner.x + (draw.offset[0] + kGuardEdge) * corner.w;
    case 1: return (kGuardEdge - draw.offset[0]) * corner.w - draw.scale[0] * corner.x;
    case 2: return draw.scale[1] * corner.y + (draw.offset[1] + kGuardEdge) * corner.w;
    case 3: return (kGuardEdge - draw.offset[1]) * corner.w - draw.scale[1] * corner.y;
    case 4: return corner.w - 1e-20f;
    case 5: return corner.z;
    default: return corner.w - corner.z;
  }
}

__device__ Corner between(const Corner& a, const Corner& b, float t) {
  Corner c;
  c.x = fmaf(t, b.x - a.x, a.x), c.y = fmaf(t, b.y - a.y, a.y);
  c.z = fmaf(t, b.z - a.z, a.z), c.w = fmaf(t, b.w - a.w, a.w);
  for (int j = 0; j < 3; ++j) c.weight[j] = fmaf(t, b.weight[j] - a.weight[j], a.weight[j]);
  return c;
}

/// Cuts off what lies beyond a plane (Sutherland and Hodgman). The cut is computed from the corner inside, so
/// that triangles that share an edge get the same corner.
__device__ void cut(const DrawData& draw, unsigned plane, Polygon& polygon) {
  Corner kept[kMostCorners];
  unsigned count = 0;
  for (unsigned c = 0; c < polygon.count; ++c) {
    const Corner& a = polygon.corner[c];
    const Corner& b = polygon.corner[c + 1 == polygon.count ? 0 : c + 1];
    const float from = distance_to(draw, plane, a), to = distance_to(draw, plane, b);
    if (from >= 0 && count < kMostCorners) kept[count++] = a;
    if ((from >= 0) == (to >= 0) || count >= kMostCorners) continue;
    kept[count++] = from >= 0 ? between(a, b, from / (from - to)) : between(b, a, to / (to - from));
  }
  polygon.count = count;
  for (unsigned c = 0; c < count; ++c) polygon.corner[c] = kept[c];
}

/// Whether all of a primitive's numbers are numbers, and which planes cut it. False: nothing of it is left.
__device__ bool meets(const DrawData& draw, const Polygon& polygon, unsigned& cutting) {
  const unsigned last = draw.depth_clip ? 7 : 5;
  bool finite = true;
  for (unsigned c = 0; c < polygon.count; ++c) {
    const Corner& corner = polygon.corner[c];
    const float sum = corner.x * 0 + corner.y * 0 + corner.z * 0 + corner.w * 0;  // NaN if one of them is not finite
    finite = finite && sum == 0;
  }
  cutting = 0;
  bool outside = false;
  for (unsigned plane = 0; plane < last; ++plane) {
    unsigned beyond = 0;
    for (unsigned c = 0; c < polygon.count; ++c) beyond += distance_to(draw, plane, polygon.corner[c]) < 0;
    if (beyond != 0) cutting |= 1u << plane;
    outside = outside || beyond == polygon.count;
  }
  return finite && !outside;
}

__device__ int to_grid(float pixels) { return __float2int_rn(pixels * kSubPixels); }

/// From clip space to the target's grid.
__device__ void project(const DrawData& draw, Polygon& polygon) {
  for (unsigned c = 0; c < polygon.count; ++c) {
    const float inverse = 1.0f / polygon.corner[c].w;
    polygon.x[c] = to_grid(fmaf(polygon.corner[c].x * inverse, draw.scale[0], draw.offset[0]));
    polygon.y[c] = to_grid(fmaf(polygon.corner[c].y * inverse, draw.scale[1], draw.offset[1]));
  }
}

/// A point's square.
__device__ void widen_point(const DrawData& draw, Polygon& polygon) {
  const int half = to_grid(draw.point_size * 0.5f), x = polygon.x[0], y = polygon.y[0];
  for (unsigned c = 0; c < 4; ++c) {
    polygon.corner[c] = polygon.corner[0];
    polygon.x[c] = c == 1 || c == 2 ? x + half : x - half;
    polygon.y[c] = c >= 2 ? y + half : y - half;
  }
  polygon.count = 4;
}

/// A line's parallelogram: its ends are widened along the axis that it follows less.
__device__ void widen_line(const DrawData& draw, Polygon& polygon) {
  const int half = to_grid(draw.line_width * 0.5f);
  const bool flat = abs(polygon.x[1] - polygon.x[0]) >= abs(polygon.y[1] - polygon.y[0]);
  const int dx = flat ? 0 : half, dy = flat ? half : 0;
  const Corner end[2] = {polygon.corner[0], polygon.corner[1]};
  const int x[2] = {polygon.x[0], polygon.x[1]}, y[2] = {polygon.y[0], polygon.y[1]};
  const bool none = x[0] == x[1] && y[0] == y[1];
  for (unsigned c = 0; c < 4; ++c) {
    const unsigned at = c == 1 || c == 2 ? 1 : 0;
    polygon.corner[c] = end[at];
    polygon.x[c] = c >= 2 ? x[at] + dx : x[at] - dx;
    polygon.y[c] = c >= 2 ? y[at] + dy : y[at] - dy;
  }
  polygon.count = none ? 0 : 4;
}

/// What is left of a primitive, on the grid; no corners: nothing.
__device__ void clip(const DrawData& draw, const Source& source, Polygon& polygon) {
  const unsigned size = draw.primitive_size;
  polygon.count = size;
  for (unsigned c = 0; c < size; ++c) {
    const float4 at = draw.vertices.position(source.vertex[c]);
    Corner& corner = polygon.corner[c];
    corner.x = at.x, corner.y = at.y, corner.z = at.z, corner.w = at.w;
    for (unsigned j = 0; j < 3; ++j) corner.weight[j] = j == c ? 1.0f : 0.0f;
  }
  unsigned cutting = 0;
  if (!meets(draw, polygon, cutting)) polygon.count = 0;
  if (size == 2 && polygon.count == 2)  // a line is a flat triangle; what planes cut of it stays a line
    for (; cutting != 0; cutting &= cutting - 1) {
      const unsigned plane = __ffs(cutting) - 1;
      Corner& a = polygon.corner[0];
      Corner& b = polygon.corner[1];
      const float from = distance_to(draw, plane, a), to = distance_to(draw, plane, b);
      if (from < 0 && to < 0) polygon.count = 0;
      if (from < 0 && to >= 0) a = between(b, a, to / (to - from));
      if (to < 0 && from >= 0) b = between(a, b, from / (from - to));
    }
  if (size == 3)
    for (; cutting != 0 && polygon.count != 0; cutting &= cutting - 1)
      cut(draw, __ffs(cutting) - 1, polygon);
  project(draw, polygon);
  if (polygon.count != 0 && size == 1) widen_point(draw, polygon);
  if (polygon.count != 0 && size == 2) widen_line(draw, polygon);
}

/// Corners of triangle k of a polygon's fan, and twice its area: positive if they are clockwise as seen.
__device__ long long fan(const Polygon& polygon, unsigned k, unsigned* corner) {
  corner[0] = 0, corner[1] = k + 1, corner[2] = k + 2;
  const int ax = polygon.x[0], ay = polygon.y[0];
  return static_cast<long long>(polygon.x[k + 1] - ax) * (polygon.y[k + 2] - ay) -
         static_cast<long long>(polygon.y[k + 1] - ay) * (polygon.x[k + 2] - ax);
}

/// The tiles from the first pixel centre to the last along an axis; first above last: none.
__device__ unsigned tiles_of(int a, int b, int c, int first, int end) {
  const int least = min(a, min(b, c)), greatest = max(a, max(b, c));
  const int from = max((least - kSubPixels + 1) >> 8, first), to = min((greatest + kSubPixels) >> 8, end - 1);
  return from > to ? 0x00000001u : static_cast<unsigned>(from / int{kTile}) | static_cast<unsigned>(to / int{kTile}) << 16;
}

__device__ bool is_none(unsigned tiles) { return (tiles & 0xffff) > tiles >> 16; }

/// Whether a polygon faces the viewer: by the sign of all its triangles' area.
__device__ bool is_front(const DrawData& draw, long long area) { return (area > 0) != (draw.front_is_counter_clockwise != 0); }

/// Which triangles of a polygon's fan are drawn, a bit each.
__device__ unsigned drawn(const DrawData& draw, const Polygon& polygon) {
  unsigned mask = 0;
  for (unsigned k = 0; k + 2 < polygon.count; ++k) {
    unsigned c[3];
    const long long area = fan(polygon, k, c);
    const bool front = draw.primitive_size < 3 || is_front(draw, area);
    const bool culled = draw.primitive_size == 3 && draw.cull != CullMode::none && front == (draw.cull == CullMode::front);
    const unsigned x = tiles_of(polygon.x[c[0]], polygon.x[c[1]], polygon.x[c[2]], draw.left, draw.right);
    const unsigned y = tiles_of(polygon.y[c[0]], polygon.y[c[1]], polygon.y[c[2]], draw.top, draw.bottom);
    if (area != 0 && !culled && !is_none(x) && !is_none(y)) mask |= 1u << k;
  }
  return mask;
}

/// Planes through values at the corners: the value at corner 0, and what a pixel in x and in y adds.
struct Slopes {
  double bx, by, cx, cy;  ///< of the weights of corners 1 and 2
};

__device__ void plane(const Slopes& slopes, float at0, float at1, float at2, float* to) {
  to[0] = at0;
  to[1] = static_cast<float>(slopes.bx * (static_cast<double>(at1) - at0) + slopes.cx * (static_cast<double>(at2) - at0));
  to[2] = static_cast<float>(slopes.by * (static_cast<double>(at1) - at0) + slopes.cy * (static_cast<double>(at2) - at0));
}

__device__ void write_depth(const DrawData& draw, const Slopes& slopes, const Corner* const* corner, Triangle& to) {
  float z[3];
  for (int c = 0; c < 3; ++c) z[c] = fmaf(corner[c]->z / corner[c]->w, draw.scale[2], draw.offset[2]);
  plane(slopes, z[0], z[1], z[2], to.depth);
  to.depth[0] += draw.depth_bias + draw.slope_bias * fmaxf(fabsf(to.depth[1]), fabsf(to.depth[2]));
}

__device__ void write_triangle(const DrawData& draw, const Source& source, const Polygon& polygon, unsigned k, unsigned p,
                               unsigned at) {
  unsigned c[3];
  const long long area = fan(polygon, k, c);
  if (area < 0) {  // clockwise for the rasteriser
    const unsigned other = c[1];
    c[1] = c[2], c[2] = other;
  }
  Triangle& to = draw.triangles[at];
  const Corner* corner[3];
  int x[3], y[3];
  for (int i = 0; i < 3; ++i) {
    corner[i] = &polygon.corner[c[i]];
    x[i] = polygon.x[c[i]], y[i] = polygon.y[c[i]];
    to.x[i] = x[i], to.y[i] = y[i], to.vertex[i] = source.vertex[i];
  }
  const double scale = double{kSubPixels} / static_cast<double>(area < 0 ? -area : area);
  const Slopes slopes{scale * (y[2] - y[0]), scale * (x[0] - x[2]), scale * (y[0] - y[1]), scale * (x[1] - x[0])};
  float inverse[3];
  for (int i = 0; i < 3; ++i) inverse[i] = 1.0f / corner[i]->w;
  for (int j = 0; j < 3; ++j)
    plane(slopes, corner[0]->weight[j] * inverse[0], corner[1]->weight[j] * inverse[1],
          corner[2]->weight[j] * inverse[2], to.weight[j]);
  write_depth(draw, slopes, corner, to);
  to.primitive = p % draw.places_per_instance;
  const bool front = draw.primitive_size < 3 || is_front(draw, area);
  to.flags = (front ? 1u : 0u) | source.layer << 16;
  draw.box_x[at] = tiles_of(x[0], x[1], x[2], draw.left, draw.right);
  draw.box_y[at] = tiles_of(y[0], y[1], y[2], draw.top, draw.bottom);
}

/// The sum of what lower lanes have, and of all.
__device__ unsigned sum_before(unsigned value, unsigned lane, unsigned& total) {
  unsigned sum = value;
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned other = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += other;
  }
  total = __shfl_sync(0xffffffffu, sum, 31);
  return sum - value;
}

}  // namespace

extern "C" __global__ void raddle_draw_setup(const __grid_constant__ DrawData draw) {
  const unsigned lane = threadIdx.x & 31, count = places(draw);
  const unsigned warps = (gridDim.x * blockDim.x) / 32;
  for (unsigned group = Loop::first() / 32; group * kGroup < count; group += warps) {
    const unsigned p = group * kGroup + lane;
    Source source{};
    Polygon polygon;
    polygon.count = 0;
    if (p < count) source = source_of(draw, p);
    if (source.there) clip(draw, source, polygon);
    unsigned mask = drawn(draw, polygon), total = 0, start = 0;
    const unsigned before = sum_before(__popc(mask), lane, total);
    if (lane == 0 && total != 0) start = atomicAdd(&draw.counters.get()->triangles, total);
    start = __shfl_sync(0xffffffffu, start, 0);
    const bool fits = start + total <= draw.triangle_capacity;
    if (lane == 0) {
      draw.groups[group] = {start, fits ? total : 0};
      if (!fits) report(draw.status, DrawError::triangles, start + total, draw.triangle_capacity);
    }
    for (unsigned at = start + before; fits && mask != 0; mask &= mask - 1)
      write_triangle(draw, source, polygon, __ffs(mask) - 1, p, at++);
  }
}
