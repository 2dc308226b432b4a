// tex on images without faces or levels, for N points at once: 32 are a warp's, whose loops become vector
// code, 1 is a lane's. The same sums in the same order whatever N is.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "machine/texture/view.h"
#include "numerics/half.h"

namespace raddle::machine {

template <unsigned N>
struct Points {
  std::array<std::array<std::uint32_t, N>, 3> coordinate{};  ///< f32 or s32
  std::array<std::array<std::int32_t, N>, 3> offset{};       ///< texels
  std::array<std::uint32_t, N> slice{};
};

template <unsigned N>
using Texels = std::array<std::array<std::uint32_t, N>, 4>;  ///< by channel, by lane
template <unsigned N>
using Indices = std::array<std::array<std::int32_t, N>, 3>;  ///< by dimension, by lane

// clang-format off
#define RADDLE_LANES template <unsigned N> [[gnu::always_inline]] inline
// clang-format on

/// Indices that the address modes have decided about. @returns whether one is outside of the image
RADDLE_LANES bool resolve(const View& view, Indices<N>& indices) {
  bool outside = false;
  for (unsigned d = 0; d < view.dimensions(); ++d) {
    const std::uint32_t extent = view.extent(d);
    std::array<std::int32_t, N>& i = indices[d];
    unsigned beyond = 0;
    for (unsigned l = 0; l < N; ++l) beyond |= static_cast<std::uint32_t>(i[l]) >= extent ? 1 : 0;
    if (beyond == 0) continue;  // inside of an image, most of the time
    for (unsigned l = 0; l < N; ++l) {
      i[l] = view.resolve(d, i[l]);
      outside |= i[l] == kOutside;
    }
  }
  return outside;
}

/// Texels at resolved indices. @param outside  whether one is outside: the border
RADDLE_LANES void load(const View& view, const Indices<N>& i, const Points<N>& points, bool outside,
                       Texels<N>& texels) {
  const Layout layout = view.layout();
  const auto in = [](std::int32_t index) {  // the border's index would be an address before the image
    return static_cast<std::uint32_t>(index < 0 ? 0 : index);
  };
  std::array<std::uint32_t, N> slice = points.slice;
  if (view.dimensions() == 3)
    for (unsigned l = 0; l < N; ++l) slice[l] = in(i[2][l]);
  std::array<std::uint64_t, N> at;
  for (unsigned l = 0; l < N; ++l) at[l] = layout.offset(in(i[0][l]), in(i[1][l]), slice[l]);
  load_texels<N>(view.texels(), at, view.image().format, view.numbers(), view.sampler().srgb, texels);
  if (!outside) return;
  const Texel border = view.outside();
  for (unsigned l = 0; l < N; ++l)
    if (i[0][l] == kOutside || i[1][l] == kOutside || i[2][l] == kOutside)
      for (unsigned c = 0; c < 4; ++c) texels[c][l] = border[c];
}

inline Texel only(const Texels<1>& texels) {
  return {texels[0][0], texels[1][0], texels[2][0], texels[3][0]};
}

/// The texel at these indices; the address mode decides about indices outside the image.
inline Texel texel_at(const View& view, const std::array<std::int32_t, 3>& i, std::uint32_t slice) {
  Indices<1> indices{};
  for (unsigned d = 0; d < view.dimensions(); ++d) indices[d] = {i[d]};
  Points<1> points;
  points.slice = {slice};
  Texels<1> texel;
  const bool outside = resolve<1>(view, indices);
  load<1>(view, indices, points, outside, texel);
  return only(texel);
}

/// The texels at integer coordinates.
RADDLE_LANES void fetch(const View& view, const Points<N>& points, Texels<N>& texels) {
  Indices<N> indices{};
  for (unsigned d = 0; d < view.dimensions(); ++d)
    for (unsigned l = 0; l < N; ++l) {
      const std::int64_t wanted =
          std::int64_t{static_cast<std::int32_t>(points.coordinate[d][l])} + points.offset[d][l];
      indices[d][l] = static_cast<std::int32_t>(std::clamp<std::int64_t>(wanted, -kFurthest, kFurthest));
    }
  const bool outside = resolve<N>(view, indices);
  load<N>(view, indices, points, outside, texels);
}

/// Where points lie along a dimension, in texels.
RADDLE_LANES void place(const View& view, unsigned d, const Points<N>& points, std::array<double, N>& x) {
  const Axis axis = view.axis(d);
  for (unsigned l = 0; l < N; ++l)
    x[l] = axis.position(std::bit_cast<float>(points.coordinate[d][l]), points.offset[d][l]);
}

/// The texels that points lie in.
RADDLE_LANES void nearest(const View& view, const Points<N>& points, Texels<N>& texels) {
  Indices<N> indices{};
  for (unsigned d = 0; d < view.dimensions(); ++d) {
    std::array<double, N> x;
    place<N>(view, d, points, x);
    for (unsigned l = 0; l < N; ++l) indices[d][l] = floor_of(x[l]);
  }
  const bool outside = resolve<N>(view, indices);
  load<N>(view, indices, points, outside, texels);
}

/// The first of the texels around each point, and how far the point is from it.
template <unsigned N>
struct Footprint {
  Indices<N> first{};
  std::array<std::array<float, N>, 3> weight{};
};

RADDLE_LANES void footprint(const View& view, const Points<N>& points, Footprint<N>& f) {
  for (unsigned d = 0; d < view.dimensions(); ++d) {
    std::array<double, N> x;
    place<N>(view, d, points, x);
    for (unsigned l = 0; l < N; ++l) {
      const double from_centre = x[l] - 0.5;
      f.first[d][l] = floor_of(from_centre);
      f.weight[d][l] = weight(from_centre - f.first[d][l]);
    }
  }
}

/// The shares of the texels around a point, 256ths that add up to 1: products of weights, rounded so
/// that those of a column and of a line add up to its weight. Of three dimensions the first and the last
/// are multiplied so; then each product is split along the second. An H200's, by textures in which one
/// texel is 1.
template <unsigned N>
struct Shares {
  std::array<std::array<float, N>, 8> of_corner{};  ///< bit d: upper neighbour along dimension d

