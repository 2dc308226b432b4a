// Shaders of the graphics tests. src/graphics/kernels/regenerate makes the PTX beside it.
#include "raddle/shader.h"

using namespace raddle::graphics;

/// Attribute 0 is the position, attribute 1 the first four varyings.
extern "C" __global__ void plain_vertex(const __grid_constant__ VertexBatch batch, const float*) {
  for (unsigned i = batch.first(); i < batch.count; i += batch.step())
    batch.put(i, batch.raw<float4>(0, i), batch.raw<float4>(1, i));
}

/// Attributes of any format: the second becomes the varyings.
extern "C" __global__ void formats_vertex(const __grid_constant__ VertexBatch batch, const float*) {
  for (unsigned i = batch.first(); i < batch.count; i += batch.step())
    batch.put(i, batch.raw<float4>(0, i), batch.attribute(1, i));
}

/// No buffers: the numbers of vertex and instance as varyings.
extern "C" __global__ void number_vertex(const __grid_constant__ VertexBatch batch, const float*) {
  for (unsigned i = batch.first(); i < batch.count; i += batch.step())
    batch.put(i, make_float4(0, 0, 0, 1),
              make_float2(static_cast<float>(batch.vertex(i)), static_cast<float>(batch.instance(i))));
}

/// What geometry shaders of tests are told.
struct Recorder {
  float* values;
  unsigned* count;
};

/// Writes down, for each primitive, the first two varyings of its vertices; draws nothing.
extern "C" __global__ void record_geometry(const __grid_constant__ GeometryBatch batch, const Recorder* to) {
  for (unsigned p = batch.first(); p < batch.count(); p += batch.step()) {
    Emitter emitter(batch, p);
    if (!batch.primitives.has(p)) continue;
    const unsigned size = batch.primitives.size;
    for (unsigned c = 0; c < size; ++c) {
      const float2 value = batch.in.get<float2>(batch.primitives.vertex(p, c));
      to->values[(p * size + c) * 2] = value.x;
      to->values[(p * size + c) * 2 + 1] = value.y;
    }
    atomicAdd(to->count, 1u);
  }
}

/// Points become squares, or nothing if varying 3 is negative.
extern "C" __global__ void sprite_geometry(const __grid_constant__ GeometryBatch batch, const float* half_size) {
  for (unsigned p = batch.first(); p < batch.count(); p += batch.step()) {
    Emitter emitter(batch, p);
    if (!batch.primitives.has(p)) continue;
    const unsigned vertex = batch.primitives.vertex(p, 0);
    const float4 at = batch.in.position(vertex), colour = batch.in.get<float4>(vertex);
    if (colour.w < 0) continue;
    for (unsigned c = 0; c < 4; ++c)
      emitter.emit(make_float4(at.x + (c & 1 ? *half_size : -*half_size), at.y + (c & 2 ? -*half_size : *half_size), at.z, at.w),
                   colour);
  }
}

/// Each triangle goes to all six layers; its colour says which.
extern "C" __global__ void cube_geometry(const __grid_constant__ GeometryBatch batch, const float*) {
  for (unsigned p = batch.first(); p < batch.count(); p += batch.step()) {
    Emitter emitter(batch, p);
    if (!batch.primitives.has(p)) continue;
    for (unsigned face = 0; face < 6; ++face) {
      emitter.cut();
      for (unsigned c = 0; c < 3; ++c) {
        float4 at = batch.in.position(batch.primitives.vertex(p, c));
        at.x += 0.25f * face;
        emitter.emit(at, make_float4((face + 1) / 8.0f, 0, 0, 1), face);
      }
    }
  }
}

/// The varyings as they are.
extern "C" __global__ void colour_pixel(const __grid_constant__ PixelBatch batch, const float*) {
  for (unsigned i = batch.first(); i < batch.end(); i += batch.step()) {
    const Pixel pixel(batch, i);
    pixel.colour(0, pixel.varyings<float4>());
  }
}

/// What a fragment knows: flat varying, depth, w, and its face with its primitive.
extern "C" __global__ void facts_pixel(const __grid_constant__ PixelBatch batch, const float*) {
  for (unsigned i = batch.first(); i < batch.end(); i += batch.step()) {
    const Pixel pixel(batch, i);
    pixel.colour(0, pixel.varyings<float4>());
    pixel.colour(1, make_float4(pixel.flat(0), pixel.depth, pixel.w, pixel.primitive + (pixel.front ? 0.5f : 0)));
    const float4 all = pixel.varyings<float4>();
    pixel.colour(2, make_float4(Pixel::ddx(all.x), Pixel::ddy(all.x), pixel.x, pixel.y));
  }
}

