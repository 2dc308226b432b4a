#include "machine/texture/sampling.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "machine/texture/cube.h"
#include "machine/texture/filter.h"

namespace raddle::machine {
namespace {

using isa::Geometry;

/// A point on its face or in its layer, as one of many.
Points<1> lone(const Image& image, const exec::TextureRequest& request, const SamplePoint& point) {
  Points<1> points;
  for (unsigned d = 0; d < 3; ++d) {
    points.coordinate[d] = {request.integer_coordinates ? static_cast<std::uint32_t>(point.index[d])
                                                        : std::bit_cast<std::uint32_t>(point.at[d])};
    points.offset[d] = {point.offset[d]};
  }
  std::uint32_t within = request.integer_coordinates ? point.sample : 0;
  if (request.geometry == Geometry::cube || request.geometry == Geometry::acube) {
    const CubePoint p = cube_point(point.at[0], point.at[1], point.at[2]);
    points.coordinate = {{{std::bit_cast<std::uint32_t>(p.s)}, {std::bit_cast<std::uint32_t>(p.t)}, {0}}};
    within = p.face;
  }
  points.slice = {slice_of(image, request.geometry, point.layer, within)};
  return points;
}

Texel sample_level(const Image& image, const Sampler& sampler, const exec::TextureRequest& request,
                   const SamplePoint& point, unsigned level) {
  const View view(image, sampler, request, level);
  const Points<1> points = lone(image, request, point);
  if (view.is_seamless() && view.blends()) {
    Footprint<1> f;
    footprint<1>(view, points, f);
    return seamless_sample(view, f, points.slice[0]);
  }
  Texels<1> texel;
  sample_points<1>(view, points, request.integer_coordinates, texel);
  return only(texel);
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

/// Levels of detail have eight fractional bits; an H200 cuts off the rest of a level and of what bounds
/// or moves it.
float in_256ths(float level) { return std::trunc(level * 256) / 256; }

float level_of(const Image& image, const Sampler& sampler, const exec::TextureRequest& request,
               const SamplePoint& point) {
  const float wanted = request.action == exec::TextureRequest::level
                           ? point.level
                           : level_of_gradients(image, sampler, request, point);
  const float biased = std::isnan(wanted) ? 0 : wanted + in_256ths(sampler.mipmap_bias);
  const float least = std::max(in_256ths(sampler.least_level), 0.0f);
  const float greatest =
      std::max(std::min(in_256ths(sampler.greatest_level), static_cast<float>(image.level_count - 1)), 0.0f);
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
  const float below = std::floor(level), share = in_256ths(level - below);
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
  const Points<1> points = lone(image, request, point);
  Footprint<1> f;
  footprint<1>(view, points, f);
  for (unsigned d = 0; d < 2;
       ++d)  // a point so near to the upper texel that it has all the weight is the upper one's
    f.first[d][0] += f.weight[d][0] == 1 ? 1 : 0;
  const auto at = [&](int x, int y) {
    const std::uint32_t texel =
        texel_of_cube(view, {f.first[0][0] + x, f.first[1][0] + y, 0}, points.slice[0])[request.component];
    const double scale = view.numbers() && !sampler.srgb ? filter_scale(image.format.type) : 0;
    if (scale == 0) return texel;
    return std::bit_cast<std::uint32_t>(
        static_cast<float>(std::floor(double{std::bit_cast<float>(texel)} * scale + 0.5) / scale));
  };
  return {at(0, 1), at(1, 1), at(1, 0), at(0, 0)};
}

}  // namespace raddle::machine
