// Graphs as pictures: cuGraphDebugDotPrint.
#pragma once

#include "driver/graph/graph.h"

namespace raddle::driver {

/// Writes a graph in Graphviz's language. @param flags  DEBUG_DOT_VERBOSE: all that is known of nodes
/// CUDA_ERROR_OPERATING_SYSTEM: the file cannot be written
Status print_dot(const Graph& graph, const char* path, unsigned flags);

}  // namespace raddle::driver
