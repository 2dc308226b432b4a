// Graphs by the runtime API: what it adds to the driver's calls is names of kernels and variables, and its
// structures.
#include <fstream>
#include <vector>

#include "cudart_test.h"

namespace raddle::cudart {
namespace {

class RuntimeGraphs : public Runtime {
 protected:
  void SetUp() override {
    Runtime::SetUp();
    OK(cudaMalloc(reinterpret_cast<void**>(&data), 64));
    OK(cudaGraphCreate(&graph, 0));
  }
  void TearDown() override {
    if (graph != nullptr) EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaFree(data), cudaSuccess);
    Runtime::TearDown();
  }
  cudaKernelNodeParams scaling(unsigned& by, void** arguments) {
    arguments[0] = &data, arguments[1] = &by;
    return {&scale, dim3(1), dim3(1), 0, arguments, nullptr};
  }
  cudaGraphNode_t add_scale(unsigned by, std::vector<cudaGraphNode_t> after = {}) {
    void* arguments[2];
    const cudaKernelNodeParams params = scaling(by, arguments);
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &params), cudaSuccess);
    return node;
  }
  unsigned run(cudaGraphExec_t exec, unsigned start = 1) {
    unsigned value = 0;
    EXPECT_EQ(cudaMemcpy(data, &start, 4, cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(&value, data, 4, cudaMemcpyDeviceToHost), cudaSuccess);
    return value;
  }
  cudaGraphExec_t instantiate() {
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    return exec;
  }

  unsigned* data = nullptr;
  cudaGraph_t graph = nullptr;
};

TEST_F(RuntimeGraphs, KernelNodesNameFunctions) {
  const cudaGraphNode_t node = add_scale(3);
  cudaKernelNodeParams params{};
  OK(cudaGraphKernelNodeGetParams(node, &params));
  EXPECT_EQ(params.func, &scale);
  EXPECT_EQ(*static_cast<unsigned*>(params.kernelParams[1]), 3u);
  const cudaGraphExec_t exec = instantiate();
  EXPECT_EQ(run(exec), 3u);
  unsigned by = 5;
  void* arguments[2];
  params = scaling(by, arguments);
  OK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
  EXPECT_EQ(run(exec), 5u);
  by = 6;
  OK(cudaGraphKernelNodeSetParams(node, &params));
  EXPECT_EQ(run(instantiate()), 6u);
  params.func = &absent;
  EXPECT_EQ(cudaGraphKernelNodeSetParams(node, &params), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaGraphAddKernelNode(nullptr, graph, nullptr, 0, nullptr), cudaErrorInvalidValue);
  cudaLaunchAttributeValue value{};
  value.priority = -2;
  OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributePriority, &value));
  const cudaGraphNode_t other = add_scale(2, {node});
  OK(cudaGraphKernelNodeCopyAttributes(other, node));
  value.priority = 0;
  OK(cudaGraphKernelNodeGetAttribute(other, cudaLaunchAttributePriority, &value));
  EXPECT_EQ(value.priority, -2);
  OK(cudaGraphExecDestroy(exec));
}

