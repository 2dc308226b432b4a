// The tessellator: divides a triangle, a square or lines by the factors of a patch. Rings of points lie
// inside one another; what lies between two rings is filled from side to side, so that an edge depends on its
// own factor only.
#include "graphics/kernels/draw.h"

using namespace raddle::graphics;

namespace {

constexpr unsigned kParts = 1 << 16;  ///< positions are whole numbers of these, so that t and 1 - t are both exact

/// How an edge is divided: into `count` segments, the first and last of which may be shorter.
struct Edge {
  unsigned count;
  float factor;
};

/// All factors of a patch as the domain and the partitioning round them; no segments: the patch is dropped.
struct Factors {
  Edge edge[4];
  Edge inside[2];
  bool dropped;
};

__device__ __noinline__ Edge edge_of(Partitioning partitioning, float factor) {
  const float least = partitioning == Partitioning::fractional_even ? 2 : 1;
  const float most = partitioning == Partitioning::fractional_odd ? kMostRing - 1 : kMostRing;
  Edge edge;
  edge.factor = fminf(fmaxf(factor, least), most);
  edge.count = static_cast<unsigned>(ceilf(edge.factor));
  if (partitioning == Partitioning::fractional_odd) edge.count |= 1;
  if (partitioning == Partitioning::fractional_even) edge.count = (edge.count + 1) & ~1u;
  if (partitioning == Partitioning::integer) edge.factor = edge.count;
  return edge;
}

/// Where point i of an edge lies, in parts. Point count - i lies as far from the other end.
__device__ __noinline__ unsigned place(const Edge& edge, unsigned i) {
  const bool mirrored = i * 2 > edge.count;
  const unsigned from = mirrored ? edge.count - i : i;
  float t = 0;
  if (from * 2 == edge.count) {
    t = 0.5f;
  } else if (from > 0) {  // whole segments have the length 1 / factor
    const float rest = (edge.factor - static_cast<float>(edge.count - 2)) * 0.5f;  // of a short one, in whole ones
    t = (rest + static_cast<float>(from - 1)) / edge.factor;
  }
  const unsigned parts = min(__float2uint_rn(t * kParts), kParts / 2);
  return mirrored ? kParts - parts : parts;
}

__device__ float factor_of(const Division& division, unsigned patch, unsigned which) {
  return division.fixed ? division.factor[which] : division.factors[std::size_t{division.factor_stride} * which + patch];
}

/// An inner ring that must be there although its factor is 1.
__device__ Edge at_least_a_ring(Partitioning partitioning, const Edge& edge) {
  if (edge.count != 1) return edge;
  return edge_of(partitioning, partitioning == Partitioning::fractional_odd ? 1.0001f : 2.0f);
}

__device__ __noinline__ Factors factors_of(const DrawData& draw, unsigned patch) {
  const Division& division = draw.division;
  const unsigned edges = division.shape == DomainShape::triangles ? 3 : division.shape == DomainShape::quads ? 4 : 2;
  const unsigned insides = division.shape == DomainShape::triangles ? 1 : division.shape == DomainShape::quads ? 2 : 0;
  Factors factors{};
  bool plain = true;
  for (unsigned e = 0; e < edges; ++e) {
    const float factor = factor_of(division, patch, e);
    factors.dropped = factors.dropped || !(factor > 0);  // also NaN
    const bool lines = division.shape == DomainShape::isolines && e == 0;
    factors.edge[e] = edge_of(lines ? Partitioning::integer : division.partitioning, factor);
    plain = plain && factors.edge[e].count == 1;
  }
  for (unsigned i = 0; i < insides; ++i) {
    factors.inside[i] = edge_of(division.partitioning, factor_of(division, patch, 4 + i));
    plain = plain && factors.inside[i].count == 1;
  }
  for (unsigned i = 0; i < insides && !plain; ++i)
    factors.inside[i] = at_least_a_ring(division.partitioning, factors.inside[i]);
  const bool there = draw.list[std::size_t{patch} * draw.assembly.size] != kNone;
  factors.dropped = factors.dropped || !there;
  return factors;
}

/// Of a ring inside the outermost one: how many segments its sides have, by axis. A triangle has one axis.
__device__ unsigned side_of(const Factors& factors, unsigned ring, unsigned axis) {
  return factors.inside[axis].count - 2 * ring;
}

/// Points of a ring of a triangle with `side` segments each.
__device__ unsigned triangle_ring(unsigned side) { return side == 0 ? 1 : 3 * side; }

/// Where points and primitives of a patch go.
struct Output {
  const DrawData& draw;
  unsigned patch;
  unsigned first_point, points;   ///< of the patch; how many there are so far
  unsigned first_primitive, primitives;

