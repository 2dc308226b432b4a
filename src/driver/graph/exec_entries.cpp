// The calls on executable graphs.
#include "driver/entry.h"
#include "driver/graph/capture.h"
#include "driver/graph/executable.h"
#include "driver/graph/node_params.h"
#include "driver/graph/nodes.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver::entry {
namespace {

/// The node of an executable graph that was made of one of its graph's.
Answer<GraphNode*> node_in(GraphExec& exec, CUgraphNode handle) {
  const auto found = exec.copies.find(handle);
  if (found == exec.copies.end()) return CUDA_ERROR_INVALID_VALUE;
  return found->second;
}

Status change(Here context, GraphExec& exec, CUgraphNode handle, CUgraphNodeParams params) {
  const auto lock = lock_graphs();
  TRY_ASSIGN(GraphNode* const node, node_in(exec, handle));
  TRY_ASSIGN(NodeWork work, changed_work(context, node->work, params));
  return driver::change(exec, *node, std::move(work));
}

Status instantiate(CUgraphExec* handle, const Graph& graph, unsigned long long flags, CUgraphNode& culprit,
                   CUgraphInstantiateResult& result) {
  const auto lock = lock_graphs();
  TRY_ASSIGN(auto exec, driver::instantiate(graph, flags, culprit, result));
  *handle = Process::instance().graph_execs.add(exec);
  if ((flags & INSTANTIATE_DEVICE_LAUNCH) == 0) return CUDA_SUCCESS;
  return exec->executable.let_kernels_launch(reinterpret_cast<std::uintptr_t>(*handle));
}

}  // namespace

Status cuGraphInstantiateWithFlags(CUgraphExec* exec, In<Graph> graph, unsigned long long flags) {
  CUgraphNode culprit;
  CUgraphInstantiateResult result;
  return instantiate(exec, *graph, flags, culprit, result);
}

// The two older forms; the text says which node was wrong, if any.
Status cuGraphInstantiate(CUgraphExec* exec, In<Graph> graph, CUgraphNode* culprit, char* text,
                          std::size_t bytes) {
  return cuGraphInstantiate_v2(exec, graph, culprit, text, bytes);
}
Status cuGraphInstantiate_v2(CUgraphExec* exec, In<Graph> graph, CUgraphNode* culprit, char* text,
                             std::size_t bytes) {
  CUgraphNode wrong;
  CUgraphInstantiateResult result;
  const Status status = instantiate(exec, *graph, 0, wrong, result);
  if (culprit != nullptr) *culprit = wrong;
  if (text != nullptr && bytes != 0) {
    const auto end = fmt::format_to_n(text, bytes - 1, "{}", status.ok() ? "" : result_text(status.error()));
    *end.out = 0;
  }
  return status;
}

Status cuGraphInstantiateWithParams(Here context, CUgraphExec* exec, In<Graph> graph,
                                    CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  TRY(instantiate(exec, *graph, params->flags, params->hErrNode_out, params->result_out));
  if ((params->flags & INSTANTIATE_UPLOAD) != 0) TRY(find<Stream>(params->hUploadStream, context));
  return CUDA_SUCCESS;
}

Status cuGraphExecGetFlags(In<GraphExec> exec, std::uint64_t* flags) {
  *flags = exec->flags & ~INSTANTIATE_UPLOAD;
  return CUDA_SUCCESS;
}

Status cuGraphExecDestroy(In<GraphExec> exec) {
  return Process::instance().graph_execs.remove(exec->handle) != nullptr ? CUDA_SUCCESS
                                                                         : CUDA_ERROR_INVALID_VALUE;
}

// What launches need is there since the instantiation, or the last change.
Status cuGraphUpload(Here, In<GraphExec> exec, In<Stream> stream) {
  TRY(stream->order());
  exec->executable.prepare();
  return CUDA_SUCCESS;
}

Status cuGraphLaunch(Here, In<GraphExec> exec, In<Stream> stream) {
  const auto lock = lock_graphs();
  if (!stream->is_capturing()) return launch(*exec, *stream);
  TRY_ASSIGN(auto copy, clone(*exec->graph));
  copy->is_part = true;
  return capture(*stream, ChildNode{std::move(copy)});
}

Status cuGraphExecUpdate_v2(In<GraphExec> exec, In<Graph> graph, CUgraphExecUpdateResultInfo* info) {
  const auto lock = lock_graphs();
  *info = update(*exec, *graph);
  return info->result == UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}
