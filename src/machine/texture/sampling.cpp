#include "machine/texture/sampling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace raddle::machine {
namespace {

using isa::Geometry;

constexpr std::int64_t kOutside = -1;  ///< of an index: the border
constexpr float kFarAway = 1 << 30;    ///< texels: coordinates beyond are as this one

/// For a coordinate in texels, no further away than kFarAway; std::floor is a call on old processors.
std::int64_t floor_of(float x) {
  const auto towards_zero = static_cast<std::int64_t>(x);
  return towards_zero - (x < static_cast<float>(towards_zero) ? 1 : 0);
}

/// Filter weights have eight fractional bits; 1 is a weight, too.
float weight(float fraction) { return static_cast<float>(floor_of(fraction * 256 + 0.5f)) / 256; }

/// The texel index that an index outside [0, size) means.
std::int64_t address(std::int64_t i, std::int64_t size, AddressMode mode) {
  if (i >= 0 && i < size) return i;
  switch (mode) {
    case AddressMode::wrap:
      return (i % size + size) % size;
    case AddressMode::mirror: {
      const std::int64_t turn = (i % (2 * size) + 2 * size) % (2 * size);
      return turn < size ? turn : 2 * size - 1 - turn;
    }
    case AddressMode::border:
    case AddressMode::clamp_ogl:
      return kOutside;
    case AddressMode::clamp:
      break;
  }
  return std::clamp<std::int64_t>(i, 0, size - 1);
}

/// An image's level as one request sees it: which extents and address modes its coordinates have.
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
  bool is_cube() const { return geometry_ == Geometry::cube || geometry_ == Geometry::acube; }
  /// Dimensions that a filter blends over.
  unsigned dimensions() const { return dimensions_; }
  std::int64_t extent(unsigned d) const {
    return d == 0 ? level_.width : d == 1 ? level_.height : level_.slices;
  }
  /// Wrap and mirror are for normalised coordinates only; of seamless cubes the modes are ignored.
  AddressMode mode(unsigned d) const {
    const AddressMode wanted = sampler_.address[d];
    if (is_cube() && sampler_.seamless_cube) return AddressMode::clamp;
    if (!normalized_ && (wanted == AddressMode::wrap || wanted == AddressMode::mirror))
      return AddressMode::clamp;
    if (wanted == AddressMode::clamp_ogl && !blends_) return AddressMode::clamp;
    return wanted;
  }

  /// A coordinate in texels.
  float position(float x, unsigned d, std::int32_t offset) const {
    if (std::isnan(x)) x = 0;
    if (normalized_) {
      x = std::clamp(x, -kFarAway, kFarAway);  // infinity has no fraction
      if (mode(d) == AddressMode::wrap) x -= std::floor(x);
      if (mode(d) == AddressMode::mirror) {
        const float whole = std::floor(x), part = x - whole;
        x = std::fmod(whole, 2.0f) == 0 ? part : 1 - part;
      }
      x *= static_cast<float>(extent(d));
    }
    x = std::clamp(x, -kFarAway, kFarAway) + static_cast<float>(offset);
    return mode(d) == AddressMode::clamp_ogl ? std::clamp(x, 0.0f, static_cast<float>(extent(d))) : x;
  }

  /// The index in the image that an index along a dimension means; kOutside for the border.
  std::int64_t resolve(unsigned d, std::int64_t i) const {
    return address(i, extent(d), image_.linear_memory ? AddressMode::border : mode(d));
  }

  /// The texel at resolved indices.
  Texel texel(const std::array<std::int64_t, 3>& i, std::uint32_t slice) const {
    if (i[0] == kOutside || i[1] == kOutside || i[2] == kOutside) return outside();
    return load(i[0], i[1], dimensions() == 3 ? static_cast<std::uint32_t>(i[2]) : slice);
  }

  /// The texel at these indices; the address mode decides about indices outside the image.
  Texel at(std::array<std::int64_t, 3> i, std::uint32_t slice) const {
    for (unsigned d = 0; d < 3; ++d) i[d] = d < dimensions() ? resolve(d, i[d]) : 0;
    return texel(i, slice);
  }

  Texel load(std::int64_t x, std::int64_t y, std::uint32_t slice) const {
    const auto* texel = reinterpret_cast<const std::byte*>(level_.address.value) +
                        slice * level_.slice_pitch + static_cast<std::uint64_t>(y) * level_.row_pitch +
                        static_cast<std::uint64_t>(x) * image_.format.bytes();
    return load_texel(texel, image_.format, numbers_, sampler_.srgb);
  }

  const ImageLevel& level() const { return level_; }
  const Sampler& sampler() const { return sampler_; }

