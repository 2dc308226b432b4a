// Cube maps: six faces around a direction, and what lies beyond a face's edges.
#pragma once

#include <array>
#include <cstdint>

#include "machine/texture/filter.h"

namespace raddle::machine {

/// Where a direction leaves a cube: face and coordinates on it, 0 to 1 (CUDA C++ Programming Guide, "Cubemap
/// Textures").
struct CubePoint {
  std::uint32_t face;
  float s, t;
};
CubePoint cube_point(float x, float y, float z);

/// The texel at these indices of a slice; of a seamless cube, what it has beside the face where they are
/// outside.
Texel texel_of_cube(const View& view, const std::array<std::int32_t, 3>& i, std::uint32_t slice);

/// A linear filter over the edges of faces.
Texel seamless_sample(const View& view, const Footprint<1>& f, std::uint32_t slice);

}  // namespace raddle::machine
