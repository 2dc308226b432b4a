// Geometries of textures and surfaces, and what they make of coordinate operands (PTX ISA "tex", "suld").
#pragma once

#include <cstdint>

#include "isa/row.h"

namespace raddle::isa {

enum class Geometry : std::uint8_t { d1, d2, d3, a1d, a2d, cube, acube };

/// The opcode's geometry modifier; d1 where it has none.
Geometry geometry_of(const Opcode& opcode);

constexpr bool has_layer(Geometry g) {
  return g == Geometry::a1d || g == Geometry::a2d || g == Geometry::acube;
}
/// Coordinates without the layer; a cube's are a direction.
constexpr unsigned coordinate_count(Geometry g) {
  switch (g) {
    case Geometry::d1:
    case Geometry::a1d:
      return 1;
    case Geometry::d2:
    case Geometry::a2d:
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