 private:
  /// The border; beyond linear memory it is 0.
  Texel outside() const {
    Texel result{};
    if (image_.linear_memory) return result;
    for (unsigned c = 0; c < 4; ++c)
      result[c] = numbers_ ? std::bit_cast<std::uint32_t>(sampler_.border[c])
                           : static_cast<std::uint32_t>(static_cast<std::int64_t>(
                                 std::clamp(sampler_.border[c], -2147483648.0f, 4294967040.0f)));
    return result;
  }

  const Image& image_;
  const Sampler& sampler_;
  const ImageLevel& level_;
  const Geometry geometry_;
  const bool numbers_, normalized_, blends_;
  const unsigned dimensions_;
};

/// Where a direction leaves a cube: face and coordinates on it, 0 to 1 (CUDA C++ Programming Guide, "Cubemap
/// Textures").
struct CubePoint {
  std::uint32_t face;
  float s, t;
};

CubePoint cube_point(float x, float y, float z) {
  const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  float m, s, t;
  std::uint32_t face;
  if (ax >= ay && ax >= az) {
    face = std::signbit(x) ? 1 : 0;
    m = ax, s = face == 0 ? -z : z, t = -y;
  } else if (ay >= az) {
    face = std::signbit(y) ? 3 : 2;
    m = ay, s = x, t = face == 2 ? z : -z;
  } else {
    face = std::signbit(z) ? 5 : 4;
    m = az, s = face == 4 ? x : -x, t = -y;
  }
  return {face, (s / m + 1) / 2, (t / m + 1) / 2};
}

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
Texel across_edge(const View& view, std::array<std::int64_t, 3> i, std::uint32_t slice) {
  const auto size = static_cast<float>(view.extent(0));
  const auto centre = [&](std::int64_t k) { return (static_cast<float>(k) + 0.5f) / size; };
  const auto [x, y, z] = cube_direction({slice % 6, centre(i[0]), centre(i[1])});
  const CubePoint p = cube_point(x, y, z);
  return view.at({static_cast<std::int64_t>(p.s * size), static_cast<std::int64_t>(p.t * size), 0},
                 slice / 6 * 6 + p.face);
}

Texel texel_of_filter(const View& view, const std::array<std::int64_t, 3>& i, std::uint32_t slice) {
  const bool beside = view.is_cube() && view.sampler().seamless_cube &&
                      (i[0] < 0 || i[1] < 0 || i[0] >= view.extent(0) || i[1] >= view.extent(1));
  return beside ? across_edge(view, i, slice) : view.at(i, slice);
}

/// The texels around a point and how far the point is from the first of them.
struct Footprint {
  std::array<std::int64_t, 3> first{};
  std::array<float, 3> weight{};
};

Footprint footprint(const View& view, const std::array<float, 3>& at,
                    const std::array<std::int32_t, 3>& offset) {
  Footprint f;
  for (unsigned d = 0; d < view.dimensions(); ++d) {
    const float x = view.position(at[d], d, offset[d]) - 0.5f;
    f.first[d] = floor_of(x);
    f.weight[d] = weight(x - static_cast<float>(f.first[d]));
  }
  return f;
}

Texel point_sample(const View& view, const std::array<float, 3>& at,
                   const std::array<std::int32_t, 3>& offset, std::uint32_t slice) {
  std::array<std::int64_t, 3> i{};
  for (unsigned d = 0; d < view.dimensions(); ++d) i[d] = floor_of(view.position(at[d], d, offset[d]));
  return view.at(i, slice);
}

Texel linear_sample(const View& view, const std::array<float, 3>& at,
                    const std::array<std::int32_t, 3>& offset, std::uint32_t slice) {
  const Footprint f = footprint(view, at, offset);
  const bool seamless = view.is_cube() && view.sampler().seamless_cube;
  std::array<std::array<std::int64_t, 3>, 2> resolved{};  // lower and upper neighbour, by dimension
  for (unsigned d = 0; d < view.dimensions() && !seamless; ++d)
    for (unsigned upper = 0; upper < 2; ++upper) resolved[upper][d] = view.resolve(d, f.first[d] + upper);
  std::array<double, 4> sum{};  // of products that double holds: what all texels agree on comes out as it is
  for (unsigned corner = 0; corner < 1u << view.dimensions(); ++corner) {
    float share = 1;
    std::array<std::int64_t, 3> i{};
    for (unsigned d = 0; d < view.dimensions(); ++d) {
      const unsigned upper = corner >> d & 1;
      share *= upper != 0 ? f.weight[d] : 1 - f.weight[d];
      i[d] = seamless ? f.first[d] + upper : resolved[upper][d];
    }
    if (share == 0) continue;  // the texel may be infinite
    const Texel texel = seamless ? texel_of_filter(view, i, slice) : view.texel(i, slice);
    for (unsigned c = 0; c < 4; ++c) sum[c] += double{share} * double{std::bit_cast<float>(texel[c])};
  }
  Texel result;
  for (unsigned c = 0; c < 4; ++c) result[c] = std::bit_cast<std::uint32_t>(static_cast<float>(sum[c]));
  return result;
}