TEST_F(RuntimeGraphs, CopiesInAllForms) {
  unsigned in = 7, out = 0, sum = 0;
  cudaGraphNode_t up, to_symbol, from_symbol, down, fill;
  OK(cudaGraphAddMemcpyNode1D(&up, graph, nullptr, 0, data, &in, 4, cudaMemcpyHostToDevice));
  OK(cudaGraphAddMemcpyNodeToSymbol(&to_symbol, graph, &up, 1, &total, data, 4, 0, cudaMemcpyDeviceToDevice));
  const cudaMemsetParams memset{data, 0, 1, 4, 1, 1};
  OK(cudaGraphAddMemsetNode(&fill, graph, &to_symbol, 1, &memset));
  OK(cudaGraphAddMemcpyNodeFromSymbol(&from_symbol, graph, &fill, 1, &sum, &total, 4, 0,
                                      cudaMemcpyDeviceToHost));
  cudaMemcpy3DParms parms{};
  parms.srcPtr = {data, 4, 4, 1}, parms.dstPtr = {&out, 4, 4, 1}, parms.extent = {4, 1, 1};
  parms.kind = cudaMemcpyDeviceToHost;
  OK(cudaGraphAddMemcpyNode(&down, graph, &from_symbol, 1, &parms));
  const cudaGraphExec_t exec = instantiate();
  run(exec);
  EXPECT_TRUE(sum == 7 && out == 1) << sum << ' ' << out;

  unsigned in2 = 9, out2 = 0, sum2 = 0;
  OK(cudaGraphExecMemcpyNodeSetParams1D(exec, up, data, &in2, 4, cudaMemcpyHostToDevice));
  OK(cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, from_symbol, &sum2, &total, 4, 0,
                                                cudaMemcpyDeviceToHost));
  OK(cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, to_symbol, &total, data, 4, 0, cudaMemcpyDefault));
  cudaMemsetParams set = memset;
  set.value = 4;
  OK(cudaGraphExecMemsetNodeSetParams(exec, fill, &set));
  parms.dstPtr.ptr = &out2;
  OK(cudaGraphExecMemcpyNodeSetParams(exec, down, &parms));
  run(exec);
  EXPECT_TRUE(sum2 == 9 && out2 == 4) << sum2 << ' ' << out2;

  OK(cudaGraphMemcpyNodeSetParams1D(up, data, &in2, 4, cudaMemcpyHostToDevice));
  OK(cudaGraphMemcpyNodeSetParamsFromSymbol(from_symbol, &out, &total, 4, 0, cudaMemcpyDeviceToHost));
  OK(cudaGraphMemcpyNodeSetParamsToSymbol(to_symbol, &total, data, 4, 0, cudaMemcpyDefault));
  OK(cudaGraphMemcpyNodeSetParams(down, &parms));
  OK(cudaGraphMemsetNodeSetParams(fill, &set));
  out = out2 = 0;
  run(instantiate());
  EXPECT_TRUE(out == 9 && out2 == 4) << out << ' ' << out2;
  cudaMemcpy3DParms answer{};
  OK(cudaGraphMemcpyNodeGetParams(down, &answer));
  EXPECT_TRUE(answer.srcPtr.ptr == data && answer.dstPtr.ptr == &out2 &&
              answer.kind == cudaMemcpyDeviceToHost && answer.extent.width == 4);
  OK(cudaGraphMemsetNodeGetParams(fill, &set));
  EXPECT_EQ(set.value, 4u);
  EXPECT_EQ(cudaGraphAddMemcpyNodeToSymbol(&up, graph, nullptr, 0, &total, data, 8, 0, cudaMemcpyDefault),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddMemcpyNodeToSymbol(&up, graph, nullptr, 0, this, data, 4, 0, cudaMemcpyDefault),
            cudaErrorInvalidSymbol);
}

TEST_F(RuntimeGraphs, OtherNodes) {
  int calls = 0;
  cudaHostNodeParams host{[](void* n) { ++*static_cast<int*>(n); }, &calls};
  cudaGraphNode_t call, empty, record, wait_node, child;
  OK(cudaGraphAddHostNode(&call, graph, nullptr, 0, &host));
  OK(cudaGraphAddEmptyNode(&empty, graph, &call, 1));
  cudaEvent_t event, other, answer;
  OK(cudaEventCreate(&event));
  OK(cudaEventCreate(&other));
  OK(cudaGraphAddEventRecordNode(&record, graph, &empty, 1, event));
  OK(cudaGraphAddEventWaitNode(&wait_node, graph, &record, 1, other));
  OK(cudaGraphEventRecordNodeGetEvent(record, &answer));
  EXPECT_EQ(answer, event);
  OK(cudaGraphEventWaitNodeGetEvent(wait_node, &answer));
  EXPECT_EQ(answer, other);
  const cudaGraphExec_t exec = instantiate();
  run(exec);
  EXPECT_EQ(calls, 1);
  OK(cudaEventSynchronize(event));
  host.fn = [](void* n) { *static_cast<int*>(n) += 10; };
  OK(cudaGraphExecHostNodeSetParams(exec, call, &host));
  OK(cudaGraphExecEventRecordNodeSetEvent(exec, record, other));
  OK(cudaGraphExecEventWaitNodeSetEvent(exec, wait_node, event));
  run(exec);
  EXPECT_EQ(calls, 11);
  OK(cudaGraphHostNodeSetParams(call, &host));
  OK(cudaGraphHostNodeGetParams(call, &host));
  EXPECT_EQ(host.userData, &calls);
  OK(cudaGraphEventRecordNodeSetEvent(record, other));
  OK(cudaGraphEventWaitNodeSetEvent(wait_node, event));
  cudaGraph_t inner, inside;
  OK(cudaGraphCreate(&inner, 0));
  std::swap(graph, inner);
  add_scale(4);
  std::swap(graph, inner);
  OK(cudaGraphAddChildGraphNode(&child, graph, &wait_node, 1, inner));
  OK(cudaGraphChildGraphNodeGetGraph(child, &inside));
  const cudaGraphExec_t whole = instantiate();
  EXPECT_EQ(run(whole), 4u);
  OK(cudaGraphExecChildGraphNodeSetParams(whole, child, inner));
  EXPECT_EQ(run(whole), 4u);
  OK(cudaGraphDestroy(inner));
}