Status cuGraphExecUpdate(In<GraphExec> exec, In<Graph> graph, CUgraphNode* culprit,
                         CUgraphExecUpdateResult* result) {
  CUgraphExecUpdateResultInfo info{};
  const Status status = cuGraphExecUpdate_v2(exec, graph, &info);
  if (culprit != nullptr) *culprit = info.errorNode;
  *result = info.result;
  return status;
}

Status cuGraphExecNodeSetParams(Here context, In<GraphExec> exec, CUgraphNode node,
                                CUgraphNodeParams* params) {
  return change(context, *exec, node, *params);
}

Status cuGraphExecKernelNodeSetParams(Here context, In<GraphExec> exec, CUgraphNode node,
                                      const CUDA_KERNEL_NODE_PARAMS_v1* given) {
  return change(context, *exec, node, params_of(*given));
}
Status cuGraphExecKernelNodeSetParams_v2(Here context, In<GraphExec> exec, CUgraphNode node,
                                         const CUDA_KERNEL_NODE_PARAMS* given) {
  return change(context, *exec, node, params_of(*given));
}

Status cuGraphExecMemcpyNodeSetParams(In<GraphExec> exec, CUgraphNode node, const CUDA_MEMCPY3D* copy,
                                      OrCurrent<Context> context) {
  return change(context, *exec, node, params_of(*copy, context));
}

Status cuGraphExecMemsetNodeSetParams(In<GraphExec> exec, CUgraphNode node,
                                      const CUDA_MEMSET_NODE_PARAMS_v1* fill, OrCurrent<Context> context) {
  return change(context, *exec, node, params_of(*fill, context));
}

Status cuGraphExecHostNodeSetParams(Here context, In<GraphExec> exec, CUgraphNode node,
                                    const CUDA_HOST_NODE_PARAMS* host) {
  return change(context, *exec, node, params_of(*host));
}

Status cuGraphExecEventRecordNodeSetEvent(Here context, In<GraphExec> exec, CUgraphNode node, CUevent event) {
  return change(context, *exec, node, params_of_event(NODE_EVENT_RECORD, event));
}
Status cuGraphExecEventWaitNodeSetEvent(Here context, In<GraphExec> exec, CUgraphNode node, CUevent event) {
  return change(context, *exec, node, params_of_event(NODE_WAIT_EVENT, event));
}

Status cuGraphExecBatchMemOpNodeSetParams(Here context, In<GraphExec> exec, CUgraphNode node,
                                          const CUDA_BATCH_MEM_OP_NODE_PARAMS* given) {
  return change(context, *exec, node, params_of(*given));
}

// All nodes of the child graph get what those of another one of its structure do.
Status cuGraphExecChildGraphNodeSetParams(In<GraphExec> exec, CUgraphNode node, In<Graph> child) {
  const auto lock = lock_graphs();
  TRY_ASSIGN(GraphNode* const known, node_in(*exec, node));
  auto* const work = std::get_if<ChildNode>(&known->work);
  if (work == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return update(*exec, *work->graph, *child).result == UPDATE_SUCCESS ? CUDA_SUCCESS
                                                                      : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

Status cuGraphNodeSetEnabled(In<GraphExec> exec, CUgraphNode handle, unsigned enabled) {
  const auto lock = lock_graphs();
  TRY_ASSIGN(const GraphNode* const node, node_in(*exec, handle));
  const CUgraphNodeType type = type_of(node->work);
  if (type != NODE_KERNEL && type != NODE_MEMSET && type != NODE_MEMCPY) return CUDA_ERROR_INVALID_VALUE;
  const GraphExec::Place& place = exec->places[node];
  place.in->set_enabled(place.nodes.front(), enabled != 0);
  return CUDA_SUCCESS;
}
Status cuGraphNodeGetEnabled(In<GraphExec> exec, CUgraphNode handle, unsigned* enabled) {
  const auto lock = lock_graphs();
  TRY_ASSIGN(const GraphNode* const node, node_in(*exec, handle));
  const CUgraphNodeType type = type_of(node->work);
  if (type != NODE_KERNEL && type != NODE_MEMSET && type != NODE_MEMCPY) return CUDA_ERROR_INVALID_VALUE;
  const GraphExec::Place& place = exec->places[node];
  *enabled = place.in->is_enabled(place.nodes.front());
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver::entry
