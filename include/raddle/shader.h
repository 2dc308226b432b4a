// What the shaders of the graphics pipeline see (docs/graphics.md). A shader is a kernel with two parameters,
// a batch from this file and a 64-bit address of the user's constants:
//
//   extern "C" __global__ void place(raddle::graphics::VertexBatch batch, const Constants* constants) {
//     for (unsigned i = batch.first(); i < batch.count; i += batch.step())
//       batch.put(i, constants->transform * batch.attribute(0, i), Varyings{...});
//   }
//
// The structures are plain data that host and kernels share; their member functions are there in CUDA C++
// only.
#pragma once

#include <cstdint>

#include "raddle/texture.h"

#if defined(__CUDACC__) || defined(__CUDA__)
#define RADDLE_SHADER_CODE 1
#define RADDLE_SHADER __device__ __forceinline__
#endif

namespace raddle::graphics {

constexpr unsigned kMaxTargets = 8, kMaxAttributes = 16, kMaxVaryings = 64, kMaxPatchSize = 32;
constexpr std::uint32_t kNone = 0xffffffffu;  ///< no vertex, no primitive
constexpr int kSubPixels = 256;               ///< positions are rounded to such parts of a pixel

/// The address of an array in device memory.
template <class T>
struct Array {
  std::uint64_t address = 0;
#ifdef RADDLE_SHADER_CODE
  RADDLE_SHADER T* get() const { return reinterpret_cast<T*>(address); }
  RADDLE_SHADER T& operator[](std::size_t i) const { return get()[i]; }
#endif
};

/// Vertices: planes of `stride` floats each. Planes 0 to 3 are the position in clip space, the others
/// varyings.
struct Vertices {
  Array<float> values;
  std::uint32_t stride = 0, varyings = 0;
#ifdef RADDLE_SHADER_CODE
  RADDLE_SHADER float* plane(unsigned p) const { return values.get() + std::size_t{stride} * p; }
  RADDLE_SHADER float4 position(unsigned i) const {
    return make_float4(plane(0)[i], plane(1)[i], plane(2)[i], plane(3)[i]);
  }
  RADDLE_SHADER float varying(unsigned k, unsigned i) const { return plane(4 + k)[i]; }
  /// Varyings as a structure of 4-byte members, the first of which is varying `first`.
  template <class T>
  RADDLE_SHADER T get(unsigned i, unsigned first = 0) const {
    union {
      T value;
      float words[sizeof(T) / 4];
    } all;
#pragma unroll
    for (unsigned k = 0; k < sizeof(T) / 4; ++k) all.words[k] = varying(first + k, i);
    return all.value;
  }
  RADDLE_SHADER void put(unsigned i, float4 position) const {
    plane(0)[i] = position.x, plane(1)[i] = position.y, plane(2)[i] = position.z, plane(3)[i] = position.w;
  }
  template <class T>
  RADDLE_SHADER void put(unsigned i, float4 position, const T& all) const {
    put(i, position);
    union {
      T value;
      float words[sizeof(T) / 4];
    } copy;
    copy.value = all;
#pragma unroll
    for (unsigned k = 0; k < sizeof(T) / 4; ++k) plane(4 + k)[i] = copy.words[k];
  }
#endif
};

/// What went wrong in a draw, first come first kept; Renderer::check() reads it.
struct Status {
  std::uint32_t error = 0;  ///< a DrawError, 0: nothing
  std::uint32_t reserved = 0;
  std::uint64_t needed = 0, limit = 0;
};

enum class DrawError : std::uint32_t {
  none,
  index_out_of_range,  ///< needed: the index, limit: vertices
  triangles,           ///< after clipping
  bin_entries,
  fragment_quads,
  tessellated_points,
  tessellated_primitives,
  geometry_vertices,
};

#ifdef RADDLE_SHADER_CODE
RADDLE_SHADER void report(Array<Status> status, DrawError error, std::uint64_t needed, std::uint64_t limit) {
  if (atomicCAS(&status.get()->error, 0u, static_cast<std::uint32_t>(error)) != 0) return;
  status.get()->needed = needed;
  status.get()->limit = limit;
}

/// One channel of a vertex attribute as a number; integers that are not normalised become their value.
RADDLE_SHADER float read_channel(const void* at, ChannelType type, unsigned channel) {
  switch (type) {
    case ChannelType::unsigned8:
      return static_cast<const std::uint8_t*>(at)[channel];
    case ChannelType::signed8:
      return static_cast<const std::int8_t*>(at)[channel];
    case ChannelType::unorm8:
      return static_cast<const std::uint8_t*>(at)[channel] / 255.0f;
    case ChannelType::snorm8:
      return fmaxf(static_cast<const std::int8_t*>(at)[channel] / 127.0f, -1.0f);
    case ChannelType::unsigned16:
      return static_cast<const std::uint16_t*>(at)[channel];
    case ChannelType::signed16:
      return static_cast<const std::int16_t*>(at)[channel];
    case ChannelType::unorm16:
      return static_cast<const std::uint16_t*>(at)[channel] / 65535.0f;
    case ChannelType::snorm16:
      return fmaxf(static_cast<const std::int16_t*>(at)[channel] / 32767.0f, -1.0f);
    case ChannelType::unsigned32:
      return static_cast<float>(static_cast<const std::uint32_t*>(at)[channel]);
    case ChannelType::signed32:
      return static_cast<float>(static_cast<const std::int32_t*>(at)[channel]);
    case ChannelType::float32:
      return static_cast<const float*>(at)[channel];
    case ChannelType::float16: {
      float value;
      asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<const std::uint16_t*>(at)[channel]));
      return value;
    }
  }
  return 0;
}
#endif

