// Draws of the graphics pipeline in passes: what Graph's `draw` command records.
//
//   pass.draw("scene", [=](Recorder& recorder) -> Result<void> {
//     TRY_ASSIGN(const DevicePtr target, recorder.address(image));
//     draw.targets = {graphics::Target::packed(target, 640, 480, format)};
//     TRY_ASSIGN(const auto steps, renderer.steps(draw, recorder.address(workspace).value()));
//     return record(recorder, steps);
//   });
#pragma once

#include <span>

#include "raddle/graph/recorder.h"
#include "raddle/graphics.h"

namespace raddle::graph {

/// The steps of a draw become the pass's work, one behind the other (G-2b). @errors as Recorder's
Result<void> record(Recorder& recorder, std::span<const graphics::DrawStep> steps);

}  // namespace raddle::graph
