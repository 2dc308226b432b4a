// Executable graphs, and capture.
#include "cudart/entry.h"

namespace raddle::cudart::entry {

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags) {
  CHECK(prepare());
  return driver().cuGraphInstantiateWithFlags(executable, graph, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* executable, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* instantiate_params) {
  CHECK(prepare());
  return driver().cuGraphInstantiateWithParams(executable, graph, instantiate_params);
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t executable, unsigned long long* flags) {
  CHECK(prepare());
  return driver().cuGraphExecGetFlags(executable, flags);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  CHECK(prepare());
  return driver().cuGraphExecDestroy(executable);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  CHECK(prepare());
  return driver().cuGraphUpload(executable, stream);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  CHECK(prepare());
  return driver().cuGraphLaunch(executable, stream);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t h_graph,
                                cudaGraphExecUpdateResultInfo* result) {
  CHECK(prepare());
  return driver().cuGraphExecUpdate(executable, h_graph, result);
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                 cudaGraph_t child_graph) {
  CHECK(prepare());
  return driver().cuGraphExecChildGraphNodeSetParams(executable, node, child_graph);
}

cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                 cudaEvent_t event) {
  CHECK(prepare());
  return driver().cuGraphExecEventRecordNodeSetEvent(executable, node, event);
}

cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t executable, cudaGraphNode_t node,
                                               cudaEvent_t event) {
  CHECK(prepare());
  return driver().cuGraphExecEventWaitNodeSetEvent(executable, node, event);
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned enabled) {
  CHECK(prepare());
  return driver().cuGraphNodeSetEnabled(executable, node, enabled);
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned* enabled) {
  CHECK(prepare());
  return driver().cuGraphNodeGetEnabled(executable, node, enabled);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return entry::cudaGraphInstantiateWithFlags(executable, graph, flags);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  CHECK(prepare());
  return driver().cuStreamBeginCapture(stream, mode);
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t* dependencies,
                                          const cudaGraphEdgeData* dependency_data,
                                          std::size_t num_dependencies, cudaStreamCaptureMode mode) {
  CHECK(prepare());
  return driver().cuStreamBeginCaptureToGraph(stream, graph, dependencies, dependency_data, num_dependencies,
                                              mode);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  CHECK(prepare());
  return driver().cuStreamEndCapture(stream, graph);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  CHECK(prepare());
  return driver().cuStreamIsCapturing(stream, reinterpret_cast<int*>(status));
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                     std::size_t* count) {
  CHECK(prepare());
  return driver().cuStreamGetCaptureInfo(stream, reinterpret_cast<int*>(status), id, graph, dependencies,
                                         edges, count);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData* dependency_data,
                                                std::size_t num_dependencies, unsigned flags) {
  CHECK(prepare());
  return driver().cuStreamUpdateCaptureDependencies(stream, dependencies, dependency_data, num_dependencies,
                                                    flags);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  CHECK(prepare());
  return driver().cuThreadExchangeStreamCaptureMode(reinterpret_cast<int*>(mode));
}

}  // namespace raddle::cudart::entry