  [[gnu::always_inline]] static float rounded(float share) {
    return static_cast<float>(static_cast<std::int32_t>(share * 256 + 0.5f)) / 256;
  }
  [[gnu::always_inline]] Shares(const Footprint<N>& f, unsigned dimensions) {
    const unsigned other = dimensions == 3 ? 2 : 1, upper = 1u << other;
    for (unsigned l = 0; l < N; ++l) {
      const float x = f.weight[0][l], y = dimensions == 1 ? 0 : f.weight[other][l], both = rounded(x * y);
      of_corner[0][l] = 1 - x - y + both;
      of_corner[1][l] = x - both;
      of_corner[upper][l] = y - both;
      of_corner[upper + 1][l] = both;
    }
    if (dimensions != 3) return;
    for (const unsigned corner : {0, 1, 4, 5})
      for (unsigned l = 0; l < N; ++l) {
        const float part = rounded(of_corner[corner][l] * f.weight[1][l]);
        of_corner[corner + 2][l] = part;
        of_corner[corner][l] -= part;
      }
  }
};

/// What a filter adds up. In double, which holds the products: what all texels agree on comes out as it
/// is. Normalised channels are added as integers of 16 bits, and halves become a half (an H200's results
/// are of these precisions).
template <unsigned N>
struct Blend {
  double scale = 0;
  bool halves = false;
  std::array<std::array<double, N>, 4> sum{};

  /// @param shares  of each lane's texel; a texel of share 0 may be infinite and does not count
  [[gnu::always_inline]] void add(const std::array<float, N>& shares, const Texels<N>& texels,
                                  unsigned channels) {
    for (unsigned c = 0; c < channels; ++c)
      for (unsigned l = 0; l < N; ++l) {
        const float value = shares[l] == 0 ? 0 : std::bit_cast<float>(texels[c][l]);
        const double whole = scale != 0 ? std::floor(double{value} * scale + 0.5) : double{value};
        sum[c][l] += double{shares[l]} * whole;
      }
  }

  [[gnu::always_inline]] std::uint32_t result(unsigned c, unsigned l) const {
    const double value = sum[c][l];
    if (scale != 0) return std::bit_cast<std::uint32_t>(static_cast<float>(std::floor(value + 0.5) / scale));
    const auto single = static_cast<float>(value);
    return std::bit_cast<std::uint32_t>(
        halves ? static_cast<float>(numerics::widen(numerics::narrow<numerics::f16>(single))) : single);
  }
};

/// The mean of the texels around points.
RADDLE_LANES void blend(const View& view, const Points<N>& points, Texels<N>& texels) {
  Footprint<N> f;
  footprint<N>(view, points, f);
  std::array<Indices<N>, 2> neighbours{f.first, f.first};  // lower and upper, by dimension
  for (unsigned d = 0; d < view.dimensions(); ++d)
    for (unsigned l = 0; l < N; ++l) ++neighbours[1][d][l];
  const bool outside =
      static_cast<int>(resolve<N>(view, neighbours[0])) | static_cast<int>(resolve<N>(view, neighbours[1]));
  // Channels that the format lacks are the same in all texels, but in the border.
  const unsigned channels = outside ? 4 : view.image().format.channels;
  const ChannelType type = view.image().format.type;
  Blend<N> mean{view.sampler().srgb ? 0 : filter_scale(type), type == ChannelType::float16};
  const bool lines = view.has_border_lines();
  if (lines) f.weight[1].fill(0.5f);
  const Shares<N> shares(f, lines ? 2 : view.dimensions());
  for (unsigned corner = 0; corner < 1u << view.dimensions(); ++corner) {
    Indices<N> i{};
    for (unsigned d = 0; d < view.dimensions(); ++d) {
      const unsigned upper = corner >> d & 1;
      i[d] = neighbours[upper][d];
    }
    load<N>(view, i, points, outside, texels);
    mean.add(shares.of_corner[lines ? corner + 2 : corner], texels, channels);
  }
  if (lines) {
    const Texel border = view.outside();
    for (unsigned c = 0; c < 4; ++c) texels[c].fill(border[c]);
    for (unsigned corner = 0; corner < 2; ++corner) mean.add(shares.of_corner[corner], texels, channels);
  }
  for (unsigned c = 0; c < channels; ++c)
    for (unsigned l = 0; l < N; ++l) texels[c][l] = mean.result(c, l);
}

/// tex at level `view` shows.
RADDLE_LANES void sample_points(const View& view, const Points<N>& points, bool integer_coordinates,
                                Texels<N>& texels) {
  if (integer_coordinates) return fetch<N>(view, points, texels);
  return view.blends() ? blend<N>(view, points, texels) : nearest<N>(view, points, texels);
}

#undef RADDLE_LANES

}  // namespace raddle::machine