  __device__ __noinline__ void point(unsigned u, unsigned v) {
    const Division& division = draw.division;
    const unsigned at = first_point + points++;
    division.patch[at] = patch;
    division.u[at] = static_cast<float>(u) / kParts;
    division.v[at] = static_cast<float>(v) / kParts;
  }
  __device__ __noinline__ void triangle(unsigned a, unsigned b, unsigned c) {
    const Division& division = draw.division;
    if (division.output == OutputTopology::triangles) {
      std::uint32_t* const to = division.list.get() + std::size_t{first_primitive + primitives++} * 3;
      to[0] = first_point + a;
      to[1] = first_point + (division.clockwise ? b : c);
      to[2] = first_point + (division.clockwise ? c : b);
    } else if (division.output == OutputTopology::lines) {
      line(a, b), line(b, c), line(c, a);
    }
  }
  __device__ void line(unsigned a, unsigned b) {
    std::uint32_t* const to = draw.division.list.get() + std::size_t{first_primitive + primitives++} * 2;
    to[0] = first_point + a, to[1] = first_point + b;
  }
};

/// Two sides that face each other: `outer` segments from `outer_at` and `inner` ones; the last point of a
/// ring's last side is the ring's first. Filled with triangles, each from the side that is behind.
struct Sides {
  unsigned outer_first, outer_size, outer_at, outer;
  unsigned inner_first, inner_size, inner_at, inner;
};
__device__ __noinline__ void fill(Output& output, const Sides& sides) {
  unsigned i = 0, j = 0;
  while (i < sides.outer || j < sides.inner) {
    const unsigned a = sides.outer_first + (sides.outer_at + i) % sides.outer_size;
    const unsigned b = sides.inner_first + (sides.inner_at + j) % sides.inner_size;
    const bool outer = j == sides.inner || (i < sides.outer && (2 * i + 1) * sides.inner <= (2 * j + 1) * sides.outer);
    if (outer) {
      output.triangle(a, sides.outer_first + (sides.outer_at + i + 1) % sides.outer_size, b);
      ++i;
    } else {
      output.triangle(a, sides.inner_first + (sides.inner_at + j + 1) % sides.inner_size, b);
      ++j;
    }
  }
}

// A triangle's corners are u = 1, v = 1 and w = 1; edge e lies across corner e, where that coordinate is 0.
// Its outermost ring goes from v = 1 over w = 1 (edge 0, u = 0), over u = 1 (edge 1, v = 0), back to v = 1
// (edge 2, w = 0).

__device__ void triangle_point(Output& output, unsigned side, unsigned t, unsigned inset) {
  // The corners of a ring at `inset` have coordinates 2/3 inset, 2/3 inset and what is left.
  const unsigned low = inset * 2 / 3, high = kParts - 2 * low, span = high - low;
  const unsigned rising = low + static_cast<unsigned>(static_cast<unsigned long long>(span) * t / kParts);
  const unsigned falling = low + high - rising;
  if (side == 0) output.point(low, falling);
  if (side == 1) output.point(rising, low);
  if (side == 2) output.point(falling, rising);
}

__device__ void triangle_points(Output& output, const Factors& factors) {
  for (unsigned side = 0; side < 3; ++side)
    for (unsigned i = 0; i < factors.edge[side].count; ++i) {
      const unsigned t = place(factors.edge[side], i);
      if (side == 0) output.point(0, kParts - t);
      if (side == 1) output.point(t, 0);
      if (side == 2) output.point(kParts - t, t);
    }
  const Edge& inside = factors.inside[0];
  for (unsigned ring = 1; ring * 2 <= inside.count; ++ring) {
    const unsigned segments = side_of(factors, ring, 0), inset = place(inside, ring);
    if (segments == 0) triangle_point(output, 0, 0, kParts / 2);
    for (unsigned side = 0; side < 3 && segments != 0; ++side)
      for (unsigned i = 0; i < segments; ++i) {
        const unsigned at = place(inside, ring + i) - inset, length = kParts - 2 * inset;
        const unsigned t = length == 0 ? 0 : static_cast<unsigned>(static_cast<unsigned long long>(at) * kParts / length);
        triangle_point(output, side, t, inset);
      }
  }
}

__device__ void triangle_primitives(Output& output, const Factors& factors) {
  unsigned first = 0, size = factors.edge[0].count + factors.edge[1].count + factors.edge[2].count;
  const unsigned inside = factors.inside[0].count;
  if (inside == 1) return output.triangle(0, 1, 2);
  for (unsigned ring = 1; ring * 2 <= inside; ++ring) {
    const unsigned segments = side_of(factors, ring, 0), inner_size = triangle_ring(segments);
    unsigned at = 0;
    for (unsigned side = 0; side < 3; ++side) {
      const unsigned outer = ring == 1 ? factors.edge[side].count : segments + 2;
      fill(output, {first, size, at, outer, first + size, inner_size, side * segments, segments});
      at += outer;
    }
    first += size, size = inner_size;
  }
  if (inside % 2 == 1) output.triangle(first, first + 1, first + 2);
}

// A square's edges: 0 is u = 0, 1 is v = 0, 2 is u = 1, 3 is v = 1. Its ring starts at u = 0, v = 1 and goes
// along edge 0 to v = 0, then along 1, 2 and 3.

__device__ void quad_points(Output& output, const Factors& factors) {
  for (unsigned side = 0; side < 4; ++side)
    for (unsigned i = 0; i < factors.edge[side].count; ++i) {
      const unsigned t = place(factors.edge[side], i);
      output.point(side == 0 ? 0 : side == 1 ? t : side == 2 ? kParts : kParts - t,
                   side == 0 ? kParts - t : side == 1 ? 0 : side == 2 ? t : kParts);
    }
  const Edge &across = factors.inside[0], &down = factors.inside[1];
  for (unsigned j = 1; j < down.count; ++j)
    for (unsigned i = 1; i < across.count; ++i) output.point(place(across, i), place(down, j));
}

/// The ring of points around the inner grid, where point k of a side is found: a side runs as its outer one.
__device__ unsigned grid_point(unsigned first, unsigned columns, unsigned rows, unsigned side, unsigned k) {
  const unsigned right = columns - 1, bottom = rows - 1;
  const unsigned x = side == 0 ? 0 : side == 1 ? k : side == 2 ? right : right - k;
  const unsigned y = side == 0 ? bottom - k : side == 1 ? 0 : side == 2 ? k : bottom;
  return first + y * columns + x;
}

__device__ void quad_primitives(Output& output, const Factors& factors) {
  const unsigned size = factors.edge[0].count + factors.edge[1].count + factors.edge[2].count + factors.edge[3].count;
  const unsigned columns = factors.inside[0].count - 1, rows = factors.inside[1].count - 1;
  if (columns == 0) {  // all factors are 1
    output.triangle(0, 1, 2);
    output.triangle(0, 2, 3);
    return;
  }
  unsigned at = 0;
  for (unsigned side = 0; side < 4; ++side) {
    const unsigned outer = factors.edge[side].count, inner = (side % 2 == 0 ? rows : columns) - 1;
    unsigned i = 0, j = 0;
    while (i < outer || j < inner) {
      const unsigned a = (at + i) % size, b = grid_point(size, columns, rows, side, j);
      const bool is_outer = j == inner || (i < outer && (2 * i + 1) * inner <= (2 * j + 1) * outer);
      if (is_outer) {
        output.triangle(a, (at + i + 1) % size, b);
        ++i;
      } else {
        output.triangle(a, grid_point(size, columns, rows, side, j + 1), b);
        ++j;
      }
    }
    at += outer;
  }
  for (unsigned y = 0; y + 1 < rows; ++y)
    for (unsigned x = 0; x + 1 < columns; ++x) {
      const unsigned corner = size + y * columns + x;
      output.triangle(corner, corner + 1, corner + columns + 1);
      output.triangle(corner, corner + columns + 1, corner + columns);
    }
}

/// How many points and triangles, or lines, a patch becomes.
__device__ Span sizes_of(const DrawData& draw, const Factors& factors) {
  if (factors.dropped) return {0, 0};
  unsigned points = 0, primitives = 0;
  if (draw.division.shape == DomainShape::isolines) {
    points = factors.edge[0].count * (factors.edge[1].count + 1);
    primitives = factors.edge[0].count * factors.edge[1].count;
    return {points, draw.division.output == OutputTopology::points ? points : primitives};
  }
  const unsigned edges = draw.division.shape == DomainShape::triangles ? 3 : 4;
  unsigned around = 0;
  for (unsigned e = 0; e < edges; ++e) around += factors.edge[e].count;
  points = primitives = around;
  if (edges == 4) {
    const unsigned columns = factors.inside[0].count - 1, rows = factors.inside[1].count - 1;
    points += columns * rows;
    primitives = columns == 0 ? 2 : around + 2 * (columns - 1 + rows - 1) + 2 * (columns - 1) * (rows - 1);
  } else {
    const unsigned inside = factors.inside[0].count;
    unsigned outer = around;
    primitives = inside % 2;
    for (unsigned ring = 1; ring * 2 <= inside; ++ring) {
      const unsigned segments = side_of(factors, ring, 0);
      points += triangle_ring(segments);
      primitives += outer + 3 * segments;
      outer = 3 * segments;
    }
  }
  if (draw.division.output == OutputTopology::points) primitives = points;
  if (draw.division.output == OutputTopology::lines) primitives *= 3;
  return {points, primitives};
}

__device__ unsigned exclusive_sum(unsigned value, unsigned lane, unsigned& total) {
  unsigned sum = value;
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned other = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += other;
  }
  total = __shfl_sync(0xffffffffu, sum, 31);
  return sum - value;
}

}  // namespace

