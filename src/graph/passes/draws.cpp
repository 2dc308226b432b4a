// See include/raddle/graph/draws.h.
#include "raddle/graph/draws.h"

namespace raddle::graph {

Result<void> record(Recorder& recorder, std::span<const graphics::DrawStep> steps) {
  for (const graphics::DrawStep& step : steps) {
    if (step.kernel)
      TRY(recorder.launch(*step.kernel, step.config, step.views()));
    else
      TRY(recorder.fill({.to = step.to, .word = step.value, .width = step.bytes}));
  }
  return {};
}

}  // namespace raddle::graph
