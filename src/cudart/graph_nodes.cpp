// Nodes of graphs. The driver has one call that adds any kind of node, and one that changes it: each call
// here describes its node for that.
#include <cstring>
#include <utility>

#include "cudart/box.h"
#include "cudart/code.h"
#include "cudart/entry.h"

namespace raddle::cudart {
namespace {

/// A node's work in the runtime's words.
struct NodeParams : cudaGraphNodeParams {
  explicit NodeParams(cudaGraphNodeType of) : cudaGraphNodeParams{} { type = of; }
};

NodeParams params_of(const cudaKernelNodeParams& given) {
  NodeParams params(cudaGraphNodeTypeKernel);
  params.kernel = {given.func,           given.gridDim,      given.blockDim,
                   given.sharedMemBytes, given.kernelParams, given.extra};
  return params;
}
NodeParams params_of(const cudaMemcpy3DParms& copy) {
  NodeParams params(cudaGraphNodeTypeMemcpy);
  params.memcpy.copyParams = copy;
  return params;
}
NodeParams params_of(const cudaMemsetParams& given) {
  NodeParams params(cudaGraphNodeTypeMemset);
  params.memset = {given.dst, given.pitch, given.value, given.elementSize, given.width, given.height};
  return params;
}
NodeParams params_of(const cudaHostNodeParams& given) {
  NodeParams params(cudaGraphNodeTypeHost);
  params.host = {given.fn, given.userData};
  return params;
}

/// A copy of bytes that follow one another.
NodeParams row(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return params_of({.srcPtr = {const_cast<void*>(from), bytes, bytes, 1},
                    .dstPtr = {to, bytes, bytes, 1},
                    .extent = {bytes, 1, 1},
                    .kind = kind});
}

/// The same in the driver's words.
cudaError_t convert(const cudaGraphNodeParams& given, CUgraphNodeParams& params) {
  params = {};
  params.type = static_cast<driver::CUgraphNodeType>(given.type);
  switch (given.type) {
    case cudaGraphNodeTypeKernel: {
      const auto& [named, grid, block, shared_bytes, arguments, extra] = given.kernel;
      cudaFunction_t function = nullptr;
      CHECK(function_of(named, function));
      params.kernel = {{reinterpret_cast<driver::CUfunction>(function), grid.x, grid.y, grid.z, block.x,
                        block.y, block.z, shared_bytes, arguments, extra},
                       nullptr,
                       nullptr};
      return cudaSuccess;
    }
    case cudaGraphNodeTypeMemcpy: {
      CUDA_MEMCPY3D_PEER box;
      CHECK(box_of(&given.memcpy.copyParams, box));
      static_assert(sizeof box ==
                    sizeof params.memcpy.copyParams);  // they differ in the context, which is null
      std::memcpy(&params.memcpy.copyParams, &box, sizeof box);
      return cudaSuccess;
    }
    case cudaGraphNodeTypeMemset: {
      const auto& [to, pitch, value, element, width, height] = given.memset;
      params.memset = {{address(to), pitch, value, element, width, height}, nullptr};
      return cudaSuccess;
    }
    case cudaGraphNodeTypeConditional:
      params.conditional = {given.conditional.handle,
                            static_cast<driver::CUgraphConditionalNodeType>(given.conditional.type),
                            given.conditional.size, nullptr, nullptr};
      return cudaSuccess;
    default:  // laid out alike
      std::memcpy(&params.reserved1, &given.reserved1, sizeof params.reserved1);
      return cudaSuccess;
  }
}

struct Place {
  cudaGraphNode_t* node;
  cudaGraph_t graph;
  const cudaGraphNode_t* dependencies;
  std::size_t count;
  const cudaGraphEdgeData* data = nullptr;
};

/// What the driver made of it comes back: memory's address, graphs of conditional nodes.
cudaError_t add(const Place& place, cudaGraphNodeParams& given) {
  CHECK(prepare());
  CUgraphNodeParams params;
  CHECK(convert(given, params));
  const auto& [node, graph, dependencies, count, data] = place;
  CHECK(driver().cuGraphAddNode(node, graph, dependencies, data, count, &params));
  if (given.type == cudaGraphNodeTypeMemAlloc) given.alloc.dptr = reinterpret_cast<void*>(params.alloc.dptr);
  if (given.type == cudaGraphNodeTypeConditional)
    given.conditional.phGraph_out = reinterpret_cast<cudaGraph_t*>(params.conditional.phGraph_out);
  return cudaSuccess;
}
cudaError_t add(const Place& place, NodeParams&& params) {
  return add(place, static_cast<cudaGraphNodeParams&>(params));
}

cudaError_t change(cudaGraphNode_t node, const cudaGraphNodeParams& given) {
  CHECK(prepare());
  CUgraphNodeParams params;
  CHECK(convert(given, params));
  return driver().cuGraphNodeSetParams(node, &params);
}

cudaError_t change(cudaGraphExec_t executable, cudaGraphNode_t node, const cudaGraphNodeParams& given) {
  CHECK(prepare());
  CUgraphNodeParams params;
  CHECK(convert(given, params));
  return driver().cuGraphExecNodeSetParams(executable, node, &params);
}

}  // namespace

namespace entry {

cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                             const cudaGraphEdgeData* dependency_data, std::size_t num_dependencies,
                             cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return add({node, graph, dependencies, num_dependencies, dependency_data}, *parameters);
}
cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return change(node, *parameters);
}
cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                       cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return change(executable, node, *parameters);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, std::size_t num_dependencies,
                                   const cudaKernelNodeParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return add({node, graph, dependencies, num_dependencies}, params_of(*parameters));
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return change(node, params_of(*parameters));
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return change(executable, node, params_of(*parameters));
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, std::size_t num_dependencies,
                                   const cudaMemcpy3DParms* copy_params) {
  if (copy_params == nullptr) return cudaErrorInvalidValue;
  return add({node, graph, dependencies, num_dependencies}, params_of(*copy_params));
}
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return change(node, params_of(*parameters));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return change(executable, node, params_of(*parameters));
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, std::size_t num_dependencies,
                                   const cudaMemsetParams* memset_params) {
  if (memset_params == nullptr) return cudaErrorInvalidValue;
  return add({node, graph, dependencies, num_dependencies}, params_of(*memset_params));
}
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return change(node, params_of(*parameters));
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemsetParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return change(executable, node, params_of(*parameters));
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* dependencies, std::size_t num_dependencies,
                                 const cudaHostNodeParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return add({node, graph, dependencies, num_dependencies}, params_of(*parameters));
}
cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return change(node, params_of(*parameters));
}
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                           const cudaHostNodeParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  return change(executable, node, params_of(*parameters));
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
  CHECK(prepare());
  if (parameters == nullptr) return cudaErrorInvalidValue;
  driver::CUDA_KERNEL_NODE_PARAMS p;
  CHECK(driver().cuGraphKernelNodeGetParams(node, &p));
  *parameters = {const_cast<void*>(stand_in_of(reinterpret_cast<cudaFunction_t>(p.func))),
                 {p.gridDimX, p.gridDimY, p.gridDimZ},
                 {p.blockDimX, p.blockDimY, p.blockDimZ},
                 p.sharedMemBytes,
                 p.kernelParams,
                 p.extra};
  return cudaSuccess;
}
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* parameters) {
  CHECK(prepare());
  if (parameters == nullptr) return cudaErrorInvalidValue;
  driver::CUDA_MEMCPY3D box;
  CHECK(driver().cuGraphMemcpyNodeGetParams(node, &box));
  return parameters_of(box, *parameters);
}
cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* parameters) {
  CHECK(prepare());
  return driver().cuGraphMemsetNodeGetParams(node, parameters);
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, std::size_t num_dependencies,
                                     void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return add({node, graph, dependencies, num_dependencies}, row(to, from, bytes, kind));
}
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from,
                                           std::size_t bytes, cudaMemcpyKind kind) {
  return change(node, row(to, from, bytes, kind));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node, void* to,
                                               const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return change(executable, node, row(to, from, bytes, kind));
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                           const cudaGraphNode_t* dependencies, std::size_t num_dependencies,
                                           const void* symbol, const void* from, std::size_t bytes,
                                           std::size_t offset, cudaMemcpyKind kind) {
  CHECK(prepare());
  char* to = nullptr;
  CHECK(part_of(symbol, offset, bytes, to));
  return add({node, graph, dependencies, num_dependencies}, row(to, from, bytes, kind));
}
cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void* symbol, const void* from,
                                                 std::size_t bytes, std::size_t offset, cudaMemcpyKind kind) {
  CHECK(prepare());
  char* to = nullptr;
  CHECK(part_of(symbol, offset, bytes, to));
  return change(node, row(to, from, bytes, kind));
}
cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                     const void* symbol, const void* from, std::size_t bytes,
                                                     std::size_t offset, cudaMemcpyKind kind) {
  CHECK(prepare());
  char* to = nullptr;
  CHECK(part_of(symbol, offset, bytes, to));
  return change(executable, node, row(to, from, bytes, kind));
}

cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                             const cudaGraphNode_t* dependencies,
                                             std::size_t num_dependencies, void* to, const void* symbol,
                                             std::size_t bytes, std::size_t offset, cudaMemcpyKind kind) {
  CHECK(prepare());
  char* from = nullptr;
  CHECK(part_of(symbol, offset, bytes, from));
  return add({node, graph, dependencies, num_dependencies}, row(to, from, bytes, kind));
}
cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* to, const void* symbol,
                                                   std::size_t bytes, std::size_t offset,
                                                   cudaMemcpyKind kind) {
  CHECK(prepare());
  char* from = nullptr;
  CHECK(part_of(symbol, offset, bytes, from));
  return change(node, row(to, from, bytes, kind));
}
cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                       void* to, const void* symbol, std::size_t bytes,
                                                       std::size_t offset, cudaMemcpyKind kind) {
  CHECK(prepare());
  char* from = nullptr;
  CHECK(part_of(symbol, offset, bytes, from));
  return change(executable, node, row(to, from, bytes, kind));
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, std::size_t num_dependencies,
                                     cudaMemAllocNodeParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  NodeParams params(cudaGraphNodeTypeMemAlloc);
  const auto& [pool, access, access_count, bytes, address] = *parameters;
  params.alloc = {pool, access, access_count, bytes, address};
  CHECK(add({node, graph, dependencies, num_dependencies}, static_cast<cudaGraphNodeParams&>(params)));
  parameters->dptr = params.alloc.dptr;
  return cudaSuccess;
}
cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* params) {
  CHECK(prepare());
  return driver().cuGraphMemAllocNodeGetParams(node, params);
}
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                    const cudaGraphNode_t* dependencies, std::size_t num_dependencies,
                                    void* pointer) {
  NodeParams params(cudaGraphNodeTypeMemFree);
  params.free.dptr = pointer;
  return add({node, graph, dependencies, num_dependencies}, std::move(params));
}
cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* dptr) {
  CHECK(prepare());
  return driver().cuGraphMemFreeNodeGetParams(node, static_cast<unsigned long long*>(dptr));
}
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t graph,
                                             unsigned default_launch_value, unsigned flags) {
  CHECK(prepare());
  return driver().cuGraphConditionalHandleCreate(handle, graph, nullptr, default_launch_value, flags);
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies, std::size_t num_dependencies,
                                       cudaGraph_t child_graph) {
  CHECK(prepare());
  return driver().cuGraphAddChildGraphNode(node, graph, dependencies, num_dependencies, child_graph);
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph) {
  CHECK(prepare());
  return driver().cuGraphChildGraphNodeGetGraph(node, graph);
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* dependencies, std::size_t num_dependencies) {
  CHECK(prepare());
  return driver().cuGraphAddEmptyNode(node, graph, dependencies, num_dependencies);
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* dependencies, std::size_t num_dependencies,
                                        cudaEvent_t event) {
  CHECK(prepare());
  return driver().cuGraphAddEventRecordNode(node, graph, dependencies, num_dependencies, event);
}

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  CHECK(prepare());
  return driver().cuGraphEventRecordNodeGetEvent(node, event);
}

cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  CHECK(prepare());
  return driver().cuGraphEventRecordNodeSetEvent(node, event);
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                      const cudaGraphNode_t* dependencies, std::size_t num_dependencies,
                                      cudaEvent_t event) {
  CHECK(prepare());
  return driver().cuGraphAddEventWaitNode(node, graph, dependencies, num_dependencies, event);
}

cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  CHECK(prepare());
  return driver().cuGraphEventWaitNodeGetEvent(node, event);
}

cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  CHECK(prepare());
  return driver().cuGraphEventWaitNodeSetEvent(node, event);
}

cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
  CHECK(prepare());
  return driver().cuGraphKernelNodeCopyAttributes(to, from);
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                            cudaLaunchAttributeValue* value) {
  CHECK(prepare());
  return driver().cuGraphKernelNodeGetAttribute(node, attribute, value);
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                            const cudaLaunchAttributeValue* value) {
  CHECK(prepare());
  return driver().cuGraphKernelNodeSetAttribute(node, attribute, value);
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* parameters) {
  CHECK(prepare());
  return driver().cuGraphHostNodeGetParams(node, parameters);
}

}  // namespace entry
}  // namespace raddle::cudart
