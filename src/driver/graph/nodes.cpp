// See nodes.h.
#include "driver/graph/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/notice.h"
#include "driver/copy.h"
#include "driver/fill.h"
#include "driver/launch.h"
#include "driver/process.h"
#include "driver/stream_values.h"

namespace raddle::driver {
namespace {

Answer<std::shared_ptr<Context>> context_of(const std::shared_ptr<Context>& here, CUcontext given) {
  if (given == nullptr) return here;
  return find<Context>(given);
}

Answer<NodeWork> kernel(const std::shared_ptr<Context>& here, const CUDA_KERNEL_NODE_PARAMS& params,
                        std::map<int, CUlaunchAttribute> attributes) {
  TRY_ASSIGN(const auto context, context_of(here, params.ctx));
  const CUfunction given = params.func != nullptr ? params.func : reinterpret_cast<CUfunction>(params.kern);
  TRY_ASSIGN(const auto function, find<Function>(given, context));
  if (function->module->context != context) return CUDA_ERROR_INVALID_HANDLE;
  std::vector<Argument> arguments;
  TRY(read_arguments(params.kernelParams, params.extra, function->kernel().info(), arguments));
  KernelNode node{function, params, std::make_shared<KernelArguments>(function->kernel().info(), arguments),
                  std::move(attributes)};
  node.params.kernelParams = node.arguments->pointers.data();
  node.params.extra = nullptr;
  node.params.ctx = context->handle;
  LaunchConfig config;
  TRY(launch_of(node, config));
  return NodeWork(std::move(node));
}

Answer<NodeWork> event_node(CUevent handle, bool records) {
  TRY_ASSIGN(const auto event, find<Event>(handle));
  if (event->shared != nullptr) {
    base::notice("raddle: nodes of graphs for events of other processes are not there yet\n");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return records ? NodeWork(EventRecordNode{event}) : NodeWork(EventWaitNode{event});
}

Answer<NodeWork> child(const CUDA_CHILD_GRAPH_NODE_PARAMS& params) {
  TRY_ASSIGN(const auto given, find<Graph>(params.graph));
  if (params.ownership < CHILD_GRAPH_CLONE || params.ownership > CHILD_GRAPH_MOVE)
    return CUDA_ERROR_INVALID_VALUE;
  const bool moves = params.ownership == CHILD_GRAPH_MOVE;
  if (moves && given->is_part) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Graph> graph = given;
  if (!moves) {
    TRY_ASSIGN(graph, clone(*given));
  }
  graph->is_part = true;
  return NodeWork(ChildNode{std::move(graph)});
}

Answer<NodeWork> allocation(const std::shared_ptr<Context>& here, const Graph& graph,
                            std::span<const GraphNode::Edge> dependencies,
                            CUDA_MEM_ALLOC_NODE_PARAMS& params) {
  const CUmemLocation place = params.poolProps.location;
  const bool is_of_device = params.poolProps.allocType == ALLOCATION_PINNED && place.type == LOCATION_DEVICE;
  if (params.bytesize == 0 || (params.accessDescCount != 0 && params.accessDescs == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  if (params.poolProps.handleTypes != HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;  // as CUDA says
  if (place.type == LOCATION_DEVICE && !check_device(place.id).ok())
    return CUDA_ERROR_INVALID_VALUE;  // as an H200 answers
  if (is_of_device && place.id != here->gpu.number) {
    base::notice(
        "raddle: allocation nodes for another device than the current context's are not there yet\n");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  for (std::size_t i = 0; i < params.accessDescCount; ++i) {
    if (params.accessDescs[i].location.type != LOCATION_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    TRY(check_device(params.accessDescs[i].location.id));
  }
  TRY_ASSIGN(auto memory, take_memory(graph, dependencies, here, params.poolProps, params.bytesize));
  params.dptr = memory->address;
  return NodeWork(AllocationNode{std::move(memory),
                                 params.poolProps,
                                 {params.accessDescs, params.accessDescs + params.accessDescCount}});
}

/// Memory that this graph allocates may be freed once in it.
Answer<NodeWork> free_node(const Graph& graph, CUdeviceptr address) {
  const auto memory = GraphMemory::find(address);
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  long left = 1;  // by another graph
  bool is_own = false;
  for (const auto& node : graph.nodes) {
    if (const auto* allocation = std::get_if<AllocationNode>(&node->work);
        allocation && allocation->memory == memory)
      left += is_own, is_own = true;
    if (const auto* freed = std::get_if<FreeNode>(&node->work); freed != nullptr && freed->memory == memory)
      --left;
  }
  if (left <= 0) return CUDA_ERROR_INVALID_VALUE;
  return NodeWork(FreeNode{memory});
}

Answer<NodeWork> batch(const std::shared_ptr<Context>& here, const CUDA_BATCH_MEM_OP_NODE_PARAMS& params) {
  TRY_ASSIGN(const auto context, context_of(here, params.ctx));
  if (params.paramArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  BatchNode node{context, {params.paramArray, params.paramArray + params.count}, params.flags};
  TRY(memory_operations(context, node.operations, node.flags));
  return NodeWork(std::move(node));
}

Answer<NodeWork> conditional(const std::shared_ptr<Context>& here, Graph& graph,
                             CUDA_CONDITIONAL_NODE_PARAMS& params) {
  const auto condition = graph.conditions.find(params.handle);
  const bool is_size = params.type == CONDITIONAL_WHILE ? params.size == 1
                       : params.type == CONDITIONAL_IF
                           ? params.size == 1 || params.size == 2
                           : params.type == CONDITIONAL_SWITCH && params.size != 0;
  if (condition == graph.conditions.end() || condition->second.is_used || !is_size)
    return CUDA_ERROR_INVALID_VALUE;
  condition->second.is_used = true;
  ConditionalNode node{here, params.handle, params.type, {}};
  // The array is the node's: programs find their graphs there.
  thread_local std::vector<CUgraph> handles;
  handles.clear();
  for (unsigned i = 0; i < params.size; ++i) {
    node.bodies.push_back(make_graph());
    node.bodies.back()->is_part = true;
    handles.push_back(node.bodies.back()->handle);
  }
  params.phGraph_out = handles.data();
  return NodeWork(std::move(node));
}

}  // namespace

Status launch_of(const KernelNode& node, LaunchConfig& config) {
  std::vector<CUlaunchAttribute> attributes;
  for (const auto& [id, attribute] : node.attributes) attributes.push_back(attribute);
  const CUDA_KERNEL_NODE_PARAMS& p = node.params;
  const CUlaunchConfig given{
      p.gridDimX,  p.gridDimY,       p.gridDimZ, p.blockDimX,       p.blockDimY,
      p.blockDimZ, p.sharedMemBytes, nullptr,    attributes.data(), static_cast<unsigned>(attributes.size())};
  LaunchAttributes wanted;
  TRY(read_launch_attributes(given, wanted));
  return shape_launch(*node.function, given, wanted, config);
}

Answer<NodeWork> make_work(const std::shared_ptr<Context>& here, Graph& graph,
                           std::span<const GraphNode::Edge> dependencies, CUgraphNodeParams& params) {
  switch (params.type) {
    case NODE_KERNEL:
      return kernel(here, params.kernel, {});
    case NODE_MEMCPY: {
      TRY_ASSIGN(const auto context, context_of(here, params.memcpy.copyCtx));
      TRY(box_of(context, params.memcpy.copyParams));
      return NodeWork(CopyNode{context, params.memcpy.copyParams});
    }
    case NODE_MEMSET: {
      TRY_ASSIGN(const auto context, context_of(here, params.memset.ctx));
      TRY(fill_of(context, params.memset));
      FillNode node{context, params.memset};
      node.params.ctx = context->handle;
      return NodeWork(std::move(node));
    }
    case NODE_HOST:
      if (params.host.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
      return NodeWork(HostNode{params.host});
    case NODE_GRAPH:
      return child(params.graph);
    case NODE_EMPTY:
      return NodeWork(EmptyNode{});
    case NODE_WAIT_EVENT:
      return event_node(params.eventWait.event, false);
    case NODE_EVENT_RECORD:
      return event_node(params.eventRecord.event, true);
    case NODE_EXT_SEMAS_SIGNAL:
    case NODE_EXT_SEMAS_WAIT:
      base::notice(
          "raddle: external semaphores, in nodes of graphs too, are not there: there is no other API\n");
      return CUDA_ERROR_NOT_SUPPORTED;
    case NODE_MEM_ALLOC:
      return allocation(here, graph, dependencies, params.alloc);
    case NODE_MEM_FREE:
      return free_node(graph, params.free.dptr);
    case NODE_BATCH_MEM_OP:
      return batch(here, params.memOp);
    case NODE_CONDITIONAL:
      return conditional(here, graph, params.conditional);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

Answer<NodeWork> changed_work(const std::shared_ptr<Context>& here, const NodeWork& before,
                              CUgraphNodeParams& params) {
  const bool can_change =
      params.type != NODE_MEM_ALLOC && params.type != NODE_MEM_FREE && params.type != NODE_CONDITIONAL;
  if (type_of(before) != params.type || !can_change) return CUDA_ERROR_INVALID_VALUE;
  if (const auto* node = std::get_if<KernelNode>(&before))
    return kernel(here, params.kernel, node->attributes);
  Graph none;  // nothing that depends on one can be changed
  return make_work(here, none, {}, params);
}

}  // namespace raddle::driver
