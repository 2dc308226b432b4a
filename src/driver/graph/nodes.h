// What a node does, from the structure in which calls describe it.
#pragma once

#include <span>

#include "driver/graph/graph.h"
#include "driver/launch_attributes.h"

namespace raddle::driver {

/// The work of a node to be added to a graph, checked as far as it can be before it runs. What the node owns
/// is made, and named in `params`. @param here  the current context, for work that names none
/// @param dependencies  of the node
/// @errors CUDA_ERROR_INVALID_VALUE, and those of the calls that do such work at once
Answer<NodeWork> make_work(const std::shared_ptr<Context>& here, Graph& graph,
                           std::span<const GraphNode::Edge> dependencies, CUgraphNodeParams& params);
/// The same for a node that is there and does work of that kind. CUDA_ERROR_INVALID_VALUE: another kind, or
/// one that cannot be changed
Answer<NodeWork> changed_work(const std::shared_ptr<Context>& here, const NodeWork& before,
                              CUgraphNodeParams& params);

/// The launch that a kernel node does. CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_CLUSTER_SIZE
Status launch_of(const KernelNode& node, LaunchConfig& config);

}  // namespace raddle::driver