/// The slice of the level's layer, which is clamped, and its face or sample.
std::uint32_t slice_of(const Image& image, std::uint32_t layer, const exec::TextureRequest& request,
                       std::uint32_t within) {
  const std::uint32_t slices = image.levels[0].slices, of_layer = image.cube ? 6 : image.samples;
  if (!isa::has_layer(request.geometry)) layer = 0;
  return std::min(layer, slices / of_layer - 1) * of_layer + within;
}

struct Place {
  std::array<float, 3> at;
  std::uint32_t slice;
};

Place sample_place(const Image& image, const exec::TextureRequest& request, const SamplePoint& point) {
  if (request.geometry != Geometry::cube && request.geometry != Geometry::acube)
    return {point.at, slice_of(image, point.layer, request, 0)};
  const CubePoint p = cube_point(point.at[0], point.at[1], point.at[2]);
  return {{p.s, p.t, 0}, slice_of(image, point.layer, request, p.face)};
}

Texel sample_level(const Image& image, const Sampler& sampler, const exec::TextureRequest& request,
                   const SamplePoint& point, unsigned level) {
  const View view(image, sampler, request, level);
  if (request.integer_coordinates) {
    std::array<std::int64_t, 3> i{};
    for (unsigned d = 0; d < 3; ++d) i[d] = std::int64_t{point.index[d]} + point.offset[d];
    return view.at(i, slice_of(image, point.layer, request, point.sample));
  }
  const Place place = sample_place(image, request, point);
  if (view.blends()) return linear_sample(view, place.at, point.offset, place.slice);
  return point_sample(view, place.at, point.offset, place.slice);
}

/// log2 of the longer gradient, in texels of the first level.
float level_of_gradients(const Image& image, const Sampler& sampler, const exec::TextureRequest& request,
                         const SamplePoint& point) {
  const ImageLevel& level = image.levels[0];
  const std::array<float, 3> extents{static_cast<float>(level.width), static_cast<float>(level.height),
                                     static_cast<float>(level.slices)};
  const unsigned count = isa::coordinate_count(request.geometry);
  float longest = 0;
  for (const auto& gradient : point.gradient) {
    float length = 0;
    for (unsigned d = 0; d < count; ++d) {
      const float scale = request.geometry >= Geometry::cube ? extents[0] / 2
                          : sampler.normalized_coordinates   ? extents[d]
                                                             : 1.0f;
      length += gradient[d] * scale * gradient[d] * scale;
    }
    longest = std::max(longest, std::sqrt(length));
  }
  return std::log2(longest);
}

float level_of(const Image& image, const Sampler& sampler, const exec::TextureRequest& request,
               const SamplePoint& point) {
  const float wanted = request.action == exec::TextureRequest::level
                           ? point.level
                           : level_of_gradients(image, sampler, request, point);
  const float biased = std::isnan(wanted) ? 0 : wanted + sampler.mipmap_bias;
  const float least = std::max(sampler.least_level, 0.0f);
  const float greatest =
      std::max(std::min(sampler.greatest_level, static_cast<float>(image.level_count - 1)), 0.0f);
  return std::min(std::max(biased, least), greatest);
}

}  // namespace

Texel sample(const Image& image, const Sampler& sampler, const exec::TextureRequest& request,
             const SamplePoint& point) {
  if (request.action == exec::TextureRequest::base) return sample_level(image, sampler, request, point, 0);
  const float level = level_of(image, sampler, request, point);
  if (sampler.mipmap_filter == FilterMode::point || request.integer_coordinates ||
      !reads_numbers(image.format.type, sampler.normalized_reads))
    return sample_level(image, sampler, request, point, static_cast<unsigned>(std::floor(level + 0.5f)));
  const float below = std::floor(level), share = weight(level - below);
  const auto first = static_cast<unsigned>(below);
  const Texel a = sample_level(image, sampler, request, point, first);
  if (share == 0) return a;
  const Texel b = sample_level(image, sampler, request, point, first + 1);
  Texel result;
  for (unsigned c = 0; c < 4; ++c)
    result[c] = std::bit_cast<std::uint32_t>((1 - share) * std::bit_cast<float>(a[c]) +
                                             share * std::bit_cast<float>(b[c]));
  return result;
}

Texel gather(const Image& image, const Sampler& sampler, const exec::TextureRequest& request,
             const SamplePoint& point) {
  const View view(image, sampler, request, 0);
  const Place place = sample_place(image, request, point);
  const Footprint f = footprint(view, place.at, point.offset);
  const auto at = [&](unsigned x, unsigned y) {
    return texel_of_filter(view, {f.first[0] + x, f.first[1] + y, 0}, place.slice)[request.component];
  };
  return {at(0, 1), at(1, 1), at(1, 0), at(0, 0)};
}

}  // namespace raddle::machine