TEST_F(RuntimeGraphs, NodesOfAnyKind) {
  unsigned by = 6;
  void* arguments[] = {&data, &by};
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeKernel;
  params.kernel = {&scale, dim3(1), dim3(1), 0, arguments, nullptr};
  cudaGraphNode_t kernel, loop;
  OK(cudaGraphAddNode(&kernel, graph, nullptr, nullptr, 0, &params));
  const cudaGraphExec_t exec = instantiate();
  by = 7;
  OK(cudaGraphExecNodeSetParams(exec, kernel, &params));
  EXPECT_EQ(run(exec), 7u);
  OK(cudaGraphNodeSetParams(kernel, &params));
  cudaGraphConditionalHandle handle;
  OK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  cudaGraphNodeParams conditional{};
  conditional.type = cudaGraphNodeTypeConditional;
  conditional.conditional.handle = handle;
  conditional.conditional.type = cudaGraphCondTypeIf;
  conditional.conditional.size = 1;
  OK(cudaGraphAddNode(&loop, graph, &kernel, nullptr, 1, &conditional));
  std::swap(graph, conditional.conditional.phGraph_out[0]);
  add_scale(3);
  std::swap(graph, conditional.conditional.phGraph_out[0]);
  EXPECT_EQ(run(instantiate()), 21u);
  params.kernel.func = this;
  EXPECT_NE(cudaGraphNodeSetParams(kernel, &params), cudaSuccess);
  params.type = cudaGraphNodeTypeMemcpy;
  EXPECT_NE(cudaGraphNodeSetParams(kernel, &params), cudaSuccess);
}

TEST_F(RuntimeGraphs, MemoryNodes) {
  cudaMemAllocNodeParams params{};
  params.poolProps.allocType = cudaMemAllocationTypePinned;
  params.poolProps.location = {cudaMemLocationTypeDevice, 0};
  params.bytesize = 4096;
  cudaGraphNode_t allocation, fill, copy, freed;
  OK(cudaGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &params));
  const cudaMemsetParams memset{params.dptr, 0, 9, 4, 1, 1};
  OK(cudaGraphAddMemsetNode(&fill, graph, &allocation, 1, &memset));
  OK(cudaGraphAddMemcpyNode1D(&copy, graph, &fill, 1, data, params.dptr, 4, cudaMemcpyDeviceToDevice));
  OK(cudaGraphAddMemFreeNode(&freed, graph, &copy, 1, params.dptr));
  EXPECT_EQ(run(instantiate()), 9u);
  void* address = nullptr;
  OK(cudaGraphMemFreeNodeGetParams(freed, &address));
  EXPECT_EQ(address, params.dptr);
  OK(cudaGraphMemAllocNodeGetParams(allocation, &params));
  EXPECT_EQ(params.bytesize, 4096u);
  std::uint64_t reserved = 0, zero = 0;
  OK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &reserved));
  EXPECT_GE(reserved, 4096u);
  OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &zero));
  OK(cudaDeviceGraphMemTrim(0));
}