/// A stream of the input assembler, as the vertex shader reads it.
struct Attribute {
  Array<const char> values;
  std::uint32_t stride = 0;     ///< bytes
  std::uint32_t instances = 0;  ///< that share a value; 0: a value for each vertex
  TexelFormat format;
};

/// Entries of a stage's grid are dealt to threads by a loop over the grid.
struct Loop {
#ifdef RADDLE_SHADER_CODE
  static RADDLE_SHADER unsigned first() { return blockIdx.x * blockDim.x + threadIdx.x; }
  static RADDLE_SHADER unsigned step() { return gridDim.x * blockDim.x; }
#endif
};

/// Vertices to be shaded: `per_instance` of each instance.
struct VertexBatch : Loop {
  std::uint32_t count = 0, per_instance = 0;
  std::uint32_t first_vertex = 0, first_instance = 0;
  std::uint32_t vertex_count = 0;  ///< indices with base are below it
  std::int32_t base_vertex = 0;
  std::uint32_t index_bytes = 0;  ///< 0: entry i is vertex i; 2 or 4: an entry for each index
  std::uint32_t attribute_count = 0;
  Array<const char> indices;
  Vertices out;
  Attribute attributes[kMaxAttributes];
#ifdef RADDLE_SHADER_CODE
  RADDLE_SHADER unsigned instance(unsigned i) const { return first_instance + i / per_instance; }
  /// The number of the vertex in its buffers. What an index out of range names is vertex 0.
  RADDLE_SHADER unsigned vertex(unsigned i) const {
    const unsigned at = i % per_instance;
    if (index_bytes == 0) return first_vertex + at;
    const unsigned index = index_bytes == 2 ? reinterpret_cast<const std::uint16_t*>(indices.get())[at]
                                            : reinterpret_cast<const std::uint32_t*>(indices.get())[at];
    const unsigned vertex = index + base_vertex;
    return vertex < vertex_count ? vertex : 0;
  }
  /// An attribute of entry i: channels that it lacks are 0, 0, 1.
  RADDLE_SHADER float4 attribute(unsigned slot, unsigned i) const {
    const Attribute& from = attributes[slot];
    const unsigned element =
        from.instances == 0 ? vertex(i) : first_instance + (i / per_instance) / from.instances;
    const char* at = from.values.get() + std::size_t{from.stride} * element;
    const unsigned channels = from.format.channels;
    return make_float4(read_channel(at, from.format.type, 0),
                       channels > 1 ? read_channel(at, from.format.type, 1) : 0,
                       channels > 2 ? read_channel(at, from.format.type, 2) : 0,
                       channels > 3 ? read_channel(at, from.format.type, 3) : 1);
  }
  /// The same of an attribute whose format the shader knows: a structure, as it lies in memory.
  template <class T>
  RADDLE_SHADER T raw(unsigned slot, unsigned i) const {
    const Attribute& from = attributes[slot];
    const unsigned element =
        from.instances == 0 ? vertex(i) : first_instance + (i / per_instance) / from.instances;
    return *reinterpret_cast<const T*>(from.values.get() + std::size_t{from.stride} * element);
  }
  RADDLE_SHADER void put(unsigned i, float4 position) const { out.put(i, position); }
  template <class T>
  RADDLE_SHADER void put(unsigned i, float4 position, const T& varyings) const {
    out.put(i, position, varyings);
  }
#endif
};

/// Primitives that the assembler has made: `size` numbers of vertices each, kNone where there is no
/// primitive.
struct Primitives {
  Array<const std::uint32_t> list;  ///< none: vertices follow each other
  Array<const std::uint32_t> count;
  std::uint32_t size = 0;
#ifdef RADDLE_SHADER_CODE
  RADDLE_SHADER bool has(unsigned p) const {
    return list.address == 0 || list[std::size_t{p} * size] != kNone;
  }
  RADDLE_SHADER unsigned vertex(unsigned p, unsigned corner) const {
    const unsigned at = p * size + corner;
    return list.address == 0 ? at : list[at];
  }
#endif
};

