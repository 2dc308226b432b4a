// tex on images without faces or levels, for N points at once: 32 are a warp's, whose loops become vector
// code, 1 is a lane's. The same sums in the same order whatever N is.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "machine/texture/view.h"

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
RADDLE_LANES void place(const View& view, unsigned d, const Points<N>& points, std::array<float, N>& x) {
  const Axis axis = view.axis(d);
  for (unsigned l = 0; l < N; ++l)
    x[l] = axis.position(std::bit_cast<float>(points.coordinate[d][l]), points.offset[d][l]);
}

/// The texels that points lie in.
RADDLE_LANES void nearest(const View& view, const Points<N>& points, Texels<N>& texels) {
  Indices<N> indices{};
  for (unsigned d = 0; d < view.dimensions(); ++d) {
    std::array<float, N> x;
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
    std::array<float, N> x;
    place<N>(view, d, points, x);
    for (unsigned l = 0; l < N; ++l) {
      const float from_centre = x[l] - 0.5f;
      f.first[d][l] = floor_of(from_centre);
      f.weight[d][l] = weight(from_centre - static_cast<float>(f.first[d][l]));
    }
  }
}

/// What a filter adds up. In double, which holds the products: what all texels agree on comes out as it is.
template <unsigned N>
struct Blend {
  std::array<std::array<double, N>, 4> sum{};

  /// @param shares  of each lane's texel; a texel of share 0 may be infinite and does not count
  [[gnu::always_inline]] void add(const std::array<float, N>& shares, const Texels<N>& texels,
                                  unsigned channels) {
    for (unsigned c = 0; c < channels; ++c)
      for (unsigned l = 0; l < N; ++l) {
        const float value = shares[l] == 0 ? 0 : std::bit_cast<float>(texels[c][l]);
        sum[c][l] += double{shares[l]} * double{value};
      }
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
  Blend<N> mean;
  for (unsigned corner = 0; corner < 1u << view.dimensions(); ++corner) {
    std::array<float, N> share;
    Indices<N> i{};
    share.fill(1);
    for (unsigned d = 0; d < view.dimensions(); ++d) {
      const unsigned upper = corner >> d & 1;
      i[d] = neighbours[upper][d];
      for (unsigned l = 0; l < N; ++l) share[l] *= upper != 0 ? f.weight[d][l] : 1 - f.weight[d][l];
    }
    load<N>(view, i, points, outside, texels);
    mean.add(share, texels, channels);
  }
  for (unsigned c = 0; c < channels; ++c)
    for (unsigned l = 0; l < N; ++l)
      texels[c][l] = std::bit_cast<std::uint32_t>(static_cast<float>(mean.sum[c][l]));
}

/// tex at level `view` shows.
RADDLE_LANES void sample_points(const View& view, const Points<N>& points, bool integer_coordinates,
                                Texels<N>& texels) {
  if (integer_coordinates) return fetch<N>(view, points, texels);
  return view.blends() ? blend<N>(view, points, texels) : nearest<N>(view, points, texels);
}

#undef RADDLE_LANES

}  // namespace raddle::machine
