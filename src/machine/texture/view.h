// One level of an image as one request sees it: which texel an address mode, a filter and a coordinate
// mean. Inline, since loops over the lanes of a warp (filter.h) become vector code from it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "exec/texture.h"
#include "machine/texture/texel.h"
#include "raddle/texture.h"

namespace raddle::machine {

inline constexpr std::int32_t kOutside = -1;        ///< of an index: the border
inline constexpr std::int32_t kFurthest = 1 << 30;  ///< texels: coordinates beyond are as this one
inline constexpr float kFarAway = kFurthest;

/// For a coordinate in texels, no further away than kFarAway; std::floor is a call on old processors.
[[gnu::always_inline]] inline std::int32_t floor_of(double x) {
  const auto towards_zero = static_cast<std::int32_t>(x);
  return towards_zero - (x < static_cast<double>(towards_zero) ? 1 : 0);
}

/// Filter weights have eight fractional bits; 1 is a weight, too.
[[gnu::always_inline]] inline float weight(double fraction) {
  return static_cast<float>(floor_of(fraction * 256 + 0.5)) / 256;
}

/// The texel index that an index outside [0, size) means.
inline std::int32_t address_outside(std::int32_t i, std::int64_t size, AddressMode mode) {
  switch (mode) {
    case AddressMode::wrap:
      return static_cast<std::int32_t>((i % size + size) % size);
    case AddressMode::mirror: {
      const std::int64_t turn = (i % (2 * size) + 2 * size) % (2 * size);
      return static_cast<std::int32_t>(turn < size ? turn : 2 * size - 1 - turn);
    }
    case AddressMode::border:
    case AddressMode::clamp_ogl:
      return kOutside;
    case AddressMode::clamp:
      break;
  }
  return i < 0 ? 0 : static_cast<std::int32_t>(size - 1);
}

/// What one dimension's extent and address mode make of coordinates. All by values and selections, for
/// vectors.
struct Axis {
  bool normalized, wraps, mirrors;
  bool ends;  ///< no coordinate lies beyond the edge
  float extent;

  /// A coordinate in texels, no further away than kFarAway. Normalised ones are cut off 21 bits below 1
  /// and then multiplied exactly, as an H200 does. A mirrored coordinate lies in the image or in its
  /// mirror image behind it.
  [[gnu::always_inline]] double position(float x, std::int32_t offset) const {
    x = x == x ? x : 0;            // NaN
    const double close = near(x);  // infinity has no fraction
    const std::int32_t whole = floor_of(close);
    const double part = close - whole;
    const double turned = wraps ? part : mirrors ? part + (whole & 1) : close;
    constexpr double kSteps = 1 << 21;
    const double limited =
        std::min(std::max(turned, -512.0), 511.0);  // what is beyond is outside whatever the extent
    const double cut = turned == limited ? floor_of(turned * kSteps) / kSteps : turned;
    double texels = near(normalized ? cut * extent : double{x});
    texels = near(texels + offset);
    const double inside = std::min(std::max(texels, 0.0), double{extent});
    return ends ? inside : texels;
  }

 private:
  template <class T>
  [[gnu::always_inline]] static T near(T x) {
    x = x < -kFarAway ? -kFarAway : x;
    return x > kFarAway ? kFarAway : x;
  }
};

/// Where texels lie, in bytes.
struct Layout {
  std::uint64_t slice_pitch, row_pitch, texel;

