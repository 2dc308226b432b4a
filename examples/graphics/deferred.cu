// Shaders of the deferred example: a geometry pass into three targets, lighting of each pixel, and a last
// pass that blurs what is bright, maps tones and darkens the corners. src/graphics/kernels/regenerate makes
// the PTX beside it.
#include "deferred.cuh"
#include "raddle/shader.h"

using namespace raddle::graphics;
using deferred::Scene;

namespace {

struct Surface {
  float position[3], normal[3], place[2];
};

__device__ float dot(const float* a, const float* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

__device__ void normalise(float* a) {
  const float scale = rsqrtf(dot(a, a));
  for (int c = 0; c < 3; ++c) a[c] *= scale;
}

__device__ float half_at(const std::uint16_t* at) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(*at));
  return value;
}

}  // namespace

extern "C" __global__ void geometry_vertex(const __grid_constant__ VertexBatch batch, const Scene* scene) {
  for (unsigned i = batch.first(); i < batch.count; i += batch.step()) {
    const auto vertex = batch.raw<deferred::MeshVertex>(0, i);
    const float* const p = vertex.position;
    const float* const m = scene->view_projection;
    float at[4];
    for (int row = 0; row < 4; ++row)
      at[row] = m[row * 4] * p[0] + m[row * 4 + 1] * p[1] + m[row * 4 + 2] * p[2] + m[row * 4 + 3];
    batch.put(i, make_float4(at[0], at[1], at[2], at[3]), vertex);
  }
}

extern "C" __global__ void geometry_pixel(const __grid_constant__ PixelBatch batch, const Scene* scene) {
  for (unsigned i = batch.first(); i < batch.end(); i += batch.step()) {
    const Pixel pixel(batch, i);
    Surface surface = pixel.varyings<Surface>();
    normalise(surface.normal);
    pixel.colour(0, tex2DLod<float4>(scene->albedo_texture, surface.place[0], surface.place[1], 0));
    pixel.colour(1, make_float4(surface.normal[0], surface.normal[1], surface.normal[2], 0));
    pixel.colour(2, make_float4(surface.position[0], surface.position[1], surface.position[2], 1));
  }
}

/// Four vertices of a strip over the whole target; the varyings are the place in it, from the upper left.
extern "C" __global__ void screen_vertex(const __grid_constant__ VertexBatch batch, const Scene*) {
  for (unsigned i = batch.first(); i < batch.count; i += batch.step()) {
    const float x = batch.vertex(i) & 1, y = batch.vertex(i) >> 1;
    batch.put(i, make_float4(2 * x - 1, 1 - 2 * y, 0, 1), make_float2(x, y));
  }
}

extern "C" __global__ void lighting_pixel(const __grid_constant__ PixelBatch batch, const Scene* scene) {
  for (unsigned i = batch.first(); i < batch.end(); i += batch.step()) {
    const Pixel pixel(batch, i);
    const unsigned x = min(pixel.x, scene->width - 1), y = min(pixel.y, scene->height - 1), at = y * scene->width + x;
    const float4 position = reinterpret_cast<const float4*>(scene->position)[at];
    const unsigned texel = reinterpret_cast<const unsigned*>(scene->albedo)[at];
    const std::uint16_t* const halves = reinterpret_cast<const std::uint16_t*>(scene->normal) + 4 * at;
    const float normal[3] = {half_at(halves), half_at(halves + 1), half_at(halves + 2)};
    float view[3] = {scene->eye[0] - position.x, scene->eye[1] - position.y, scene->eye[2] - position.z};
    normalise(view);
    float diffuse[3] = {0.06f, 0.06f, 0.08f}, shine[3] = {0, 0, 0};
#pragma unroll 1
    for (unsigned l = 0; l < deferred::kLights; ++l) {
      const deferred::Light& light = scene->lights[l];
      float to[3] = {light.position[0] - position.x, light.position[1] - position.y, light.position[2] - position.z};
      const float distance = dot(to, to);
      normalise(to);
      float half[3] = {to[0] + view[0], to[1] + view[1], to[2] + view[2]};
      normalise(half);
      const float strength = 1 / (1 + distance / (light.range * light.range));
      const float facing = fmaxf(dot(normal, to), 0) * strength;
      float glance = fmaxf(dot(normal, half), 0);
      glance *= glance, glance *= glance, glance *= glance, glance *= glance, glance *= glance;  // to the 32nd
      for (int c = 0; c < 3; ++c) {
        diffuse[c] += light.colour[c] * facing;
        shine[c] += light.colour[c] * (facing > 0 ? glance * strength * 0.5f : 0);
      }
    }
    float colour[3];
    for (int c = 0; c < 3; ++c) colour[c] = (texel >> 8 * c & 255) * (1 / 255.0f) * diffuse[c] + shine[c];
    const float sky = static_cast<float>(y) / scene->height;
    if (position.w == 0) colour[0] = 0.1f + 0.1f * sky, colour[1] = 0.15f + 0.2f * sky, colour[2] = 0.3f + 0.3f * sky;
    pixel.colour(0, make_float4(colour[0], colour[1], colour[2], 1));
  }
}

extern "C" __global__ void post_pixel(const __grid_constant__ PixelBatch batch, const Scene* scene) {
  const float4* const lit = reinterpret_cast<const float4*>(scene->lit);
  const int right = scene->width - 1, bottom = scene->height - 1;
  for (unsigned i = batch.first(); i < batch.end(); i += batch.step()) {
    const Pixel pixel(batch, i);
    const int px = min(static_cast<int>(pixel.x), right), py = min(static_cast<int>(pixel.y), bottom);
    const float4 here = lit[py * (right + 1) + px];
    float colour[3] = {here.x, here.y, here.z};
#pragma unroll 1
    for (int tap = 0; tap < 4; ++tap) {
      const int x = min(max(px + (tap & 1 ? 2 : -2), 0), right), y = min(max(py + (tap & 2 ? 2 : -2), 0), bottom);
      const float4 near = lit[y * (right + 1) + x];
      colour[0] += 0.25f * fmaxf(near.x - 0.8f, 0);
      colour[1] += 0.25f * fmaxf(near.y - 0.8f, 0);
      colour[2] += 0.25f * fmaxf(near.z - 0.8f, 0);
    }
    const float2 at = pixel.varyings<float2>();
    const float x = 2 * at.x - 1, y = 2 * at.y - 1, shade = 1 - 0.15f * (x * x + y * y);
    for (int c = 0; c < 3; ++c) colour[c] = sqrtf(colour[c] / (1 + colour[c])) * shade;  // near a gamma of 2.2
    pixel.colour(0, make_float4(colour[0], colour[1], colour[2], 1));
  }
}

/// One pass alone: the texture in the light of a sun. bench_graphics draws it beside another renderer.
extern "C" __global__ void textured_pixel(const __grid_constant__ PixelBatch batch, const Scene* scene) {
  for (unsigned i = batch.first(); i < batch.end(); i += batch.step()) {
    const Pixel pixel(batch, i);
    Surface surface = pixel.varyings<Surface>();
    normalise(surface.normal);
    const float4 texel = tex2DLod<float4>(scene->albedo_texture, surface.place[0], surface.place[1], 0);
    const float sun[3] = {0.48f, 0.8f, 0.36f}, lit = 0.2f + 0.8f * fmaxf(dot(surface.normal, sun), 0);
    pixel.colour(0, make_float4(texel.x * lit, texel.y * lit, texel.z * lit, 1));
  }
}
