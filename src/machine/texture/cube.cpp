#include "machine/texture/cube.h"

#include <cmath>

namespace raddle::machine {
namespace {

/// The direction of a point on a face, which may lie beyond its edges.
std::array<float, 3> cube_direction(const CubePoint& p) {
  const float s = 2 * p.s - 1, t = 2 * p.t - 1;
  switch (p.face) {
    case 0:
      return {1, -t, -s};
    case 1:
      return {-1, -t, s};
    case 2:
      return {s, 1, t};
    case 3:
      return {s, -1, -t};
    case 4:
      return {s, -t, 1};
    default:
      return {-s, -t, -1};
  }
}

/// A texel beside a face is the one that the cube has there.
Texel across_edge(const View& view, std::array<std::int32_t, 3> i, std::uint32_t slice) {
  const auto size = static_cast<float>(view.extent(0));
  const auto centre = [&](std::int32_t k) { return (static_cast<float>(k) + 0.5f) / size; };
  const auto [x, y, z] = cube_direction({slice % 6, centre(i[0]), centre(i[1])});
  const CubePoint p = cube_point(x, y, z);
  return texel_at(view, {static_cast<std::int32_t>(p.s * size), static_cast<std::int32_t>(p.t * size), 0},
                  slice / 6 * 6 + p.face);
}

}  // namespace

CubePoint cube_point(float x, float y, float z) {
  const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  float m, s, t;
  std::uint32_t face;
  if (ax > ay && ax > az) {  // of equal ones an H200 takes z before y before x
    face = std::signbit(x) ? 1 : 0;
    m = ax, s = face == 0 ? -z : z, t = -y;
  } else if (ay > az) {
    face = std::signbit(y) ? 3 : 2;
    m = ay, s = x, t = face == 2 ? z : -z;
  } else {
    face = std::signbit(z) ? 5 : 4;
    m = az, s = face == 4 ? x : -x, t = -y;
  }
  return {face, (s / m + 1) / 2, (t / m + 1) / 2};
}

Texel texel_of_cube(const View& view, const std::array<std::int32_t, 3>& i, std::uint32_t slice) {
  const auto within = [&](unsigned d) { return static_cast<std::uint32_t>(i[d]) < view.extent(d); };
  const bool beside = view.is_seamless() && !(within(0) && within(1));
  return beside ? across_edge(view, i, slice) : texel_at(view, i, slice);
}

Texel seamless_sample(const View& view, const Footprint<1>& f, std::uint32_t slice) {
  Blend<1> mean;
  for (unsigned corner = 0; corner < 4; ++corner) {
    const unsigned right = corner & 1, above = corner >> 1;
    const std::array<float, 1> share{(right != 0 ? f.weight[0][0] : 1 - f.weight[0][0]) *
                                     (above != 0 ? f.weight[1][0] : 1 - f.weight[1][0])};
    const auto x = static_cast<std::int32_t>(f.first[0][0] + right);
    const auto y = static_cast<std::int32_t>(f.first[1][0] + above);
    const Texel texel = texel_of_cube(view, {x, y, 0}, slice);
    mean.add(share, {{{texel[0]}, {texel[1]}, {texel[2]}, {texel[3]}}}, 4);
  }
  Texel result;
  for (unsigned c = 0; c < 4; ++c)
    result[c] = std::bit_cast<std::uint32_t>(static_cast<float>(mean.sum[c][0]));
  return result;
}

}  // namespace raddle::machine
