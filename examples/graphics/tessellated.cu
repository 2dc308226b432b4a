// Shaders of the tessellated example: six square patches become a sphere with a coloured pattern.
// src/graphics/kernels/regenerate makes the PTX beside it.
#include "raddle/shader.h"

using namespace raddle::graphics;

namespace {

struct View {
  float view_projection[16];  ///< rows
  float light[4], levels[4];  ///< levels: factors of edges and insides
};
struct Point {
  float x, y, z;
};

}  // namespace

/// Corner i of the cube's face i / 4, from its number; also a varying, since patches hold varyings.
extern "C" __global__ void cube_vertex(const __grid_constant__ VertexBatch batch, const View*) {
  for (unsigned i = batch.first(); i < batch.count; i += batch.step()) {
    const unsigned face = batch.vertex(i) / 4, corner = batch.vertex(i) % 4;
    const float u = corner == 1 || corner == 2 ? 1 : -1, v = corner >= 2 ? 1 : -1, side = face & 1 ? -1 : 1;
    Point at;
    if (face < 2) at = {side, v, -u * side};
    else if (face < 4) at = {u, side, -v * side};
    else at = {u * side, v, side};
    batch.put(i, make_float4(0, 0, 0, 1), at);
  }
}

extern "C" __global__ void sphere_hull(const __grid_constant__ HullBatch batch, const View* view) {
  for (unsigned p = batch.first(); p < batch.count(); p += batch.step()) {
    for (unsigned c = 0; c < 4; ++c)
      batch.out.put(p * 4 + c, make_float4(0, 0, 0, 1), batch.in.get<Point>(batch.patches.vertex(p, c)));
    for (unsigned e = 0; e < 4; ++e) batch.set_edge(p, e, view->levels[0]);
    for (unsigned e = 0; e < 2; ++e) batch.set_inside(p, e, view->levels[1]);
  }
}

/// The point of the cube's face, pushed out to the sphere.
extern "C" __global__ void sphere_domain(const __grid_constant__ DomainBatch batch, const View* view) {
  for (unsigned i = batch.first(); i < batch.count(); i += batch.step()) {
    const float u = batch.u[i], v = batch.v[i];
    const float weight[4] = {(1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v};
    Point at{0, 0, 0};
    for (unsigned c = 0; c < 4; ++c) {
      const Point corner = batch.in.get<Point>(batch.control_point(i, c));
      at.x += weight[c] * corner.x, at.y += weight[c] * corner.y, at.z += weight[c] * corner.z;
    }
    const float scale = rsqrtf(at.x * at.x + at.y * at.y + at.z * at.z);
    at.x *= scale, at.y *= scale, at.z *= scale;
    const float* const m = view->view_projection;
    float place[4];
    for (int row = 0; row < 4; ++row)
      place[row] = m[row * 4] * at.x + m[row * 4 + 1] * at.y + m[row * 4 + 2] * at.z + m[row * 4 + 3];
    batch.out.put(i, make_float4(place[0], place[1], place[2], place[3]), at);
  }
}

/// Lambert's law, and a colour that depends on the place.
extern "C" __global__ void sphere_pixel(const __grid_constant__ PixelBatch batch, const View* view) {
  for (unsigned i = batch.first(); i < batch.end(); i += batch.step()) {
    const Pixel pixel(batch, i);
    Point n = pixel.varyings<Point>();
    const float scale = rsqrtf(n.x * n.x + n.y * n.y + n.z * n.z);
    n.x *= scale, n.y *= scale, n.z *= scale;
    const float lit = 0.15f + 0.85f * fmaxf(n.x * view->light[0] + n.y * view->light[1] + n.z * view->light[2], 0);
    pixel.colour(0, make_float4(lit * (0.6f + 0.4f * n.x), lit * (0.6f + 0.4f * n.y), lit * (0.6f + 0.4f * n.z), 1));
  }
}