  [[gnu::always_inline]] std::uint64_t offset(std::uint32_t x, std::uint32_t y, std::uint32_t slice) const {
    return slice * slice_pitch + y * row_pitch + x * texel;
  }
};

/// The slice of the level's layer, which is clamped, and its face or sample.
inline std::uint32_t slice_of(const Image& image, isa::Geometry geometry, std::uint32_t layer,
                              std::uint32_t within) {
  const std::uint32_t slices = image.levels[0].slices, of_layer = image.cube ? 6 : image.samples;
  if (!isa::has_layer(geometry)) layer = 0;
  return std::min(layer, slices / of_layer - 1) * of_layer + within;
}

class View {
 public:
  View(const Image& image, const Sampler& sampler, const exec::TextureRequest& request, unsigned level)
      : image_(image),
        sampler_(sampler),
        level_(image.levels[level]),
        geometry_(request.geometry),
        numbers_(reads_numbers(image.format.type, sampler.normalized_reads)),
        normalized_((sampler.normalized_coordinates || is_cube()) && !request.integer_coordinates),
        blends_(request.action == exec::TextureRequest::gather ||
                (sampler.filter == FilterMode::linear && numbers_ && !image.linear_memory &&
                 !request.integer_coordinates)),
        dimensions_(is_cube() ? 2 : std::min(isa::coordinate_count(geometry_), image_.dimensions)) {}

  bool numbers() const { return numbers_; }
  /// Whether neighbours count: of a linear filter, and those that tld4 gives.
  bool blends() const { return blends_; }
  bool is_cube() const { return geometry_ == isa::Geometry::cube || geometry_ == isa::Geometry::acube; }
  /// Whether a linear filter blends the line of a 1D image with the lines beside it, half and half: an
  /// H200 takes such images for 2D ones at the coordinate 0, which shows where those lines are border.
  bool has_border_lines() const {
    return geometry_ == isa::Geometry::d1 && blends_ && mode(1) == AddressMode::border;
  }
  bool is_seamless() const { return is_cube() && sampler_.seamless_cube; }
  /// Dimensions that a filter blends over.
  unsigned dimensions() const { return dimensions_; }
  std::uint32_t extent(unsigned d) const {
    return d == 0 ? level_.width : d == 1 ? level_.height : level_.slices;
  }
  /// Wrap and mirror are for normalised coordinates only; of seamless cubes the modes are ignored.
  AddressMode mode(unsigned d) const {
    const AddressMode wanted = sampler_.address[d];
    if (is_seamless()) return AddressMode::clamp;
    if (!normalized_ && (wanted == AddressMode::wrap || wanted == AddressMode::mirror))
      return AddressMode::clamp;
    if (wanted == AddressMode::clamp_ogl && !blends_) return AddressMode::clamp;
    return wanted;
  }

  /// How coordinates along a dimension are read.
  Axis axis(unsigned d) const {
    const AddressMode mode = this->mode(d);
    return {.normalized = normalized_,
            .wraps = normalized_ && mode == AddressMode::wrap,
            .mirrors = normalized_ && mode == AddressMode::mirror,
            .ends = mode == AddressMode::clamp_ogl,
            .extent = static_cast<float>(extent(d))};
  }

  /// The index in the image that an index along a dimension means; kOutside for the border.
  std::int32_t resolve(unsigned d, std::int32_t i) const {
    const std::uint32_t size = extent(d);
    if (static_cast<std::uint32_t>(i) < size) return i;
    return address_outside(i, size, image_.linear_memory ? AddressMode::border : mode(d));
  }

  /// The border, in the channels that the format has and as near as it gets to it; beyond linear memory
  /// it is 0.
  Texel outside() const {
    Texel result{};
    if (image_.linear_memory) return result;
    for (unsigned c = 0; c < image_.format.channels; ++c)
      result[c] = numbers_
                      ? std::bit_cast<std::uint32_t>(nearest_number(image_.format.type, sampler_.border[c]))
                      : static_cast<std::uint32_t>(static_cast<std::int64_t>(
                            std::clamp(sampler_.border[c], -2147483648.0f, 4294967040.0f)));
    return result;
  }

  const std::byte* texels() const { return reinterpret_cast<const std::byte*>(level_.address.value); }
  Layout layout() const { return {level_.slice_pitch, level_.row_pitch, image_.format.bytes()}; }

  const Image& image() const { return image_; }
  const Sampler& sampler() const { return sampler_; }

 private:
  const Image& image_;
  const Sampler& sampler_;
  const ImageLevel& level_;
  const isa::Geometry geometry_;
  const bool numbers_, normalized_, blends_;
  const unsigned dimensions_;
};

}  // namespace raddle::machine
