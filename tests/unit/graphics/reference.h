// A renderer that is as plain as can be: for each triangle, each pixel, each sample. It shares no code with
// the pipeline, only the names of states; all its numbers are doubles, its coverage whole numbers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "raddle/graphics_state.h"

namespace reference {

using raddle::graphics::BlendState;
using raddle::graphics::CullMode;
using raddle::graphics::DepthState;
using raddle::graphics::StencilState;
using Colour = std::array<double, 4>;
using Varyings = std::array<double, 8>;

struct Vertex {
  double x = 0, y = 0, z = 0, w = 1;  ///< clip space
  Varyings varyings{};
};

struct Fragment {
  int x = 0, y = 0;
  bool front = true;
  double depth = 0, w = 1;
  Varyings varyings{}, flat{};
};

struct Shaded {
  std::vector<Colour> colours;
  bool discarded = false;
  std::optional<double> depth{};
};

/// Images of one size; a texel has as many values as samples.
struct Images {
  int width = 0, height = 0, samples = 1;
  std::vector<std::vector<Colour>> colours;  ///< of each target, [(y * width + x) * samples + s]
  std::vector<double> depth;
  std::vector<unsigned> stencil;

  Images(int width, int height, unsigned targets, int samples = 1);
  std::size_t at(int x, int y, int s = 0) const {
    return (static_cast<std::size_t>(y) * width + x) * samples + s;
  }
};

struct State {
  DepthState depth;
  StencilState stencil;
  std::vector<BlendState> blend;
  Colour constant{};
  CullMode cull = CullMode::none;
  bool front_is_counter_clockwise = false;
  bool unorm8 = true;                              ///< targets hold 8-bit numbers
  std::array<int, 4> cut{0, 0, 1 << 20, 1 << 20};  ///< left, top, right, bottom
};

/// Draws a triangle into a viewport of the images' size. Its corners lie before the near plane, and not far
/// outside.
void draw(Images& images, const State& state, const std::array<Vertex, 3>& triangle,
          const std::function<Shaded(const Fragment&)>& shader);

/// Whether a sample belongs to a triangle with corners in 1/256 pixels, of either orientation (top-left
/// rule).
bool covers(const std::array<std::array<std::int64_t, 2>, 3>& corners, std::int64_t x, std::int64_t y);
/// Sample s of a pixel, in 1/256 pixels from the pixel's corner.
std::array<int, 2> sample_offset(int samples, int s);

}  // namespace reference
