// The input assembler: indices become lists of primitives' vertices. What an index names is checked here.
#include "graphics/kernels/draw.h"

using namespace raddle::graphics;

namespace {

__device__ unsigned index_at(const Assembly& from, unsigned at) {
  if (from.index_bytes == 0) return at;
  return from.index_bytes == 2 ? reinterpret_cast<const std::uint16_t*>(from.indices.get())[at]
                               : reinterpret_cast<const std::uint32_t*>(from.indices.get())[at];
}

/// The shaded vertex at a place of an instance's indices; kNone: there is no such vertex.
__device__ unsigned vertex_at(const DrawData& draw, unsigned instance, unsigned at) {
  const Assembly& from = draw.assembly;
  const unsigned base = instance * from.per_instance;
  if (from.index_bytes == 0) return base + at;
  const unsigned vertex = index_at(from, at) + from.base_vertex;
  if (vertex >= from.vertex_count) {
    report(draw.status, DrawError::index_out_of_range, vertex, from.vertex_count);
    return kNone;
  }
  return base + (from.dense ? vertex : at);
}

/// The last index of an instance's primitive p, where runs do not end early.
__device__ unsigned last_of(const Assembly& from, unsigned p) {
  switch (from.topology) {
    case Topology::points: return p;
    case Topology::lines: return 2 * p + 1;
    case Topology::line_strip: return p + 1;
    case Topology::triangles: return 3 * p + 2;
    case Topology::triangle_strip:
    case Topology::triangle_fan: return p + 2;
    case Topology::lines_adjacent: return 4 * p + 3;
    case Topology::line_strip_adjacent: return p + 3;
    case Topology::triangles_adjacent: return 6 * p + 5;
    case Topology::triangle_strip_adjacent: return 2 * p + 5;
    case Topology::patches: return from.size * p + from.size - 1;
  }
  return 0;
}

/// Whether a primitive ends with the r-th index of its run.
__device__ bool ends_at(const Assembly& from, unsigned r) {
  switch (from.topology) {
    case Topology::points: return true;
    case Topology::lines: return r % 2 == 1;
    case Topology::line_strip: return r >= 1;
    case Topology::triangles: return r % 3 == 2;
    case Topology::triangle_strip:
    case Topology::triangle_fan: return r >= 2;
    case Topology::lines_adjacent: return r % 4 == 3;
    case Topology::line_strip_adjacent: return r >= 3;
    case Topology::triangles_adjacent: return r % 6 == 5;
    case Topology::triangle_strip_adjacent: return r >= 5 && r % 2 == 1;
    case Topology::patches: return r % from.size == from.size - 1;
  }
  return false;
}

/// Of a strip with adjacency: triangle i, whose corners begin at `base`, and the vertices across its edges.
__device__ void adjacent_corners(unsigned base, unsigned i, bool is_last, unsigned* corner) {
  const bool odd = (i & 1) != 0;
  const unsigned before = i == 0 ? base + 1 : base - 2, after = is_last ? base + 5 : base + 6;
  corner[0] = odd ? base + 2 : base;
  corner[2] = odd ? base : base + 2;
  corner[4] = base + 4;
  corner[1] = before;
  corner[3] = odd ? base + 3 : after;
  corner[5] = odd ? after : base + 3;
}

/// Places, among the indices, of the primitive that ends at `last`, the r-th of its run.
__device__ void corners_of(const Assembly& from, unsigned last, unsigned r, bool is_last, unsigned* corner) {
  const unsigned size = from.size;
  switch (from.topology) {
    case Topology::triangle_strip: {
      const unsigned odd = r & 1, first = last - 2;
      corner[0] = first, corner[1] = first + 1 + odd, corner[2] = first + 2 - odd;
      break;
    }
    case Topology::triangle_fan:
      corner[0] = last - 1, corner[1] = last, corner[2] = last - r;
      break;
    case Topology::lines_adjacent:
    case Topology::line_strip_adjacent:
      for (unsigned c = 0; c < size; ++c) corner[c] = last - 3 + c + (size == 2 ? 1 : 0);
      break;
    case Topology::triangles_adjacent:
      for (unsigned c = 0; c < size; ++c) corner[c] = last - 5 + c * (size == 3 ? 2 : 1);
      break;
    case Topology::triangle_strip_adjacent: {
      unsigned all[6];
      adjacent_corners(last - 5, (r - 5) / 2, is_last, all);
      for (unsigned c = 0; c < size; ++c) corner[c] = all[c * (size == 3 ? 2 : 1)];
      break;
    }
    default:
      for (unsigned c = 0; c < size; ++c) corner[c] = last - size + 1 + c;
  }
}

}  // namespace

/// Where the run of each index begins: one warp, 32 indices at a time.
extern "C" __global__ void raddle_draw_runs(const __grid_constant__ DrawData draw) {
  const Assembly& from = draw.assembly;
  const unsigned lane = threadIdx.x, all_ones = from.index_bytes == 2 ? 0xffffu : 0xffffffffu;
  unsigned start = 0;
  for (unsigned first = 0; first < from.index_count; first += 32) {
    const unsigned at = first + lane;
    const bool ends = at < from.index_count && index_at(from, at) == all_ones;
    const unsigned ending = __ballot_sync(0xffffffffu, ends);
    const unsigned before = ending & ((2u << lane) - 1);
    if (at < from.index_count) from.run[at] = before == 0 ? start : first + 32 - __clz(before);
    if (ending != 0) start = first + 32 - __clz(ending);
  }
}

/// A thread per place of the list. A primitive of which an index names no vertex is left out.
extern "C" __global__ void raddle_draw_assemble(const __grid_constant__ DrawData draw) {
  const Assembly& from = draw.assembly;
  const unsigned count = from.places * from.instances;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    draw.counters.get()->primitives = count;
    draw.counters.get()->patches = count;
  }
  for (unsigned p = Loop::first(); p < count; p += Loop::step()) {
    const unsigned instance = p / from.places, place = p % from.places;
    const unsigned last = from.restart ? place : last_of(from, place);
    const unsigned run = from.restart ? from.run[place] : 0;
    bool there = true, is_last = last + 2 >= from.index_count;
    if (from.restart) {
      there = run <= place && ends_at(from, last - run);
      is_last = is_last || from.run[last + 2] != run;
    }
    std::uint32_t* const to = draw.list.get() + std::size_t{p} * from.size;
    if (from.topology == Topology::patches) {
      for (unsigned c = 0; c < from.size; ++c) {
        const unsigned vertex = there ? vertex_at(draw, instance, last - from.size + 1 + c) : kNone;
        to[c] = vertex;
        there = there && vertex != kNone;
      }
      if (!there) to[0] = kNone;
      continue;
    }
    unsigned corner[6];
    if (there) corners_of(from, last, last - run, is_last, corner);
    for (unsigned c = 0; c < from.size; ++c) {
      const unsigned vertex = there ? vertex_at(draw, instance, corner[c]) : kNone;
      to[c] = vertex;
      there = there && vertex != kNone;
    }
    if (!there) to[0] = kNone;
  }
}
