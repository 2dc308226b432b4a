#include "isa/geometry.h"

#include "isa/fragment.h"

namespace raddle::isa {

Geometry geometry_of(const Opcode& opcode) {
  switch (opcode.get(ModKind::geometry)) {
    case Mod::dim_2d:
      return Geometry::d2;
    case Mod::dim_3d:
      return Geometry::d3;
    case Mod::a1d:
      return Geometry::a1d;
    case Mod::a2d:
      return Geometry::a2d;
    case Mod::dim_2dms:
      return Geometry::d2ms;
    case Mod::a2dms:
      return Geometry::a2dms;
    case Mod::cube:
      return Geometry::cube;
    case Mod::acube:
      return Geometry::acube;
    default:
      return Geometry::d1;
  }
}

unsigned tensor_rank(const Opcode& opcode) {
  switch (opcode.get(ModKind::geometry)) {
    case Mod::dim_2d:
      return 2;
    case Mod::dim_3d:
      return 3;
    case Mod::dim_4d:
      return 4;
    case Mod::dim_5d:
      return 5;
    default:
      return 1;
  }
}

unsigned element_count(const OperandSpec& spec, const Opcode& opcode) {
  const GeometricKind kind = spec.geometric;
  if (kind == GeometricKind::fragment) return fragment_registers(opcode, spec);
  if (kind == GeometricKind::block) return tensor_rank(opcode);
  if (kind == GeometricKind::im2col) return tensor_rank(opcode) - 2;
  const Geometry g = geometry_of(opcode);
  return coordinate_count(g) + (kind == GeometricKind::coordinates ? index_count(g) : 0);
}

}  // namespace raddle::isa
