// Geometries of textures and surfaces, and what they make of coordinate operands (PTX ISA "tex", "suld").
#pragma once

#include <cstdint>

#include "isa/row.h"

namespace raddle::isa {

enum class Geometry : std::uint8_t { d1, d2, d3, a1d, a2d, d2ms, a2dms, cube, acube };

/// The opcode's geometry modifier; d1 where it has none.
Geometry geometry_of(const Opcode& opcode);

constexpr bool has_layer(Geometry g) {
  return g == Geometry::a1d || g == Geometry::a2d || g == Geometry::a2dms || g == Geometry::acube;
}
/// A texel has several samples, and the coordinates say which.
constexpr bool has_sample(Geometry g) { return g == Geometry::d2ms || g == Geometry::a2dms; }
/// What stands before the coordinates, as .u32: the layer, then the sample.
constexpr unsigned index_count(Geometry g) { return (has_layer(g) ? 1u : 0u) + (has_sample(g) ? 1u : 0u); }
/// Coordinates without these; a cube's are a direction.
constexpr unsigned coordinate_count(Geometry g) {
  switch (g) {
    case Geometry::d1:
    case Geometry::a1d:
      return 1;
    case Geometry::d2:
    case Geometry::a2d:
    case Geometry::d2ms:
    case Geometry::a2dms:
      return 2;
    default:
      return 3;
  }
}

/// Dimensions of the tensor that an opcode names by .1d to .5d.
unsigned tensor_rank(const Opcode& opcode);

/// Elements of a geometric operand. After three coordinates of textures and surfaces a fourth may be written
/// and is ignored.
unsigned element_count(const OperandSpec& spec, const Opcode& opcode);

}  // namespace raddle::isa
