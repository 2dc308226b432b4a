#include "isa/geometry.h"

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
    case Mod::cube:
      return Geometry::cube;
    case Mod::acube:
      return Geometry::acube;
    default:
      return Geometry::d1;
  }
}

}  // namespace raddle::isa
