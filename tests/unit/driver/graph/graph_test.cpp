// Graphs that programs build: every kind of node, structure, copies, pictures, user objects.
#include "graph_test.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

namespace raddle::driver {
namespace {

using Graphs = GraphTest;

TEST_F(Graphs, KernelsRunInTheOrderOfEdges) {
  const CUgraphNode last = digit(3), second = digit(2), first = digit(1);
  const CUgraphNode from[] = {first, second}, to[] = {second, last};
  ASSERT_EQ(cuGraphAddDependencies(graph, from, to, 2), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(exec), 123u);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(run(exec), 123u);  // lives on
  EXPECT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(exec, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, KernelNodesKeepTheirArguments) {
  unsigned factor = 10, summand = 7;
  CUdeviceptr p = x;
  void* pointers[] = {&p, &factor, &summand};
  CUDA_KERNEL_NODE_PARAMS_v1 params = one_thread("step", pointers);
  CUgraphNode node;
  ASSERT_EQ(cuGraphAddKernelNode(&node, graph, nullptr, 0, &params), CUDA_SUCCESS);
  summand = 8;
  EXPECT_EQ(run(), 7u);
  CUDA_KERNEL_NODE_PARAMS_v1 answer{};
  ASSERT_EQ(cuGraphKernelNodeGetParams(node, &answer), CUDA_SUCCESS);
  EXPECT_EQ(answer.func, kernel("step"));
  EXPECT_EQ(*static_cast<unsigned*>(answer.kernelParams[2]), 7u);
  *static_cast<unsigned*>(answer.kernelParams[2]) =
      9;  // programs change what they were given, and give it back
  ASSERT_EQ(cuGraphKernelNodeSetParams(node, &answer), CUDA_SUCCESS);
  EXPECT_EQ(run(), 9u);
  CUDA_KERNEL_NODE_PARAMS full{};
  ASSERT_EQ(cuGraphKernelNodeGetParams_v2(node, &full), CUDA_SUCCESS);
  EXPECT_EQ(full.ctx, context);
  full.gridDimX = 0;  // refused at once, as on an H200 (2026-11-26)
  EXPECT_EQ(cuGraphKernelNodeSetParams_v2(node, &full), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(run(), 9u);
}

// proves: G-16a
TEST_F(Graphs, CopiesFillsAndFunctions) {
  unsigned in = 4, out = 0;
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = MEMORYTYPE_HOST, copy.srcHost = &in;
  copy.dstMemoryType = MEMORYTYPE_DEVICE, copy.dstDevice = x;
  copy.WidthInBytes = 4, copy.Height = copy.Depth = 1;
  CUgraphNode upload, fill, back, call;
  ASSERT_EQ(cuGraphAddMemcpyNode(&upload, graph, nullptr, 0, &copy, context), CUDA_SUCCESS);
  const CUgraphNode times = digit(2, {upload});
  const CUdeviceptr area = allocate(64);
  const CUDA_MEMSET_NODE_PARAMS_v1 memset{area, 16, 0xab, 2, 3, 2};
  ASSERT_EQ(cuGraphAddMemsetNode(&fill, graph, &times, 1, &memset, context), CUDA_SUCCESS);
  copy.srcMemoryType = MEMORYTYPE_DEVICE, copy.srcDevice = x, copy.dstMemoryType = MEMORYTYPE_HOST,
  copy.dstHost = &out;
  ASSERT_EQ(cuGraphAddMemcpyNode(&back, graph, &fill, 1, &copy, context), CUDA_SUCCESS);
  unsigned seen = 0;
  struct Both {
    unsigned *out, *seen;
  } both{&out, &seen};
  const CUDA_HOST_NODE_PARAMS host{[](void* data) {
                                     const auto* b = static_cast<Both*>(data);
                                     *b->seen = *b->out;
                                   },
                                   &both};
  ASSERT_EQ(cuGraphAddHostNode(&call, graph, &back, 1, &host), CUDA_SUCCESS);
  run();
  EXPECT_EQ(seen, 42u);
  EXPECT_EQ(download(area, 5), (std::vector<unsigned>{0x00ab00ab, 0x000000ab, 0, 0, 0x00ab00ab}));

  CUDA_MEMCPY3D copy_answer;
  CUDA_MEMSET_NODE_PARAMS_v1 memset_answer;
  CUDA_HOST_NODE_PARAMS host_answer;
  ASSERT_EQ(cuGraphMemcpyNodeGetParams(back, &copy_answer), CUDA_SUCCESS);
  EXPECT_EQ(copy_answer.srcDevice, x);
  ASSERT_EQ(cuGraphMemsetNodeGetParams(fill, &memset_answer), CUDA_SUCCESS);
  EXPECT_EQ(memset_answer.value, 0xabu);
  ASSERT_EQ(cuGraphHostNodeGetParams(call, &host_answer), CUDA_SUCCESS);
  EXPECT_EQ(host_answer.userData, &both);
  memset_answer.value = 1;
  ASSERT_EQ(cuGraphMemsetNodeSetParams(fill, &memset_answer), CUDA_SUCCESS);
  const unsigned in_before = in;
  in = 5;
  unsigned elsewhere = 0;
  copy_answer.dstHost = &elsewhere;
  ASSERT_EQ(cuGraphMemcpyNodeSetParams(back, &copy_answer), CUDA_SUCCESS);
  host_answer.fn = [](void* data) { *static_cast<Both*>(data)->seen = 1; };
  ASSERT_EQ(cuGraphHostNodeSetParams(call, &host_answer), CUDA_SUCCESS);
  run();
  EXPECT_EQ(elsewhere, 52u);
  EXPECT_EQ(seen, 1u);
  EXPECT_EQ(download(area, 1)[0], 0x00010001u);
  EXPECT_EQ(in_before, 4u);
  CUDA_MEMSET_NODE_PARAMS_v1 wrong = memset;
  wrong.elementSize = 3;
  EXPECT_EQ(cuGraphAddMemsetNode(&fill, graph, nullptr, 0, &wrong, context), CUDA_ERROR_INVALID_VALUE);
  wrong = memset, wrong.dst = 64;
  EXPECT_EQ(cuGraphAddMemsetNode(&fill, graph, nullptr, 0, &wrong, context), CUDA_ERROR_INVALID_VALUE);
  copy.srcDevice = 64;
  EXPECT_EQ(cuGraphAddMemcpyNode(&back, graph, nullptr, 0, &copy, context), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphMemcpyNodeGetParams(fill, &copy_answer), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, ChildGraphsAreCopies) {
  const CUgraphNode one = digit(1);
  digit(2, {one});
  CUgraph outer, inside;
  ASSERT_EQ(cuGraphCreate(&outer, 0), CUDA_SUCCESS);
  CUgraphNode first, empty, second;
  ASSERT_EQ(cuGraphAddChildGraphNode(&first, outer, nullptr, 0, graph), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphAddEmptyNode(&empty, outer, &first, 1), CUDA_SUCCESS);
  digit(3, {nodes_of(graph)[1]});  // after it was copied
  ASSERT_EQ(cuGraphAddChildGraphNode(&second, outer, &empty, 1, graph), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphChildGraphNodeGetGraph(first, &inside), CUDA_SUCCESS);
  EXPECT_EQ(nodes_of(inside).size(), 2u);
  EXPECT_EQ(cuGraphDestroy(inside), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  graph = outer;
  EXPECT_EQ(run(), 12123u);
  // Changed where it is, it counts for what is instantiated then.
  ASSERT_EQ(cuGraphDestroyNode(nodes_of(inside)[1]), CUDA_SUCCESS);
  EXPECT_EQ(run(), 1123u);
  CUgraphNodeType type;
  EXPECT_EQ(cuGraphNodeGetType(first, &type), CUDA_SUCCESS);
  EXPECT_EQ(type, NODE_GRAPH);
}

TEST_F(Graphs, MovedChildGraphsAreTheirNodes) {
  digit(5);
  CUgraph outer;
  ASSERT_EQ(cuGraphCreate(&outer, 0), CUDA_SUCCESS);
  CUgraphNodeParams params{};
  params.type = NODE_GRAPH;
  params.graph = {graph, CHILD_GRAPH_MOVE};
  CUgraphNode node;
  ASSERT_EQ(cuGraphAddNode_v2(&node, outer, nullptr, nullptr, 0, &params), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
  graph = outer;
  EXPECT_EQ(run(), 5u);
}

TEST_F(Graphs, StructureCanBeRead) {
  const CUgraphNode a = digit(1), b = digit(2, {a}), c = digit(3, {a, b});
  std::size_t count = 0;
  ASSERT_EQ(cuGraphGetRootNodes(graph, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1u);
  CUgraphNode from[4], to[4];
  CUgraphEdgeData data[4];
  count = 4;
  ASSERT_EQ(cuGraphGetEdges_v2(graph, from, to, data, &count), CUDA_SUCCESS);
  ASSERT_EQ(count, 3u);
  EXPECT_TRUE(from[0] == a && to[0] == b && from[1] == a && to[1] == c && from[2] == b && to[2] == c);
  EXPECT_EQ(from[3], nullptr);
  count = 4;
  ASSERT_EQ(cuGraphGetEdges(graph, from, to, &count), CUDA_SUCCESS);
  count = 1;
  ASSERT_EQ(cuGraphNodeGetDependencies(c, from, &count), CUDA_SUCCESS);
  EXPECT_TRUE(count == 1 && from[0] == a);
  count = 2;
  ASSERT_EQ(cuGraphNodeGetDependencies_v2(c, from, data, &count), CUDA_SUCCESS);
  EXPECT_TRUE(count == 2 && from[1] == b);
  ASSERT_EQ(cuGraphNodeGetDependentNodes(a, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 2u);
  ASSERT_EQ(cuGraphNodeGetDependentNodes_v2(a, to, data, &count), CUDA_SUCCESS);
  EXPECT_EQ(to[1], c);
  ASSERT_EQ(cuGraphRemoveDependencies(graph, &a, &c, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphRemoveDependencies(graph, &a, &c, 1), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuGraphDestroyNode(b), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphGetEdges(graph, nullptr, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 0u);
  SKIP_ON_HARDWARE("follows handles");
  CUgraphNodeType type;
  EXPECT_EQ(cuGraphNodeGetType(b, &type), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, WrongEdgesAreRefused) {
  const CUgraphNode a = digit(1), b = digit(2, {a}), c = digit(3, {b});
  CUgraph other;
  ASSERT_EQ(cuGraphCreate(&other, 0), CUDA_SUCCESS);
  CUgraphNode stranger;
  ASSERT_EQ(cuGraphAddEmptyNode(&stranger, other, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphAddDependencies(graph, &a, &b, 1), CUDA_ERROR_INVALID_VALUE);  // there already
  EXPECT_EQ(cuGraphAddDependencies(graph, &a, &a, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddDependencies(graph, &a, &stranger, 1), CUDA_ERROR_INVALID_VALUE);
  const CUgraphNode froms[] = {a, a}, tos[] = {c, b};
  EXPECT_EQ(cuGraphAddDependencies(graph, froms, tos, 2), CUDA_ERROR_INVALID_VALUE);
  std::size_t count;
  ASSERT_EQ(cuGraphNodeGetDependencies(c, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, on_hardware() ? 2u : 1u);  // the first of the two was taken back
  CUgraphNode node;
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph, &stranger, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuGraphAddDependencies(graph, &c, &a, 1),
            CUDA_SUCCESS);  // a cycle, found when it is instantiated
  CUgraphExec exec;
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  EXPECT_EQ(cuGraphInstantiateWithParams(&exec, graph, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(params.result_out, INSTANTIATE_INVALID_STRUCTURE);
  CUgraphNode culprit;
  char text[64] = "";
  EXPECT_EQ(cuGraphInstantiate(&exec, graph, &culprit, text, sizeof text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphCreate(&other, 1), CUDA_ERROR_INVALID_VALUE);
  SKIP_ON_HARDWARE("says nothing, and follows handles");
  EXPECT_NE(text[0], 0);
  EXPECT_EQ(cuGraphDestroy(reinterpret_cast<CUgraph>(0x1234)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, ClonesKnowTheirOriginals) {
  const CUgraphNode a = digit(1);
  digit(2, {a});
  CUgraph copy;
  ASSERT_EQ(cuGraphClone(&copy, graph), CUDA_SUCCESS);
  CUgraphNode twin;
  ASSERT_EQ(cuGraphNodeFindInClone(&twin, a, copy), CUDA_SUCCESS);
  EXPECT_EQ(twin, nodes_of(copy)[0]);
  EXPECT_EQ(cuGraphNodeFindInClone(&twin, twin, copy), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuGraphDestroyNode(a), CUDA_SUCCESS);
  EXPECT_EQ(run(), 2u);
  graph = copy;
  EXPECT_EQ(run(), 12u);
}

TEST_F(Graphs, EventsAreRecordedAndWaitedFor) {
  SKIP_ON_HARDWARE("waits where this test opens something later");
  CUevent early, done;
  ASSERT_EQ(cuEventCreate(&early, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&done, 0), CUDA_SUCCESS);
  const CUdeviceptr flags = upload({0, 0});
  const CUstream blocked = stream(STREAM_NON_BLOCKING), other = stream(STREAM_NON_BLOCKING);
  ASSERT_EQ(cuStreamWaitValue32_v2(blocked, flags, 1, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(early, blocked), CUDA_SUCCESS);
  CUgraphNode wait, record;
  ASSERT_EQ(cuGraphAddEventWaitNode(&wait, graph, nullptr, 0, early), CUDA_SUCCESS);
  const CUgraphNode node = digit(7, {wait});
  ASSERT_EQ(cuGraphAddEventRecordNode(&record, graph, &node, 1, done), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate();
  ASSERT_EQ(cuGraphLaunch(exec, other), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(done), CUDA_ERROR_NOT_READY);
  ASSERT_EQ(cuStreamWriteValue32_v2(stream(STREAM_NON_BLOCKING), flags, 1, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuEventSynchronize(done), CUDA_SUCCESS);
  EXPECT_EQ(download(x, 1)[0], 7u);
  CUevent answer;
  EXPECT_EQ(cuGraphEventWaitNodeGetEvent(wait, &answer), CUDA_SUCCESS);
  EXPECT_EQ(answer, early);
  EXPECT_EQ(cuGraphEventRecordNodeGetEvent(record, &answer), CUDA_SUCCESS);
  EXPECT_EQ(answer, done);
  ASSERT_EQ(cuGraphEventRecordNodeSetEvent(record, early), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphEventWaitNodeSetEvent(wait, done), CUDA_SUCCESS);
  EXPECT_EQ(run(), 7u);
  CUevent third;
  ASSERT_EQ(cuEventCreate(&third, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphExecEventRecordNodeSetEvent(exec, record, third), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphExecEventWaitNodeSetEvent(exec, wait, third), CUDA_SUCCESS);  // never recorded: no wait
  EXPECT_EQ(run(exec), 7u);
  float ms;
  EXPECT_EQ(cuEventElapsedTime(&ms, done, third), CUDA_SUCCESS);
}

TEST_F(Graphs, OperationsOnValues) {
  const CUdeviceptr flag = upload({0, 0});
  CUstreamBatchMemOpParams ops[2]{};
  ops[0].value = {MEM_OP_WAIT_VALUE_32, flag, 5, WAIT_VALUE_EQ, 0};
  ops[1].value = {MEM_OP_WRITE_VALUE_32, flag + 4, 6, 0, 0};
  CUDA_BATCH_MEM_OP_NODE_PARAMS params{context, 2, ops, 0}, answer{};
  CUgraphNode node;
  ASSERT_EQ(cuGraphAddBatchMemOpNode(&node, graph, nullptr, 0, &params), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate();
  ASSERT_EQ(cuGraphLaunch(exec, stream(STREAM_NON_BLOCKING)), CUDA_SUCCESS);
  EXPECT_EQ(download(flag, 2)[1], 0u);
  ASSERT_EQ(cuStreamWriteValue32_v2(stream(STREAM_NON_BLOCKING), flag, 5, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(download(flag, 2)[1], 6u);
  ASSERT_EQ(cuGraphBatchMemOpNodeGetParams(node, &answer), CUDA_SUCCESS);
  EXPECT_TRUE(answer.count == 2 && answer.paramArray[1].value.value == 6);
  ops[1].value.value = 9;
  ASSERT_EQ(cuGraphExecBatchMemOpNodeSetParams(exec, node, &params), CUDA_SUCCESS);
  run(exec);
  EXPECT_EQ(download(flag, 2)[1], 9u);
  ops[1].value.value = 8;
  ASSERT_EQ(cuGraphBatchMemOpNodeSetParams(node, &params), CUDA_SUCCESS);
  run();
  EXPECT_EQ(download(flag, 2)[1], 8u);
  ops[0].value.address = 3;
  EXPECT_EQ(cuGraphAddBatchMemOpNode(&node, graph, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, ExternalSemaphoresAreRefusedByName) {
  SKIP_ON_HARDWARE("has them");
  CUgraphNodeParams params{};
  params.type = NODE_EXT_SEMAS_WAIT;
  CUgraphNode node;
  testing::internal::CaptureStderr();
  EXPECT_EQ(cuGraphAddNode(&node, graph, nullptr, 0, &params), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("external semaphores"), std::string::npos);
  params.type = static_cast<CUgraphNodeType>(77);
  EXPECT_EQ(cuGraphAddNode(&node, graph, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, AttributesOfKernelNodes) {
  const CUgraphNode a = digit(1), b = digit(2, {a});
  CUkernelNodeAttrValue value{}, answer{};
  const int priority = -3, cooperative = 1;
  std::memcpy(value, &priority, sizeof priority);
  ASSERT_EQ(cuGraphKernelNodeSetAttribute(a, 8, &value), CUDA_SUCCESS);
  std::memcpy(value, &cooperative, sizeof cooperative);
  ASSERT_EQ(cuGraphKernelNodeSetAttribute(a, 2, &value), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphKernelNodeCopyAttributes(b, a), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphKernelNodeGetAttribute(b, 8, &answer), CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(answer, &priority, sizeof priority), 0);
  ASSERT_EQ(cuGraphKernelNodeGetAttribute(b, 4, &answer), CUDA_SUCCESS);  // not set: no clusters
  EXPECT_EQ(answer[0], 0);
  EXPECT_EQ(cuGraphKernelNodeSetAttribute(b, 999, &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphKernelNodeGetAttribute(b, 999, &answer), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(run(), 12u);
}

// An edge from the port that a kernel's trigger opens: the second kernel begins before the first has ended,
// and sees what that wrote after its griddepcontrol.wait.
TEST_F(Graphs, ProgrammaticEdges) {
  const CUdeviceptr p = upload({0, 0});
  const CUgraphNode first = add("triggers", {}, p);
  CUdeviceptr from = p, to = p + 4;
  void* pointers[] = {&from, &to};
  CUgraphNodeParams params{};
  params.type = NODE_KERNEL;
  params.kernel = one_thread("follows", pointers);
  CUgraphNode second;
  const CUgraphEdgeData wrong{PORT_PROGRAMMATIC, 0, DEPENDENCY_DEFAULT, {}}, late{PORT_DEFAULT, 1, 0, {}};
  EXPECT_EQ(cuGraphAddNode_v2(&second, graph, &first, &wrong, 1, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddNode_v2(&second, graph, &first, &late, 1, &params), CUDA_ERROR_INVALID_VALUE);
  const CUgraphEdgeData edge{PORT_PROGRAMMATIC, 0, DEPENDENCY_PROGRAMMATIC, {}};
  ASSERT_EQ(cuGraphAddNode_v2(&second, graph, &first, &edge, 1, &params), CUDA_SUCCESS);
  std::size_t count = 1;
  CUgraphNode node;
  EXPECT_EQ(cuGraphNodeGetDependencies(second, &node, &count), CUDA_ERROR_LOSSY_QUERY);
  for (int i = 0; i < 20; ++i) {
    const unsigned zeros[2] = {};
    ASSERT_EQ(cuMemcpyHtoD_v2(p, zeros, 8), CUDA_SUCCESS);
    run();
    EXPECT_EQ(download(p, 2)[1], 1u);
  }
  ASSERT_EQ(cuGraphRemoveDependencies_v2(graph, &first, &second, &edge, 1), CUDA_SUCCESS);
  const CUgraphEdgeData begin{PORT_LAUNCH_ORDER, 0, DEPENDENCY_DEFAULT, {}};
  ASSERT_EQ(cuGraphAddDependencies_v2(graph, &first, &second, &begin, 1), CUDA_SUCCESS);
  run();
  // The call that knows no ports removes such an edge, too: on an H200 (2026-11-26).
  EXPECT_EQ(cuGraphRemoveDependencies(graph, &first, &second, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphNodeGetDependencies(second, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 0u);
}

TEST_F(Graphs, PicturesShowNodesAndEdges) {
  const CUgraphNode a = digit(1), b = digit(2, {a});
  const std::string path = testing::TempDir() + "graph.dot";
  ASSERT_EQ(cuGraphDebugDotPrint(graph, path.c_str(), DEBUG_DOT_VERBOSE), CUDA_SUCCESS);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str().rfind("digraph", 0), 0u);
  EXPECT_NE(text.str().find("step"), std::string::npos);
  EXPECT_NE(text.str().find(" -> "), std::string::npos);
  EXPECT_EQ(cuGraphDebugDotPrint(graph, "/nowhere/at/all.dot", 0), CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_NE(b, nullptr);
}

TEST_F(Graphs, UserObjectsGoWithTheLastReference) {
  static int ended;
  ended = 0;
  const CUhostFn end = [](void* data) { ended += *static_cast<int*>(data); };
  int one = 1;
  CUuserObject object;
  EXPECT_EQ(cuUserObjectCreate(&object, &one, end, 1, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuUserObjectCreate(&object, &one, end, 1, USER_OBJECT_NO_DESTRUCTOR_SYNC), CUDA_SUCCESS);
  ASSERT_EQ(cuUserObjectRetain(object, 2), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphRetainUserObject(graph, object, 1, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphRetainUserObject(graph, object, 2, USER_OBJECT_MOVE), CUDA_SUCCESS);
  ASSERT_EQ(cuUserObjectRelease(object, 1), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(cuUserObjectRelease(object, 1), CUDA_ERROR_INVALID_VALUE);
  digit(1);
  const CUgraphExec exec = instantiate();
  ASSERT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  if (on_hardware()) std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it ends them in a thread
  EXPECT_EQ(ended, 0);  // what was instantiated refers to it, too
  ASSERT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  if (on_hardware()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(ended, 1);
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuUserObjectCreate(&object, &one, end, 2, USER_OBJECT_NO_DESTRUCTOR_SYNC), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphRetainUserObject(graph, object, 1, USER_OBJECT_MOVE), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(cuGraphReleaseUserObject(graph, object, 2), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuGraphReleaseUserObject(graph, object, 1), CUDA_SUCCESS);
  EXPECT_EQ(ended, 1);
  ASSERT_EQ(cuUserObjectRelease(object, 1), CUDA_SUCCESS);
  EXPECT_EQ(ended, 2);
}

TEST_F(Graphs, FaultsAreTheContexts) {
  CUdeviceptr nowhere = 64;
  void* pointers[] = {&nowhere};
  CUDA_KERNEL_NODE_PARAMS params = one_thread("step", pointers);
  params.func = function("fault");
  CUgraphNode node;
  ASSERT_EQ(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &params), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate();
  ASSERT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuGraphLaunch(exec, nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace
}  // namespace raddle::driver
