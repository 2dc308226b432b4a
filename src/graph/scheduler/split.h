// Large passes in pieces (G-13): dispatches whose kernels take the number of their first block, and copies,
// clears and fills of buffers. The analysis of bytes then finds which pieces a pass waits for.
#pragma once

#include <memory>

#include "raddle/graph/scheduler.h"

namespace raddle::graph {

/// @returns null: nothing is large enough
std::shared_ptr<const Graph> with_pieces(const Graph& graph, const Target& target,
                                         const SchedulerOptions& options);

}  // namespace raddle::graph
