// Meshes and matrices of the graphics examples.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "deferred.cuh"

namespace examples {

using Matrix = std::array<float, 16>;  ///< rows; points are columns

struct Mesh {
  std::vector<deferred::MeshVertex> vertices;
  std::vector<std::uint32_t> indices;
};

/// A ring around the y axis, a ball and a floor. `detail` segments around the ring.
Mesh make_scene(unsigned detail);
Matrix perspective(float height_over_distance, float aspect, float near, float far);
/// From the world to the view of an eye that looks at a point; y is up.
Matrix look_at(const std::array<float, 3>& eye, const std::array<float, 3>& at);
Matrix multiply(const Matrix& a, const Matrix& b);

}  // namespace examples