/// Two colours, for blending with both.
extern "C" __global__ void two_pixel(const __grid_constant__ PixelBatch batch, const float* second) {
  for (unsigned i = batch.first(); i < batch.end(); i += batch.step()) {
    const Pixel pixel(batch, i);
    pixel.colour(0, pixel.varyings<float4>());
    pixel.colour(1, make_float4(second[0], second[1], second[2], second[3]));
  }
}

/// Drops fragments in a pattern, and those left have the depth of varying 3.
extern "C" __global__ void holes_pixel(const __grid_constant__ PixelBatch batch, const float*) {
  for (unsigned i = batch.first(); i < batch.end(); i += batch.step()) {
    const Pixel pixel(batch, i);
    const float4 all = pixel.varyings<float4>();
    pixel.colour(0, all);
    pixel.set_depth(all.w);
    if ((pixel.x + 2 * pixel.y) % 3 == 0) pixel.discard();
  }
}

/// A checked image through a texture, with the level that the derivatives ask for.
extern "C" __global__ void texture_pixel(const __grid_constant__ PixelBatch batch, const unsigned long long* texture) {
  for (unsigned i = batch.first(); i < batch.end(); i += batch.step()) {
    const Pixel pixel(batch, i);
    const float2 at = pixel.varyings<float2>();
    const float2 dx = make_float2(Pixel::ddx(at.x), Pixel::ddx(at.y)), dy = make_float2(Pixel::ddy(at.x), Pixel::ddy(at.y));
    pixel.colour(0, tex2DGrad<float4>(*texture, at.x, at.y, dx, dy));
  }
}

/// Integers that no float holds.
extern "C" __global__ void integer_pixel(const __grid_constant__ PixelBatch batch, const float*) {
  for (unsigned i = batch.first(); i < batch.end(); i += batch.step()) {
    const Pixel pixel(batch, i);
    pixel.integers(0, make_uint4(0xfffffff0u + pixel.x % 8, pixel.y, 0x01020304u, 7));
  }
}

/// Control points as they are; factors from the constants, edge 0 plus the patch's number.
extern "C" __global__ void plain_hull(const __grid_constant__ HullBatch batch, const float* factors) {
  for (unsigned p = batch.first(); p < batch.count(); p += batch.step()) {
    if (!batch.patches.has(p)) continue;
    for (unsigned c = 0; c < batch.points_out; ++c) {
      const unsigned from = batch.patches.vertex(p, c);
      batch.out.put(p * batch.points_out + c, batch.in.position(from), batch.in.get<float4>(from));
    }
    for (unsigned e = 0; e < 4; ++e) batch.set_edge(p, e, factors[e]);
    for (unsigned e = 0; e < 2; ++e) batch.set_inside(p, e, factors[4 + e]);
  }
}

/// The place in the patch as position and varyings.
extern "C" __global__ void place_domain(const __grid_constant__ DomainBatch batch, const float*) {
  for (unsigned i = batch.first(); i < batch.count(); i += batch.step())
    batch.out.put(i, make_float4(batch.u[i], batch.v[i], 0, 1), make_float2(batch.u[i], batch.v[i]));
}

/// Weighs three or four control points; varyings too.
extern "C" __global__ void patch_domain(const __grid_constant__ DomainBatch batch, const float*) {
  for (unsigned i = batch.first(); i < batch.count(); i += batch.step()) {
    const float u = batch.u[i], v = batch.v[i];
    const bool three = batch.patches.size == 3;
    const float weight[4] = {three ? u : (1 - u) * (1 - v), three ? v : u * (1 - v), three ? 1 - u - v : u * v,
                             three ? 0 : (1 - u) * v};
    float4 at = make_float4(0, 0, 0, 0), all = at;
    for (unsigned c = 0; c < batch.patches.size && c < 4; ++c) {
      const unsigned point = batch.control_point(i, c);
      const float4 position = batch.in.position(point), values = batch.in.get<float4>(point);
      at.x += weight[c] * position.x, at.y += weight[c] * position.y, at.z += weight[c] * position.z, at.w += weight[c] * position.w;
      all.x += weight[c] * values.x, all.y += weight[c] * values.y, all.z += weight[c] * values.z, all.w += weight[c] * values.w;
    }
    batch.out.put(i, at, all);
  }
}

/// Not a shader of any stage.
extern "C" __global__ void no_shader(float*) {}
