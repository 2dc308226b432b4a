// A draw's numbers: how many vertices, primitives, places there can be, and where they lie. What the kernels
// get follows from it.
#pragma once

#include "graphics/kernels/draw.h"
#include "raddle/graphics.h"

namespace raddle::graphics {

/// Batches and counts of all stages; those of stages that are not there are empty.
struct Plan {
  DrawData data{};
  VertexBatch vertex{};
  HullBatch hull{};
  DomainBatch domain{};
  GeometryBatch geometry{};
  PixelBatch pixel{};
  std::uint64_t assembled = 0;     ///< places of the assembler's list
  std::uint64_t before_setup = 0;  ///< most primitives before a geometry shader, or setup
  std::uint64_t bytes = 0;         ///< of the workspace
};

/// Of a draw that check_draw() accepts, with something to draw.
/// @param status  where errors go  @errors invalid: more than can be counted
Result<Plan> plan_draw(const Draw& draw, DevicePtr workspace, DevicePtr status);

}  // namespace raddle::graphics
