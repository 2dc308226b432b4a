// Graphs that kernels launch: behind the graph that they are of, as a part of it, beside it.
#include "graph_test.h"

namespace raddle::driver {
namespace {

constexpr std::uint64_t kTail = 1ull << 56, kFireAndForget = 2ull << 56, kSibling = 3ull << 56;

class GraphsOfKernels : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    count = upload({2}), error = upload({0});
  }
  void set(CUdeviceptr word, unsigned value) { EXPECT_EQ(cuMemcpyHtoD_v2(word, &value, 4), CUDA_SUCCESS); }
  unsigned get(CUdeviceptr word) { return download(word, 1)[0]; }
  /// Another graph, that kernels may launch, of a digit.
  CUgraphExec other(unsigned value) {
    CUgraph made = nullptr, own = graph;
    EXPECT_EQ(cuGraphCreate(&made, 0), CUDA_SUCCESS);
    graph = made;
    digit(value);
    const CUgraphExec exec = instantiate(INSTANTIATE_DEVICE_LAUNCH);
    EXPECT_EQ(cuGraphUpload(exec, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    graph = own;
    return exec;
  }

  CUdeviceptr count = 0, error = 0;
};

TEST_F(GraphsOfKernels, TailsRunBehindAll) {
  const CUgraphExec tail = other(9);
  const CUgraphNode launch = add("launch_graph", {}, tail, kTail, count, error);
  const CUgraphNode one = digit(1, {launch});
  digit(2, {one});
  const CUgraphExec exec = instantiate();
  const CUstream s = stream(STREAM_NON_BLOCKING);
  ASSERT_EQ(cuGraphLaunch(exec, s), CUDA_SUCCESS);
  void* pointers[3];
  CUdeviceptr p = x;
  unsigned ten = 10, three = 3;
  pointers[0] = &p, pointers[1] = &ten, pointers[2] = &three;
  ASSERT_EQ(cuLaunchKernel(kernel("step"), 1, 1, 1, 1, 1, 1, 0, s, pointers, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(get(x), 1293u);  // what is behind the launch in the stream waits for the tail
  EXPECT_EQ(get(error), 0u);
}

TEST_F(GraphsOfKernels, AGraphMayLaunchItselfAgain) {
  const CUgraphNode launch = add("launch_graph", {}, std::uint64_t{0}, kTail, count, error);
  add("step", {launch}, x, 1u, 1u);
  const CUgraphExec exec = instantiate(INSTANTIATE_DEVICE_LAUNCH);
  for (const unsigned times : {1u, 2u, 5u, 2000u}) {
    set(count, times);
    EXPECT_EQ(run(exec), times);
    EXPECT_EQ(get(error), 0u);
  }
}

TEST_F(GraphsOfKernels, PartsAndSiblings) {
  const CUgraphExec part = other(7);
  const CUgraphNode launch = add("launch_graph", {}, part, kFireAndForget, count, error);
  EXPECT_EQ(run(), 7u);
  EXPECT_EQ(get(error), 0u);
  ASSERT_EQ(cuGraphDestroyNode(launch), CUDA_SUCCESS);
  add("launch_graph", {}, part, kSibling, count, error);
  set(count, 2);
  EXPECT_EQ(run(), 7u);
  EXPECT_EQ(get(error), 0u);
}

TEST_F(GraphsOfKernels, WrongLaunchesSaySo) {
  constexpr unsigned kInvalidValue = 1;
  const CUgraphExec known = other(7);
  digit(1);
  const CUgraphExec plain = instantiate();  // not for kernels
  CUgraph empty;
  ASSERT_EQ(cuGraphCreate(&empty, 0), CUDA_SUCCESS);
  graph = empty;
  CUgraphNode launch = nullptr;
  const auto try_launch = [&](CUgraphExec exec, std::uint64_t where) {
    if (launch != nullptr) EXPECT_EQ(cuGraphDestroyNode(launch), CUDA_SUCCESS);
    launch = add("launch_graph", {}, exec, where, count, error);
    set(count, 2), set(error, 0);
    run();
    return get(error);
  };
  if (!on_hardware()) {  // which follows handles
    EXPECT_EQ(try_launch(plain, kTail), kInvalidValue);
    EXPECT_EQ(try_launch(reinterpret_cast<CUgraphExec>(0x5555), kTail), kInvalidValue);
    EXPECT_EQ(try_launch(known, 5), kInvalidValue);
  }
  EXPECT_EQ(try_launch(known, kTail), 0u);
  // A kernel that is of no graph launches none.
  SKIP_ON_HARDWARE("refuses the launch of such a kernel");  // CUDA_ERROR_NOT_SUPPORTED
  set(count, 2);
  std::uint64_t where = kTail;
  CUgraphExec exec = known;
  void* pointers[] = {&exec, &where, &count, &error};
  ASSERT_EQ(cuLaunchKernel(kernel("launch_graph"), 1, 1, 1, 1, 1, 1, 0, nullptr, pointers, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(get(error), kInvalidValue);
  if (!on_hardware()) {
    ASSERT_EQ(cuGraphExecDestroy(known), CUDA_SUCCESS);
    EXPECT_EQ(try_launch(known, kTail), kInvalidValue);
  }
  const CUDA_HOST_NODE_PARAMS host{[](void*) {}, nullptr};
  CUgraphNode call;
  ASSERT_EQ(cuGraphAddHostNode(&call, graph, nullptr, 0, &host), CUDA_SUCCESS);
  CUDA_GRAPH_INSTANTIATE_PARAMS params{INSTANTIATE_DEVICE_LAUNCH};
  EXPECT_EQ(cuGraphInstantiateWithParams(&exec, graph, &params), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_TRUE(params.hErrNode_out == call && params.result_out == INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
}

}  // namespace
}  // namespace raddle::driver