/// Where each patch's points and primitives go, in the patches' order: one warp. What does not fit is left
/// out.
extern "C" __global__ void raddle_draw_division_sizes(const __grid_constant__ DrawData draw) {
  const Division& division = draw.division;
  const unsigned lane = threadIdx.x;
  std::uint64_t points = 0, primitives = 0;
  for (unsigned first = 0; first < division.patch_count; first += 32) {
    const unsigned patch = first + lane;
    Span size{0, 0};
    if (patch < division.patch_count) size = sizes_of(draw, factors_of(draw, patch));
    unsigned all_points = 0, all_primitives = 0;
    const std::uint64_t point = points + exclusive_sum(size.start, lane, all_points);
    const std::uint64_t primitive = primitives + exclusive_sum(size.count, lane, all_primitives);
    points += all_points, primitives += all_primitives;
    const bool fits = point + size.start <= division.point_capacity && primitive + size.count <= division.primitive_capacity;
    if (patch >= division.patch_count) continue;
    division.points_of[patch] = {static_cast<unsigned>(point), fits ? size.start : 0};
    division.primitives_of[patch] = {static_cast<unsigned>(primitive), fits ? size.count : 0};
  }
  if (lane != 0) return;
  if (points > division.point_capacity) report(draw.status, DrawError::tessellated_points, points, division.point_capacity);
  if (primitives > division.primitive_capacity)
    report(draw.status, DrawError::tessellated_primitives, primitives, division.primitive_capacity);
  const bool all = points <= division.point_capacity && primitives <= division.primitive_capacity;
  draw.counters.get()->points = all ? static_cast<unsigned>(points) : 0;
  draw.counters.get()->primitives = all ? static_cast<unsigned>(primitives) : 0;
}

