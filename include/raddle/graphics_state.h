// States of the graphics pipeline: plain values, which host and kernels share.
#pragma once

#include <cstdint>

namespace raddle::graphics {

/// How vertices make primitives. Runs of strips and fans follow Vulkan's order of vertices; the first vertex
/// gives what is flat.
enum class Topology : std::uint32_t {
  points,
  lines,
  line_strip,
  triangles,
  triangle_strip,
  triangle_fan,
  lines_adjacent,  ///< four vertices; the line is between the inner ones
  line_strip_adjacent,
  triangles_adjacent,  ///< six vertices; corners are the first, third and fifth
  triangle_strip_adjacent,
  patches,
};

enum class CullMode : std::uint32_t { none, front, back };
/// Bits: below, equal, above.
enum class Compare : std::uint32_t {
  never = 0,
  less = 1,
  equal = 2,
  less_equal = 3,
  greater = 4,
  not_equal = 5,
  greater_equal = 6,
  always = 7
};

struct DepthState {
  std::uint32_t test = 0, write = 0;  ///< 0 or 1; without the test nothing is written
  Compare compare = Compare::less;
};

enum class StencilOperation : std::uint32_t {
  keep,
  zero,
  replace,
  increment_clamp,
  decrement_clamp,
  invert,
  increment_wrap,
  decrement_wrap
};
struct StencilFace {
  Compare compare = Compare::always;
  StencilOperation fail = StencilOperation::keep, depth_fail = StencilOperation::keep,
                   pass = StencilOperation::keep;
};
struct StencilState {
  std::uint32_t test = 0;  ///< 0 or 1
  std::uint32_t read_mask = 0xff, write_mask = 0xff, reference = 0;
  StencilFace front, back;
};

enum class BlendFactor : std::uint32_t {
  zero,
  one,
  source_colour,
  one_minus_source_colour,
  source_alpha,
  one_minus_source_alpha,
  target_alpha,
  one_minus_target_alpha,
  target_colour,
  one_minus_target_colour,
  source_alpha_saturate,  ///< the smaller of source alpha and one minus target alpha; 1 for alpha
  constant,
  one_minus_constant,
  constant_alpha,
  one_minus_constant_alpha,
  second_colour,  ///< of the pixel shader's output 1, for target 0
  one_minus_second_colour,
  second_alpha,
  one_minus_second_alpha,
};
enum class BlendOperation : std::uint32_t { add, subtract, reverse_subtract, least, greatest };

/// result = operation(source * source factor, target * target factor)
struct BlendState {
  std::uint32_t enabled = 0;
  BlendFactor source = BlendFactor::one, target = BlendFactor::zero;
  BlendOperation operation = BlendOperation::add;
  BlendFactor source_alpha = BlendFactor::one, target_alpha = BlendFactor::zero;
  BlendOperation alpha_operation = BlendOperation::add;
  std::uint32_t write_mask = 0xf;  ///< bit c: channel c
};

enum class DomainShape : std::uint32_t { triangles, quads, isolines };
enum class Partitioning : std::uint32_t { integer, fractional_odd, fractional_even };
enum class OutputTopology : std::uint32_t { points, lines, triangles };

}  // namespace raddle::graphics
