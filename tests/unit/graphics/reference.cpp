#include "reference.h"

#include <algorithm>
#include <cmath>

namespace reference {

using raddle::graphics::BlendFactor;
using raddle::graphics::BlendOperation;
using raddle::graphics::Compare;
using raddle::graphics::StencilFace;
using raddle::graphics::StencilOperation;

Images::Images(int width, int height, unsigned targets, int samples)
    : width(width), height(height), samples(samples), colours(targets) {
  const std::size_t count = static_cast<std::size_t>(width) * height * samples;
  for (std::vector<Colour>& target : colours) target.assign(count, Colour{});
  depth.assign(count, 1.0);
  stencil.assign(count, 0);
}

std::array<int, 2> sample_offset(int samples, int s) {
  static const int kTwo[2][2] = {{4, 4}, {-4, -4}};
  static const int kFour[4][2] = {{-2, -6}, {6, -2}, {-6, 2}, {2, 6}};
  static const int kEight[8][2] = {{1, -3}, {-1, 3}, {5, 1}, {-3, -5}, {-5, 5}, {-7, -1}, {3, 7}, {7, -7}};
  const int none[2] = {0, 0};
  const int* const at = samples == 2 ? kTwo[s] : samples == 4 ? kFour[s] : samples == 8 ? kEight[s] : none;
  return {128 + 16 * at[0], 128 + 16 * at[1]};
}

bool covers(const std::array<std::array<std::int64_t, 2>, 3>& corners, std::int64_t x, std::int64_t y) {
  const auto area = (corners[1][0] - corners[0][0]) * (corners[2][1] - corners[0][1]) -
                    (corners[1][1] - corners[0][1]) * (corners[2][0] - corners[0][0]);
  if (area == 0) return false;
  for (int e = 0; e < 3; ++e) {
    const auto& a = corners[e];
    const auto& b = corners[(e + 1) % 3];
    const std::int64_t sign = area > 0 ? 1 : -1;
    const std::int64_t by_x = sign * -(b[1] - a[1]), by_y = sign * (b[0] - a[0]);
    const std::int64_t value = by_x * (x - a[0]) + by_y * (y - a[1]);
    // A sample on an edge belongs to the side that it would be on if it were a little further right, and much
    // less so down.
    const std::int64_t side = value != 0 ? value : by_x != 0 ? by_x : by_y;
    if (side < 0) return false;
  }
  return true;
}

namespace {

bool compare(Compare how, double a, double b) {
  switch (how) {
    case Compare::never:
      return false;
    case Compare::less:
      return a < b;
    case Compare::equal:
      return a == b;
    case Compare::less_equal:
      return a <= b;
    case Compare::greater:
      return a > b;
    case Compare::not_equal:
      return a != b;
    case Compare::greater_equal:
      return a >= b;
    case Compare::always:
      return true;
  }
  return false;
}

unsigned stencil_after(StencilOperation operation, unsigned value, unsigned reference) {
  switch (operation) {
    case StencilOperation::keep:
      return value;
    case StencilOperation::zero:
      return 0;
    case StencilOperation::replace:
      return reference;
    case StencilOperation::increment_clamp:
      return std::min(value + 1, 255u);
    case StencilOperation::decrement_clamp:
      return value - (value > 0);
    case StencilOperation::invert:
      return 255 - value;
    case StencilOperation::increment_wrap:
      return (value + 1) % 256;
    case StencilOperation::decrement_wrap:
      return (value + 255) % 256;
  }
  return 0;
}

bool test(Images& images, const State& state, std::size_t at, bool front, double depth) {
  const bool near = state.depth.test == 0 || compare(state.depth.compare, depth, images.depth[at]);
  bool passed = true;
  if (state.stencil.test != 0) {
    const StencilFace& face = front ? state.stencil.front : state.stencil.back;
    unsigned& value = images.stencil[at];
    passed = compare(face.compare, state.stencil.reference & state.stencil.read_mask,
                     value & state.stencil.read_mask);
    const unsigned after = stencil_after(!passed ? face.fail
                                         : near  ? face.pass
                                                 : face.depth_fail,
                                         value, state.stencil.reference);
    const unsigned mask = state.stencil.write_mask;
    value = (after & mask) | (value & ~mask & 255);
  }
  if (passed && near && state.depth.test != 0 && state.depth.write != 0) images.depth[at] = depth;
  return passed && near;
}

double factor(BlendFactor which, const Colour& source, const Colour& second, const Colour& target,
              const Colour& constant, int c) {
  switch (which) {
    case BlendFactor::zero:
      return 0;
    case BlendFactor::one:
      return 1;
    case BlendFactor::source_colour:
      return source[c];
    case BlendFactor::one_minus_source_colour:
      return 1 - source[c];
    case BlendFactor::source_alpha:
      return source[3];
    case BlendFactor::one_minus_source_alpha:
      return 1 - source[3];
    case BlendFactor::target_alpha:
      return target[3];
    case BlendFactor::one_minus_target_alpha:
      return 1 - target[3];
    case BlendFactor::target_colour:
      return target[c];
    case BlendFactor::one_minus_target_colour:
      return 1 - target[c];
    case BlendFactor::source_alpha_saturate:
      return c == 3 ? 1 : std::min(source[3], 1 - target[3]);
    case BlendFactor::constant:
      return constant[c];
    case BlendFactor::one_minus_constant:
      return 1 - constant[c];
    case BlendFactor::constant_alpha:
      return constant[3];
    case BlendFactor::one_minus_constant_alpha:
      return 1 - constant[3];
    case BlendFactor::second_colour:
      return second[c];
    case BlendFactor::one_minus_second_colour:
      return 1 - second[c];
    case BlendFactor::second_alpha:
      return second[3];
    case BlendFactor::one_minus_second_alpha:
      return 1 - second[3];
  }
  return 0;
}

double blended(const BlendState& state, const Colour& source, const Colour& second, const Colour& target,
               const Colour& constant, int c) {
  if (state.enabled == 0) return source[c];
  const bool alpha = c == 3;
  const double a =
      source[c] * factor(alpha ? state.source_alpha : state.source, source, second, target, constant, c);
  const double b =
      target[c] * factor(alpha ? state.target_alpha : state.target, source, second, target, constant, c);
  switch (alpha ? state.alpha_operation : state.operation) {
    case BlendOperation::add:
      return a + b;
    case BlendOperation::subtract:
      return a - b;
    case BlendOperation::reverse_subtract:
      return b - a;
    case BlendOperation::least:
      return std::min(source[c], target[c]);
    case BlendOperation::greatest:
      return std::max(source[c], target[c]);
  }
  return 0;
}

void write(Images& images, const State& state, std::size_t at, const Shaded& shaded) {
  for (std::size_t t = 0; t < images.colours.size(); ++t) {
    const BlendState blend = t < state.blend.size() ? state.blend[t] : BlendState{};
    Colour source = shaded.colours[t], constant = state.constant;
    if (state.unorm8)
      for (int c = 0; c < 4; ++c)
        source[c] = std::clamp(source[c], 0.0, 1.0), constant[c] = std::clamp(constant[c], 0.0, 1.0);
    Colour& target = images.colours[t][at];
    const Colour second = t + 1 < shaded.colours.size() ? shaded.colours[t + 1] : Colour{};
    Colour result = target;
    for (int c = 0; c < 4; ++c) {
      if ((blend.write_mask >> c & 1) == 0) continue;
      const double value = blended(blend, source, second, target, constant, c);
      result[c] = state.unorm8 ? std::nearbyint(std::clamp(value, 0.0, 1.0) * 255) / 255 : value;
    }
    target = result;
  }
}

}  // namespace

void draw(Images& images, const State& state, const std::array<Vertex, 3>& triangle,
          const std::function<Shaded(const Fragment&)>& shader) {
  std::array<std::array<std::int64_t, 2>, 3> corners;
  double z[3];
  for (int i = 0; i < 3; ++i) {
    const Vertex& v = triangle[i];
    corners[i][0] = std::llrint((v.x / v.w + 1) / 2 * images.width * 256);
    corners[i][1] = std::llrint((1 - v.y / v.w) / 2 * images.height * 256);
    z[i] = v.z / v.w;
  }
  const auto cross = [](const auto& a, const auto& b, double x, double y) {
    return static_cast<double>(b[0] - a[0]) * (y - static_cast<double>(a[1])) -
           static_cast<double>(b[1] - a[1]) * (x - static_cast<double>(a[0]));
  };
  const double area = cross(corners[0], corners[1], corners[2][0], corners[2][1]);
  if (area == 0) return;
  const bool front = (area > 0) != state.front_is_counter_clockwise;
  if (state.cull != CullMode::none && front == (state.cull == CullMode::front)) return;
  const auto [left, right] = std::minmax({corners[0][0], corners[1][0], corners[2][0]});
  const auto [top, bottom] = std::minmax({corners[0][1], corners[1][1], corners[2][1]});
  const auto pixel = [](std::int64_t grid) {
    return static_cast<int>(std::clamp<std::int64_t>(grid, -1 << 20, 1 << 20) >> 8);
  };
  const int from_x = std::max({0, state.cut[0], pixel(left) - 1}),
            to_x = std::min({images.width, state.cut[2], pixel(right) + 2});
  const int from_y = std::max({0, state.cut[1], pixel(top) - 1}),
            to_y = std::min({images.height, state.cut[3], pixel(bottom) + 2});
  for (int y = from_y; y < to_y; ++y)
    for (int x = from_x; x < to_x; ++x) {
      std::optional<Shaded> shaded;
      for (int s = 0; s < images.samples; ++s) {
        const auto [dx, dy] = sample_offset(images.samples, s);
        if (!covers(corners, x * 256 + dx, y * 256 + dy)) continue;
        const auto weights = [&](double px, double py) {
          return std::array<double, 3>{cross(corners[1], corners[2], px, py) / area,
                                       cross(corners[2], corners[0], px, py) / area,
                                       cross(corners[0], corners[1], px, py) / area};
        };
        if (!shaded) {
          Fragment fragment;
          fragment.x = x, fragment.y = y, fragment.front = front, fragment.flat = triangle[0].varyings;
          const auto b = weights(x * 256 + 128, y * 256 + 128);
          double sum = 0;
          for (int i = 0; i < 3; ++i) sum += b[i] / triangle[i].w;
          fragment.w = 1 / sum;
          for (int i = 0; i < 3; ++i) {
            fragment.depth += b[i] * z[i];
            for (std::size_t k = 0; k < fragment.varyings.size(); ++k)
              fragment.varyings[k] += b[i] / triangle[i].w / sum * triangle[i].varyings[k];
          }
          shaded = shader(fragment);
        }
        if (shaded->discarded) continue;
        const auto b = weights(x * 256 + dx, y * 256 + dy);
        const double depth =
            shaded->depth ? *shaded->depth
                          : z[0] + b[1] * (z[1] - z[0]) + b[2] * (z[2] - z[0]);  // exact if all are the same
        if (test(images, state, images.at(x, y, s), front, std::clamp(depth, 0.0, 1.0)))
          write(images, state, images.at(x, y, s), *shaded);
      }
    }
}

}  // namespace reference