/// A thread per patch.
extern "C" __global__ void raddle_draw_divide(const __grid_constant__ DrawData draw) {
  const Division& division = draw.division;
  for (unsigned patch = Loop::first(); patch < division.patch_count; patch += Loop::step()) {
    const Span points = division.points_of[patch], primitives = division.primitives_of[patch];
    if (points.count == 0) continue;
    const Factors factors = factors_of(draw, patch);
    Output output{draw, patch, points.start, 0, primitives.start, 0};
    if (division.shape == DomainShape::triangles) {
      triangle_points(output, factors);
      triangle_primitives(output, factors);
    } else if (division.shape == DomainShape::quads) {
      quad_points(output, factors);
      quad_primitives(output, factors);
    } else {
      const unsigned lines = factors.edge[0].count, segments = factors.edge[1].count;
      for (unsigned l = 0; l < lines; ++l)
        for (unsigned i = 0; i <= segments; ++i) {
          output.point(place(factors.edge[1], i), static_cast<unsigned>(static_cast<std::uint64_t>(l) * kParts / lines));
          if (i != 0 && division.output == OutputTopology::lines) output.line(output.points - 2, output.points - 1);
        }
    }
    if (division.output == OutputTopology::points)
      for (unsigned i = 0; i < primitives.count; ++i) division.list[primitives.start + i] = points.start + i;
  }
}