/// Patches: the hull shader reads control points, writes others, and says how finely each patch is divided.
struct HullBatch : Loop {
  Primitives patches;
  Vertices in, out;  ///< control point c of patch p is vertex p * points_out + c
  std::uint32_t points_out = 0;
  std::uint32_t factor_stride = 0;
  Array<float> factors;  ///< planes: the four edges', the two inner ones
#ifdef RADDLE_SHADER_CODE
  RADDLE_SHADER unsigned count() const { return *patches.count.get(); }
  RADDLE_SHADER void set_edge(unsigned p, unsigned edge, float factor) const {
    factors[std::size_t{factor_stride} * edge + p] = factor;
  }
  RADDLE_SHADER void set_inside(unsigned p, unsigned which, float factor) const {
    factors[std::size_t{factor_stride} * (4 + which) + p] = factor;
  }
#endif
};

/// Points of divided patches: `u` and `v` of each; a triangle's third coordinate is 1 - u - v.
struct DomainBatch : Loop {
  Array<const std::uint32_t> point_count;
  Array<const std::uint32_t> patch;
  Array<const float> u, v;
  Primitives patches;  ///< as the hull shader has made them
  Vertices in, out;
#ifdef RADDLE_SHADER_CODE
  RADDLE_SHADER unsigned count() const { return *point_count.get(); }
  /// The number, in `in`, of control point c of the patch that point i belongs to.
  RADDLE_SHADER unsigned control_point(unsigned i, unsigned c) const { return patches.vertex(patch[i], c); }
#endif
};

/// Primitives that the geometry shader makes others of. Each has `most` places for vertices.
struct GeometryBatch : Loop {
  Primitives primitives;
  Vertices in, out;
  Array<std::uint32_t>
      marks;  ///< of each place: 0, or 1 + place in its strip, and the layer in bits 16 and up
  std::uint32_t most = 0, capacity = 0;  ///< places for one primitive, and in all
  Array<Status> status;
#ifdef RADDLE_SHADER_CODE
  RADDLE_SHADER unsigned count() const { return *primitives.count.get(); }
#endif
};

#ifdef RADDLE_SHADER_CODE
/// Emits vertices for one primitive, in order. Its end fills the places that are left.
class Emitter {
 public:
  RADDLE_SHADER Emitter(const GeometryBatch& batch, unsigned primitive)
      : batch_(batch), next_(primitive * batch.most), end_(next_ + batch.most) {
    if (end_ <= batch.capacity) return;
    report(batch.status, DrawError::geometry_vertices, std::uint64_t{batch.count()} * batch.most,
           batch.capacity);
    end_ = next_;
  }
  RADDLE_SHADER ~Emitter() {
    while (next_ < end_) batch_.marks[next_++] = 0;
  }
  /// Vertices past GeometryStage::max_vertices are dropped, as the pipeline's interface says.
  template <class T>
  RADDLE_SHADER void emit(float4 position, const T& varyings, unsigned layer = 0) {
    if (next_ >= end_) return;
    batch_.out.put(next_, position, varyings);
    mark(layer);
  }
  RADDLE_SHADER void emit(float4 position, unsigned layer = 0) {
    if (next_ >= end_) return;
    batch_.out.put(next_, position);
    mark(layer);
  }
  RADDLE_SHADER void cut() { strip_ = 0; }  ///< the next vertex begins a strip

 private:
  RADDLE_SHADER void mark(unsigned layer) { batch_.marks[next_++] = ++strip_ | layer << 16; }
  const GeometryBatch& batch_;
  unsigned next_, end_, strip_ = 0;
};
#endif

/// A triangle after clipping, as the rasteriser draws it.
struct Triangle {
  std::int32_t x[3], y[3];  ///< corners, in parts of a pixel, clockwise as seen
  /// Of the primitive's vertex j: its weight divided by w at corner 0, and what a pixel in x and in y adds.
  float weight[3][3];
  float depth[3];           ///< at corner 0, and what a pixel in x and in y adds
  std::uint32_t vertex[3];  ///< of the primitive
  std::uint32_t primitive;  ///< its number in its instance
  std::uint32_t flags;      ///< bit 0: front face; bits 16 and up: layer
  std::uint32_t reserved;
};

