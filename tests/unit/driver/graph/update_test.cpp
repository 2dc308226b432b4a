// Executable graphs that change: one node, whole graphs, nodes that are not enabled; and their flags.
#include "graph_test.h"

namespace raddle::driver {
namespace {

using GraphUpdates = GraphTest;

TEST_F(GraphUpdates, OneNodeAtATime) {
  const CUgraphNode a = digit(1), b = digit(2, {a});
  CUgraphNode fill;
  const CUdeviceptr word = upload({0});
  CUDA_MEMSET_NODE_PARAMS_v1 memset{word, 0, 1, 4, 1, 1};
  ASSERT_EQ(cuGraphAddMemsetNode(&fill, graph, &b, 1, &memset, context), CUDA_SUCCESS);
  unsigned out = 0, out2 = 0;
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = MEMORYTYPE_DEVICE, copy.srcDevice = word, copy.dstMemoryType = MEMORYTYPE_HOST,
  copy.dstHost = &out;
  copy.WidthInBytes = 4, copy.Height = copy.Depth = 1;
  CUgraphNode back, call;
  ASSERT_EQ(cuGraphAddMemcpyNode(&back, graph, &fill, 1, &copy, context), CUDA_SUCCESS);
  int calls = 0;
  CUDA_HOST_NODE_PARAMS host{[](void* n) { ++*static_cast<int*>(n); }, &calls};
  ASSERT_EQ(cuGraphAddHostNode(&call, graph, &back, 1, &host), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate();
  EXPECT_EQ(run(exec), 12u);
  CUdeviceptr p = x;
  unsigned ten = 10, seven = 7;
  void* pointers[] = {&p, &ten, &seven};
  CUDA_KERNEL_NODE_PARAMS params = one_thread("step", pointers);
  ASSERT_EQ(cuGraphExecKernelNodeSetParams_v2(exec, b, &params), CUDA_SUCCESS);
  EXPECT_EQ(run(exec), 17u);
  seven = 8;
  ASSERT_EQ(cuGraphExecKernelNodeSetParams(exec, b, &params), CUDA_SUCCESS);
  memset.value = 5;
  ASSERT_EQ(cuGraphExecMemsetNodeSetParams(exec, fill, &memset, context), CUDA_SUCCESS);
  copy.dstHost = &out2;
  ASSERT_EQ(cuGraphExecMemcpyNodeSetParams(exec, back, &copy, context), CUDA_SUCCESS);
  host.fn = [](void* n) { *static_cast<int*>(n) += 100; };
  ASSERT_EQ(cuGraphExecHostNodeSetParams(exec, call, &host), CUDA_SUCCESS);
  EXPECT_EQ(run(exec), 18u);
  EXPECT_TRUE(out == 1 && out2 == 5 && calls == 102) << out << ' ' << out2 << ' ' << calls;
  CUgraphNodeParams any{};
  any.type = NODE_KERNEL;
  seven = 9;
  any.kernel = params;
  ASSERT_EQ(cuGraphExecNodeSetParams(exec, b, &any), CUDA_SUCCESS);
  EXPECT_EQ(run(exec), 19u);
  EXPECT_EQ(cuGraphExecNodeSetParams(exec, fill, &any), CUDA_ERROR_INVALID_VALUE);  // another kind
  ASSERT_EQ(cuGraphNodeSetParams(b, &any), CUDA_SUCCESS);
  EXPECT_EQ(run(), 19u);
  CUgraphNode stranger;
  CUgraph other;
  ASSERT_EQ(cuGraphCreate(&other, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphAddEmptyNode(&stranger, other, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecNodeSetParams(exec, stranger, &any), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphUpdates, NodesCanBeSwitchedOff) {
  const CUgraphNode a = digit(1), b = digit(2, {a});
  CUgraphNode empty;
  ASSERT_EQ(cuGraphAddEmptyNode(&empty, graph, &b, 1), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate();
  unsigned enabled = 7;
  ASSERT_EQ(cuGraphNodeSetEnabled(exec, a, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphNodeGetEnabled(exec, a, &enabled), CUDA_SUCCESS);
  EXPECT_EQ(enabled, 0u);
  EXPECT_EQ(run(exec), 2u);
  ASSERT_EQ(cuGraphNodeSetEnabled(exec, a, 1), CUDA_SUCCESS);
  EXPECT_EQ(run(exec), 12u);
  EXPECT_EQ(cuGraphNodeSetEnabled(exec, empty, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphNodeGetEnabled(exec, empty, &enabled), CUDA_ERROR_INVALID_VALUE);
}

/// The graph that other tests change: 1, then 2 and 3 in an order.
TEST_F(GraphUpdates, WholeGraphs) {
  const CUgraphNode a = digit(1), b = digit(2, {a});
  digit(3, {b});
  const CUgraphExec exec = instantiate();
  CUgraph first = graph;
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  const CUgraphNode d = digit(4), e = digit(5, {d});
  const CUgraphNode f = digit(6, {e});
  CUgraphExecUpdateResultInfo info{};
  ASSERT_EQ(cuGraphExecUpdate_v2(exec, graph, &info), CUDA_SUCCESS);
  EXPECT_EQ(info.result, UPDATE_SUCCESS);
  EXPECT_EQ(run(exec), 456u);
  CUgraphExecUpdateResult result;
  CUgraphNode culprit;
  ASSERT_EQ(cuGraphExecUpdate(exec, first, &culprit, &result), CUDA_SUCCESS);
  EXPECT_EQ(run(exec), 123u);
  // Another structure, another kind of node, a node more.
  ASSERT_EQ(cuGraphAddDependencies(graph, &d, &f, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecUpdate_v2(exec, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, UPDATE_TOPOLOGY_CHANGED);
  EXPECT_EQ(info.errorNode, f);
  ASSERT_EQ(cuGraphDestroyNode(f), CUDA_SUCCESS);
  CUgraphNode empty;
  ASSERT_EQ(cuGraphAddEmptyNode(&empty, graph, &e, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecUpdate_v2(exec, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, UPDATE_NODE_TYPE_CHANGED);
  EXPECT_EQ(info.errorNode, empty);
  digit(7, {empty});
  EXPECT_EQ(cuGraphExecUpdate(exec, graph, &culprit, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  if (!on_hardware()) EXPECT_EQ(result, UPDATE_TOPOLOGY_CHANGED);  // UPDATE_NOT_SUPPORTED there
  EXPECT_EQ(run(exec), 123u);                                      // as it was
}

TEST_F(GraphUpdates, ChildGraphs) {
  const CUgraphNode one = digit(1);
  digit(2, {one});
  CUgraph outer, other;
  ASSERT_EQ(cuGraphCreate(&outer, 0), CUDA_SUCCESS);
  CUgraphNode child;
  ASSERT_EQ(cuGraphAddChildGraphNode(&child, outer, nullptr, 0, graph), CUDA_SUCCESS);
  CUgraphExec exec;
  ASSERT_EQ(cuGraphInstantiate_v2(&exec, outer, nullptr, nullptr, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphCreate(&other, 0), CUDA_SUCCESS);
  graph = other;
  const CUgraphNode three = digit(3);
  EXPECT_EQ(cuGraphExecChildGraphNodeSetParams(exec, child, other), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  digit(4, {three});
  ASSERT_EQ(cuGraphExecChildGraphNodeSetParams(exec, child, other), CUDA_SUCCESS);
  EXPECT_EQ(run(exec), 34u);
  // A node of the graph inside has a place of its own.
  CUgraph inside;
  ASSERT_EQ(cuGraphChildGraphNodeGetGraph(child, &inside), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphNodeSetEnabled(exec, nodes_of(inside)[0], 0), CUDA_SUCCESS);
  EXPECT_EQ(run(exec), 4u);
  EXPECT_EQ(cuGraphExecChildGraphNodeSetParams(exec, three, other), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphUpdates, FlagsAndUpload) {
  digit(1);
  const CUgraphExec exec = instantiate(INSTANTIATE_AUTO_FREE_ON_LAUNCH | INSTANTIATE_USE_NODE_PRIORITY);
  std::uint64_t flags = 0;
  ASSERT_EQ(cuGraphExecGetFlags(exec, &flags), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(flags, INSTANTIATE_AUTO_FREE_ON_LAUNCH | INSTANTIATE_USE_NODE_PRIORITY);
  ASSERT_EQ(cuGraphUpload(exec, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(run(exec), 1u);
  CUgraphExec wrong;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&wrong, graph, 64), CUDA_ERROR_INVALID_VALUE);
  CUDA_GRAPH_INSTANTIATE_PARAMS params{INSTANTIATE_UPLOAD, nullptr, nullptr, INSTANTIATE_ERROR};
  ASSERT_EQ(cuGraphInstantiateWithParams(&wrong, graph, &params), CUDA_SUCCESS);
  EXPECT_EQ(params.result_out, INSTANTIATE_SUCCESS);
  EXPECT_EQ(run(wrong), 1u);
}

// What stream a graph is launched into says what comes before and after it; launches of one graph come after
// each other in any streams.
TEST_F(GraphUpdates, StreamsAreKept) {
  const CUgraphNode a = digit(1);
  digit(2, {a});
  const CUgraphExec exec = instantiate();
  const CUstream s = stream(STREAM_NON_BLOCKING), t = stream(STREAM_NON_BLOCKING);
  const CUdeviceptr flag = upload({0});
  ASSERT_EQ(cuStreamWaitValue32_v2(s, flag, 1, 0), CUDA_SUCCESS);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(cuGraphLaunch(exec, s), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphLaunch(exec, t), CUDA_SUCCESS);
  }
  ASSERT_EQ(cuMemsetD32Async(x, 9, 1, s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(t), CUDA_ERROR_NOT_READY);
  ASSERT_EQ(cuStreamWriteValue32_v2(stream(STREAM_NON_BLOCKING), flag, 1, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(t), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  const unsigned left = download(x, 1)[0];
  // The last launch is t's, beside the fill, which is lost if it comes between the reading and the writing
  // of a step.
  EXPECT_TRUE(left == 9 || left == 92 || left == 912 || left == 12121212) << left;
}

}  // namespace
}  // namespace raddle::driver