TEST_F(RuntimeGraphs, Structure) {
  const cudaGraphNode_t a = add_scale(2), b = add_scale(3);
  OK(cudaGraphAddDependencies(graph, &a, &b, nullptr, 1));
  cudaGraphNode_t nodes[3], from[2], to[2];
  cudaGraphEdgeData edges[2];
  std::size_t count = 3;
  OK(cudaGraphGetNodes(graph, nodes, &count));
  EXPECT_TRUE(count == 2 && nodes[0] == a && nodes[1] == b);
  count = 2;
  OK(cudaGraphGetRootNodes(graph, nodes, &count));
  EXPECT_TRUE(count == 1 && nodes[0] == a);
  count = 2;
  OK(cudaGraphGetEdges(graph, from, to, edges, &count));
  EXPECT_TRUE(count == 1 && from[0] == a && to[0] == b);
  OK(cudaGraphNodeGetDependencies(b, nullptr, nullptr, &count));
  EXPECT_EQ(count, 1u);
  OK(cudaGraphNodeGetDependentNodes(a, nodes, edges, &count));
  EXPECT_EQ(nodes[0], b);
  cudaGraphNodeType type;
  OK(cudaGraphNodeGetType(a, &type));
  EXPECT_EQ(type, cudaGraphNodeTypeKernel);
  cudaGraph_t copy;
  cudaGraphNode_t twin;
  OK(cudaGraphClone(&copy, graph));
  OK(cudaGraphNodeFindInClone(&twin, a, copy));
  cudaGraphExec_t exec;
  OK(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagUseNodePriority));
  unsigned long long flags = 0;
  OK(cudaGraphExecGetFlags(exec, &flags));
  EXPECT_EQ(flags, cudaGraphInstantiateFlagUseNodePriority);
  unsigned enabled = 7;
  OK(cudaGraphNodeSetEnabled(exec, a, 0));
  OK(cudaGraphNodeGetEnabled(exec, a, &enabled));
  EXPECT_EQ(enabled, 0u);
  EXPECT_EQ(run(exec), 3u);
  cudaGraphExecUpdateResultInfo info;
  OK(cudaGraphExecUpdate(exec, copy, &info));
  OK(cudaGraphRemoveDependencies(graph, &a, &b, nullptr, 1));
  EXPECT_EQ(cudaGraphExecUpdate(exec, graph, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
  cudaGraphInstantiateParams params{};
  OK(cudaGraphInstantiateWithParams(&exec, graph, &params));
  EXPECT_EQ(params.result_out, cudaGraphInstantiateSuccess);
  OK(cudaGraphUpload(exec, nullptr));
  OK(cudaGraphDestroyNode(b));
  OK(cudaGraphDestroy(copy));
  const std::string path = testing::TempDir() + "runtime_graph.dot";
  OK(cudaGraphDebugDotPrint(graph, path.c_str(), cudaGraphDebugDotFlagsVerbose));
  EXPECT_TRUE(std::ifstream(path).good());
  static int ended;
  ended = 0;
  cudaUserObject_t object;
  OK(cudaUserObjectCreate(
      &object, &ended, [](void* n) { ++*static_cast<int*>(n); }, 1, cudaUserObjectNoDestructorSync));
  OK(cudaUserObjectRetain(object, 1));
  OK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  OK(cudaUserObjectRelease(object, 1));
  OK(cudaGraphReleaseUserObject(graph, object, 1));
  EXPECT_EQ(ended, 1);
}

TEST_F(RuntimeGraphs, Capture) {
  cudaStream_t stream, other;
  cudaEvent_t event;
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  OK(cudaEventCreate(&event));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaStreamCaptureStatus status;
  OK(cudaStreamIsCapturing(stream, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  OK(launch_scale(data, 2, dim3(1), dim3(1), stream));
  OK(cudaEventRecord(event, stream));
  OK(cudaStreamWaitEvent(other, event, 0));
  OK(launch_scale(data, 3, dim3(1), dim3(1), other));
  OK(cudaEventRecord(event, other));
  OK(cudaStreamWaitEvent(stream, event, 0));
  unsigned long long id;
  cudaGraph_t inside, captured;
  const cudaGraphNode_t* nodes;
  const cudaGraphEdgeData* edges;
  std::size_t count;
  OK(cudaStreamGetCaptureInfo(stream, &status, &id, &inside, &nodes, &edges, &count));
  ASSERT_EQ(count, 2u);
  cudaGraphNode_t last = nodes[1];
  OK(cudaStreamUpdateCaptureDependencies(stream, &last, nullptr, 1, cudaStreamSetCaptureDependencies));
  OK(launch_scale(data, 7, dim3(1), dim3(1), stream));
  OK(cudaStreamEndCapture(stream, &captured));
  std::swap(graph, captured);
  EXPECT_EQ(run(instantiate()), 42u);
  OK(cudaStreamBeginCaptureToGraph(stream, captured, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed));
  OK(launch_scale(data, 5, dim3(1), dim3(1), stream));
  cudaGraph_t same;
  OK(cudaStreamEndCapture(stream, &same));
  EXPECT_EQ(same, captured);
  OK(cudaGraphDestroy(captured));
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  OK(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
  OK(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(cudaStreamEndCapture(stream, &same), cudaErrorIllegalState);
}

}  // namespace
}  // namespace raddle::cudart
