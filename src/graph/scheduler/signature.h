// A number for all of a graph that decides its analysis: graphs of one signature have the same dependencies,
// though other kernels and arguments.
#pragma once

#include "raddle/graph/graph.h"

namespace raddle::graph {

std::uint64_t signature_of(const Graph& graph);

}  // namespace raddle::graph