/// Fragments in quads of 2 x 2 pixels: fragments 4 q to 4 q + 3 are the pixels of a quad, row by row. There
/// are whole warps of them, so that all lanes take part in derivatives; some cover no sample.
struct PixelBatch : Loop {
  Array<const std::uint32_t> quad_counts;  ///< wanted, and how many of `capacity` / 4 there was no room for
  Array<const std::uint32_t> triangle, place;  ///< of a fragment; place: x, and y in bits 16 and up
  Array<std::uint8_t> coverage;                ///< of a fragment: a bit for each sample
  Array<float> colours;                        ///< planes: four for each target
  Array<float> depths;                         ///< that shaders have written
  Array<const Triangle> triangles;
  Vertices in;
  std::uint32_t capacity = 0;  ///< fragments, the stride of `colours`
  std::uint32_t targets = 0;
#ifdef RADDLE_SHADER_CODE
  RADDLE_SHADER unsigned end() const { return min(quad_counts[0] * 4, capacity - quad_counts[1] * 4); }
#endif
};

#ifdef RADDLE_SHADER_CODE
/// One fragment. Those that cover no sample help with derivatives, and what they write has no effect.
class Pixel {
 public:
  RADDLE_SHADER Pixel(const PixelBatch& batch, unsigned i) : batch_(batch), at_(i) {
    const unsigned place = batch.place[i];
    x = place & 0xffff, y = place >> 16;
    const Triangle& triangle = batch.triangles[batch.triangle[i]];
    const float dx =
        (static_cast<int>(x) * kSubPixels + kSubPixels / 2 - triangle.x[0]) * (1.0f / kSubPixels);
    const float dy =
        (static_cast<int>(y) * kSubPixels + kSubPixels / 2 - triangle.y[0]) * (1.0f / kSubPixels);
    float sum = 0;
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      weight_[j] = fmaf(triangle.weight[j][1], dx, fmaf(triangle.weight[j][2], dy, triangle.weight[j][0]));
      sum += weight_[j];
      vertex_[j] = triangle.vertex[j];
    }
    w = 1.0f / sum;
#pragma unroll
    for (int j = 0; j < 3; ++j) weight_[j] *= w;
    depth = fmaf(triangle.depth[1], dx, fmaf(triangle.depth[2], dy, triangle.depth[0]));
    primitive = triangle.primitive;
    front = (triangle.flags & 1) != 0;
    layer = triangle.flags >> 16;
  }

  unsigned x, y, layer, primitive;
  bool front;
  float depth, w;  ///< at the pixel's centre: in the viewport's range, and in clip space

  RADDLE_SHADER bool covered() const { return batch_.coverage[at_] != 0; }
  /// A varying at the pixel's centre, perspective-correct.
  RADDLE_SHADER float varying(unsigned k) const {
    const float* const plane = batch_.in.plane(4 + k);
    return weight_[0] * plane[vertex_[0]] + weight_[1] * plane[vertex_[1]] + weight_[2] * plane[vertex_[2]];
  }
  template <class T>
  RADDLE_SHADER T varyings(unsigned first = 0) const {
    union {
      T value;
      float words[sizeof(T) / 4];
    } all;
#pragma unroll
    for (unsigned k = 0; k < sizeof(T) / 4; ++k) all.words[k] = varying(first + k);
    return all.value;
  }
  /// The first vertex's, as it is.
  RADDLE_SHADER float flat(unsigned k) const { return batch_.in.plane(4 + k)[vertex_[0]]; }

  /// What a value is at the right neighbour less the left one's, at the lower less the upper one's.
  static RADDLE_SHADER float ddx(float value) {
    const float other = __shfl_xor_sync(0xffffffffu, value, 1);
    return (threadIdx.x & 1) != 0 ? value - other : other - value;
  }
  static RADDLE_SHADER float ddy(float value) {
    const float other = __shfl_xor_sync(0xffffffffu, value, 2);
    return (threadIdx.x & 2) != 0 ? value - other : other - value;
  }

  /// Outputs that nothing takes are dropped.
  RADDLE_SHADER void colour(unsigned target, float4 value) const {
    if (target >= batch_.targets) return;
    float* const plane = batch_.colours.get() + std::size_t{batch_.capacity} * 4 * target + at_;
    plane[0] = value.x;
    plane[std::size_t{batch_.capacity}] = value.y;
    plane[std::size_t{batch_.capacity} * 2] = value.z;
    plane[std::size_t{batch_.capacity} * 3] = value.w;
  }
  /// For targets of integers: the low bits of each number.
  RADDLE_SHADER void integers(unsigned target, uint4 value) const {
    colour(target, make_float4(__uint_as_float(value.x), __uint_as_float(value.y), __uint_as_float(value.z),
                               __uint_as_float(value.w)));
  }
  /// Needs PixelStage::may_discard.
  RADDLE_SHADER void discard() const { batch_.coverage[at_] = 0; }
  /// Needs PixelStage::writes_depth; of every fragment then.
  RADDLE_SHADER void set_depth(float value) const { batch_.depths[at_] = value; }

 private:
  const PixelBatch& batch_;
  unsigned at_;
  float weight_[3];
  unsigned vertex_[3];
};
#endif

}  // namespace raddle::graphics
