#include "mesh.h"

#include <cmath>
#include <numbers>

namespace examples {
namespace {

constexpr float kPi = std::numbers::pi_v<float>;

/// A grid of points, u and v from 0 to 1, as triangles.
template <class Point>
void add_grid(Mesh& mesh, unsigned columns, unsigned rows, const Point& point) {
  const auto first = static_cast<std::uint32_t>(mesh.vertices.size());
  for (unsigned j = 0; j <= rows; ++j)
    for (unsigned i = 0; i <= columns; ++i)
      mesh.vertices.push_back(point(static_cast<float>(i) / static_cast<float>(columns),
                                    static_cast<float>(j) / static_cast<float>(rows)));
  for (unsigned j = 0; j < rows; ++j)
    for (unsigned i = 0; i < columns; ++i) {
      const std::uint32_t a = first + j * (columns + 1) + i, b = a + columns + 1;
      for (const std::uint32_t at : {a, a + 1, b, a + 1, b + 1, b}) mesh.indices.push_back(at);
    }
}

deferred::MeshVertex ring_point(float u, float v) {
  const float a = 2 * kPi * u, b = 2 * kPi * v, radius = 1.4f + 0.45f * std::cos(b);
  return {{radius * std::cos(a), 0.45f * std::sin(b) + 0.3f, radius * std::sin(a)},
          {std::cos(a) * std::cos(b), std::sin(b), std::sin(a) * std::cos(b)},
          {6 * u, 2 * v}};
}

deferred::MeshVertex ball_point(float u, float v) {
  const float a = 2 * kPi * u, b = kPi * v;
  const float n[3] = {std::sin(b) * std::cos(a), std::cos(b), std::sin(b) * std::sin(a)};
  return {{0.7f * n[0], 0.7f * n[1] + 0.5f, 0.7f * n[2]}, {n[0], n[1], n[2]}, {4 * u, 2 * v}};
}

deferred::MeshVertex floor_point(float u, float v) {
  return {{8 * u - 4, -0.3f, 8 * v - 4}, {0, 1, 0}, {8 * u, 8 * v}};
}

}  // namespace

Mesh make_scene(unsigned detail) {
  Mesh mesh;
  add_grid(mesh, detail, detail / 2, ring_point);
  add_grid(mesh, detail / 2, detail / 4, ball_point);
  add_grid(mesh, 4, 4, floor_point);
  return mesh;
}

Matrix perspective(float height_over_distance, float aspect, float near, float far) {
  const float scale = 1 / height_over_distance;
  return {scale / aspect,
          0,
          0,
          0,
          0,
          scale,
          0,
          0,
          0,
          0,
          far / (near - far),
          near * far / (near - far),
          0,
          0,
          -1,
          0};
}

Matrix look_at(const std::array<float, 3>& eye, const std::array<float, 3>& at) {
  const auto normal = [](std::array<float, 3> a) {
    const float length = std::sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    return std::array{a[0] / length, a[1] / length, a[2] / length};
  };
  const auto z = normal({eye[0] - at[0], eye[1] - at[1], eye[2] - at[2]}), x = normal({z[2], 0, -z[0]});
  const std::array y{z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]};
  const auto row = [&eye](const std::array<float, 3>& a) {
    return -(a[0] * eye[0] + a[1] * eye[1] + a[2] * eye[2]);
  };
  return {x[0], x[1], x[2], row(x), y[0], y[1], y[2], row(y), z[0], z[1], z[2], row(z), 0, 0, 0, 1};
}

Matrix multiply(const Matrix& a, const Matrix& b) {
  Matrix product{};
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; k < 4; ++k) product[i * 4 + j] += a[i * 4 + k] * b[k * 4 + j];
  return product;
}

}  // namespace examples
