// The calls that add nodes, and read and change what they do. CUDA has a call for each kind of node, and one
// for all.
#include <cstring>

#include "driver/entry.h"
#include "driver/graph/graph.h"
#include "driver/graph/node_params.h"
#include "driver/graph/nodes.h"
#include "driver/process.h"

namespace raddle::driver::entry {
namespace {

/// Where the new node comes.
struct Place {
  CUgraphNode* node;
  const std::shared_ptr<Graph>& graph;
  const CUgraphNode* dependencies;
  const CUgraphEdgeData* data;
  std::size_t count;
};

Status add(Here context, const Place& place, CUgraphNodeParams& params) {
  const auto lock = lock_graphs();
  TRY_ASSIGN(const auto edges, edges_of(*place.graph, place.dependencies, place.data, place.count));
  TRY_ASSIGN(NodeWork work, make_work(context, *place.graph, edges, params));
  TRY_ASSIGN(const auto node, place.graph->add(std::move(work), edges));
  *place.node = node->handle;
  return CUDA_SUCCESS;
}

/// What a node of a kind does. CUDA_ERROR_INVALID_VALUE: it is of another kind
template <class Work>
Answer<Work*> work_of(GraphNode& node) {
  Work* const work = std::get_if<Work>(&node.work);
  if (work == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return work;
}

/// Of no block, or of no thread: what launches refuse, too.
bool is_empty(const CUDA_KERNEL_NODE_PARAMS& params) {
  return params.gridDimX == 0 || params.gridDimY == 0 || params.gridDimZ == 0 || params.blockDimX == 0 ||
         params.blockDimY == 0 || params.blockDimZ == 0;
}

Status change(Here context, GraphNode& node, CUgraphNodeParams params) {
  const auto lock = lock_graphs();
  if (params.type == NODE_KERNEL && is_empty(params.kernel)) return CUDA_ERROR_INVALID_VALUE;
  TRY_ASSIGN(node.work, changed_work(context, node.work, params));
  return CUDA_SUCCESS;
}

}  // namespace

Status cuGraphAddNode(Here context, CUgraphNode* node, In<Graph> graph, const CUgraphNode* dependencies,
                      std::size_t count, CUgraphNodeParams* params) {
  return add(context, {node, graph, dependencies, nullptr, count}, *params);
}
Status cuGraphAddNode_v2(Here context, CUgraphNode* node, In<Graph> graph, const CUgraphNode* dependencies,
                         const CUgraphEdgeData* data, std::size_t count, CUgraphNodeParams* params) {
  return add(context, {node, graph, dependencies, data, count}, *params);
}
Status cuGraphNodeSetParams(Here context, In<GraphNode> node, CUgraphNodeParams* params) {
  return change(context, *node, *params);
}

Status cuGraphAddKernelNode(Here context, CUgraphNode* node, In<Graph> graph, const CUgraphNode* dependencies,
                            std::size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* given) {
  CUgraphNodeParams params = params_of(*given);
  return add(context, {node, graph, dependencies, nullptr, count}, params);
}
Status cuGraphAddKernelNode_v2(Here context, CUgraphNode* node, In<Graph> graph,
                               const CUgraphNode* dependencies, std::size_t count,
                               const CUDA_KERNEL_NODE_PARAMS* given) {
  CUgraphNodeParams params = params_of(*given);
  return add(context, {node, graph, dependencies, nullptr, count}, params);
}
Status cuGraphKernelNodeGetParams(In<GraphNode> node, CUDA_KERNEL_NODE_PARAMS_v1* params) {
  TRY_ASSIGN(const KernelNode* const work, work_of<KernelNode>(*node));
  *params = work->params;
  return CUDA_SUCCESS;
}
Status cuGraphKernelNodeGetParams_v2(In<GraphNode> node, CUDA_KERNEL_NODE_PARAMS* params) {
  TRY_ASSIGN(const KernelNode* const work, work_of<KernelNode>(*node));
  *params = work->params;
  return CUDA_SUCCESS;
}
Status cuGraphKernelNodeSetParams(Here context, In<GraphNode> node,
                                  const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return change(context, *node, params_of(*params));
}
Status cuGraphKernelNodeSetParams_v2(Here context, In<GraphNode> node,
                                     const CUDA_KERNEL_NODE_PARAMS* params) {
  return change(context, *node, params_of(*params));
}

Status cuGraphKernelNodeSetAttribute(In<GraphNode> node, int attribute, const CUkernelNodeAttrValue* value) {
  const auto lock = lock_graphs();
  TRY_ASSIGN(KernelNode* const work, work_of<KernelNode>(*node));
  KernelNode changed = *work;
  CUlaunchAttribute& set = changed.attributes[attribute];
  set.id = attribute;
  std::memcpy(set.value, value, sizeof set.value);
  LaunchConfig config;
  TRY(launch_of(changed, config));
  *work = std::move(changed);
  return CUDA_SUCCESS;
}
Status cuGraphKernelNodeGetAttribute(In<GraphNode> node, int attribute, CUkernelNodeAttrValue* value) {
  const auto lock = lock_graphs();
  TRY_ASSIGN(const KernelNode* const work, work_of<KernelNode>(*node));
  const CUlaunchAttribute asked{attribute};
  LaunchAttributes unused;
  const CUlaunchConfig config{.attrs = const_cast<CUlaunchAttribute*>(&asked), .numAttrs = 1};
  const auto found = work->attributes.find(attribute);
  // A value of nothing is one of some attributes only; others that were not set are known if they can be set.
  if (found == work->attributes.end() && attribute != LAUNCH_CLUSTER_DIMENSION &&
      attribute != LAUNCH_PREFERRED_CLUSTER_DIMENSION)
    TRY(read_launch_attributes(config, unused));
  std::memset(value, 0, sizeof *value);
  if (found != work->attributes.end()) std::memcpy(value, found->second.value, sizeof *value);
  return CUDA_SUCCESS;
}
Status cuGraphKernelNodeCopyAttributes(In<GraphNode> to, In<GraphNode> from) {
  const auto lock = lock_graphs();
  TRY_ASSIGN(KernelNode* const target, work_of<KernelNode>(*to));
  TRY_ASSIGN(const KernelNode* const source, work_of<KernelNode>(*from));
  KernelNode changed = *target;
  changed.attributes = source->attributes;
  LaunchConfig config;
  TRY(launch_of(changed, config));
  *target = std::move(changed);
  return CUDA_SUCCESS;
}

Status cuGraphAddMemcpyNode(CUgraphNode* node, In<Graph> graph, const CUgraphNode* dependencies,
                            std::size_t count, const CUDA_MEMCPY3D* copy, OrCurrent<Context> context) {
  CUgraphNodeParams params = params_of(*copy, context);
  return add(context, {node, graph, dependencies, nullptr, count}, params);
}
Status cuGraphMemcpyNodeGetParams(In<GraphNode> node, CUDA_MEMCPY3D* params) {
  TRY_ASSIGN(const CopyNode* const work, work_of<CopyNode>(*node));
  *params = work->params;
  return CUDA_SUCCESS;
}
Status cuGraphMemcpyNodeSetParams(In<GraphNode> node, const CUDA_MEMCPY3D* params) {
  TRY_ASSIGN(const CopyNode* const work, work_of<CopyNode>(*node));
  return change(work->context, *node, params_of(*params, work->context));
}

Status cuGraphAddMemsetNode(CUgraphNode* node, In<Graph> graph, const CUgraphNode* dependencies,
                            std::size_t count, const CUDA_MEMSET_NODE_PARAMS_v1* fill,
                            OrCurrent<Context> context) {
  CUgraphNodeParams params = params_of(*fill, context);
  return add(context, {node, graph, dependencies, nullptr, count}, params);
}
Status cuGraphMemsetNodeGetParams(In<GraphNode> node, CUDA_MEMSET_NODE_PARAMS_v1* params) {
  TRY_ASSIGN(const FillNode* const work, work_of<FillNode>(*node));
  *params = work->params;
  return CUDA_SUCCESS;
}
Status cuGraphMemsetNodeSetParams(In<GraphNode> node, const CUDA_MEMSET_NODE_PARAMS_v1* params) {
  TRY_ASSIGN(const FillNode* const work, work_of<FillNode>(*node));
  return change(work->context, *node, params_of(*params, work->context));
}

Status cuGraphAddHostNode(Here context, CUgraphNode* node, In<Graph> graph, const CUgraphNode* dependencies,
                          std::size_t count, const CUDA_HOST_NODE_PARAMS* given) {
  CUgraphNodeParams params = params_of(*given);
  return add(context, {node, graph, dependencies, nullptr, count}, params);
}
Status cuGraphHostNodeGetParams(In<GraphNode> node, CUDA_HOST_NODE_PARAMS* params) {
  TRY_ASSIGN(const HostNode* const work, work_of<HostNode>(*node));
  *params = work->params;
  return CUDA_SUCCESS;
}
Status cuGraphHostNodeSetParams(Here context, In<GraphNode> node, const CUDA_HOST_NODE_PARAMS* params) {
  return change(context, *node, params_of(*params));
}

Status cuGraphAddChildGraphNode(Here context, CUgraphNode* node, In<Graph> graph,
                                const CUgraphNode* dependencies, std::size_t count, CUgraph child) {
  CUgraphNodeParams params = params_of(NODE_GRAPH);
  params.graph = {child, CHILD_GRAPH_CLONE};
  return add(context, {node, graph, dependencies, nullptr, count}, params);
}
Status cuGraphChildGraphNodeGetGraph(In<GraphNode> node, CUgraph* graph) {
  TRY_ASSIGN(const ChildNode* const work, work_of<ChildNode>(*node));
  *graph = work->graph->handle;
  return CUDA_SUCCESS;
}

Status cuGraphAddEmptyNode(Here context, CUgraphNode* node, In<Graph> graph, const CUgraphNode* dependencies,
                           std::size_t count) {
  CUgraphNodeParams params = params_of(NODE_EMPTY);
  return add(context, {node, graph, dependencies, nullptr, count}, params);
}

Status cuGraphAddEventRecordNode(Here context, CUgraphNode* node, In<Graph> graph,
                                 const CUgraphNode* dependencies, std::size_t count, CUevent event) {
  CUgraphNodeParams params = params_of_event(NODE_EVENT_RECORD, event);
  return add(context, {node, graph, dependencies, nullptr, count}, params);
}
Status cuGraphEventRecordNodeGetEvent(In<GraphNode> node, CUevent* event) {
  TRY_ASSIGN(const EventRecordNode* const work, work_of<EventRecordNode>(*node));
  *event = work->event->handle;
  return CUDA_SUCCESS;
}
Status cuGraphEventRecordNodeSetEvent(Here context, In<GraphNode> node, CUevent event) {
  return change(context, *node, params_of_event(NODE_EVENT_RECORD, event));
}

Status cuGraphAddEventWaitNode(Here context, CUgraphNode* node, In<Graph> graph,
                               const CUgraphNode* dependencies, std::size_t count, CUevent event) {
  CUgraphNodeParams params = params_of_event(NODE_WAIT_EVENT, event);
  return add(context, {node, graph, dependencies, nullptr, count}, params);
}
Status cuGraphEventWaitNodeGetEvent(In<GraphNode> node, CUevent* event) {
  TRY_ASSIGN(const EventWaitNode* const work, work_of<EventWaitNode>(*node));
  *event = work->event->handle;
  return CUDA_SUCCESS;
}
Status cuGraphEventWaitNodeSetEvent(Here context, In<GraphNode> node, CUevent event) {
  return change(context, *node, params_of_event(NODE_WAIT_EVENT, event));
}

Status cuGraphAddBatchMemOpNode(Here context, CUgraphNode* node, In<Graph> graph,
                                const CUgraphNode* dependencies, std::size_t count,
                                const CUDA_BATCH_MEM_OP_NODE_PARAMS* given) {
  CUgraphNodeParams params = params_of(*given);
  return add(context, {node, graph, dependencies, nullptr, count}, params);
}
Status cuGraphBatchMemOpNodeGetParams(In<GraphNode> node, CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  TRY_ASSIGN(BatchNode* const work, work_of<BatchNode>(*node));
  *params = {work->context->handle, static_cast<unsigned>(work->operations.size()), work->operations.data(),
             work->flags};
  return CUDA_SUCCESS;
}
Status cuGraphBatchMemOpNodeSetParams(Here context, In<GraphNode> node,
                                      const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return change(context, *node, params_of(*params));
}

Status cuGraphAddMemAllocNode(Here context, CUgraphNode* node, In<Graph> graph,
                              const CUgraphNode* dependencies, std::size_t count,
                              CUDA_MEM_ALLOC_NODE_PARAMS* given) {
  CUgraphNodeParams params = params_of(NODE_MEM_ALLOC);
  params.alloc = *given;
  TRY(add(context, {node, graph, dependencies, nullptr, count}, params));
  given->dptr = params.alloc.dptr;
  return CUDA_SUCCESS;
}
Status cuGraphMemAllocNodeGetParams(In<GraphNode> node, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  TRY_ASSIGN(const AllocationNode* const work, work_of<AllocationNode>(*node));
  *params = {work->props, work->access.data(), work->access.size(), work->memory->bytes,
             work->memory->address};
  return CUDA_SUCCESS;
}
Status cuGraphAddMemFreeNode(Here context, CUgraphNode* node, In<Graph> graph,
                             const CUgraphNode* dependencies, std::size_t count, CUdeviceptr address) {
  CUgraphNodeParams params = params_of(NODE_MEM_FREE);
  params.free.dptr = address;
  return add(context, {node, graph, dependencies, nullptr, count}, params);
}
Status cuGraphMemFreeNodeGetParams(In<GraphNode> node, CUdeviceptr* address) {
  TRY_ASSIGN(const FreeNode* const work, work_of<FreeNode>(*node));
  *address = work->memory->address;
  return CUDA_SUCCESS;
}

Status cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, In<Graph> graph,
                                      OrCurrent<Context> context, unsigned value, unsigned flags) {
  const auto lock = lock_graphs();
  if ((flags & ~CONDITION_ASSIGN_DEFAULT) != 0) return CUDA_ERROR_INVALID_VALUE;
  const raddle::Condition condition(context->device);
  *handle = condition.handle();
  graph->conditions.emplace(*handle, Graph::Conditional{context, condition, value, flags});
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver::entry
