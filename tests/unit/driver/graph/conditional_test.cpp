// Conditional nodes, with conditions that kernels set; memory of graphs.
#include "graph_test.h"

namespace raddle::driver {
namespace {

class ConditionalNodes : public GraphTest {
 protected:
  CUgraphConditionalHandle condition(unsigned value = 0, unsigned flags = 0, CUgraph of = nullptr) {
    CUgraphConditionalHandle handle = 0;
    EXPECT_EQ(cuGraphConditionalHandleCreate(&handle, of == nullptr ? graph : of, context, value, flags),
              CUDA_SUCCESS);
    return handle;
  }
  CUresult add_conditional(CUgraphConditionalHandle handle, CUgraphConditionalNodeType type, unsigned size,
                           const std::vector<CUgraphNode>& after, CUgraphNode& node,
                           std::vector<CUgraph>& bodies) {
    CUgraphNodeParams params{};
    params.type = NODE_CONDITIONAL;
    params.conditional = {handle, type, size, nullptr, context};
    const CUresult result = cuGraphAddNode_v2(&node, graph, after.data(), nullptr, after.size(), &params);
    if (result == CUDA_SUCCESS)
      bodies.assign(params.conditional.phGraph_out, params.conditional.phGraph_out + size);
    return result;
  }
  /// Nodes that are added go to another graph meanwhile.
  template <class Function>
  void in(CUgraph inside, const Function& function) {
    std::swap(graph, inside);
    function();
    std::swap(graph, inside);
  }
};

// proves: G-16c
TEST_F(ConditionalNodes, WhileAKernelSaysSo) {
  const CUdeviceptr count = upload({5});
  const auto handle = condition(1, CONDITION_ASSIGN_DEFAULT);
  const CUgraphNode before = digit(9);
  CUgraphNode loop;
  std::vector<CUgraph> bodies;
  ASSERT_EQ(add_conditional(handle, CONDITIONAL_WHILE, 1, {before}, loop, bodies), CUDA_SUCCESS);
  in(bodies[0], [&] {
    const CUgraphNode one = digit(1);
    add("set_condition", {one}, handle, count);
  });
  digit(8, {loop});
  const CUgraphExec exec = instantiate();
  EXPECT_EQ(run(exec), 9111118u);
  const unsigned again = 2;
  ASSERT_EQ(cuMemcpyHtoD_v2(count, &again, 4), CUDA_SUCCESS);
  EXPECT_EQ(run(exec), 9118u);
}

TEST_F(ConditionalNodes, IfAndElse) {
  const CUdeviceptr count = upload({2});
  const auto handle = condition();
  const CUgraphNode set = add("set_condition", {}, handle, count);  // 1, then 0
  CUgraphNode choice;
  std::vector<CUgraph> bodies;
  ASSERT_EQ(add_conditional(handle, CONDITIONAL_IF, 2, {set}, choice, bodies), CUDA_SUCCESS);
  in(bodies[0], [&] { digit(1); });
  in(bodies[1], [&] { digit(2); });
  const CUgraphExec exec = instantiate();
  EXPECT_EQ(run(exec), 1u);
  EXPECT_EQ(run(exec), 2u);
}

TEST_F(ConditionalNodes, SwitchInABodyOfALoop) {
  const CUdeviceptr count = upload({3});
  const auto outer = condition(1, CONDITION_ASSIGN_DEFAULT);
  CUgraphNode loop, choice;
  std::vector<CUgraph> bodies, cases;
  ASSERT_EQ(add_conditional(outer, CONDITIONAL_WHILE, 1, {}, loop, bodies), CUDA_SUCCESS);
  const auto inner = condition(2, CONDITION_ASSIGN_DEFAULT, bodies[0]);
  in(bodies[0], [&] {
    ASSERT_EQ(add_conditional(inner, CONDITIONAL_SWITCH, 3, {}, choice, cases), CUDA_SUCCESS);
    add("set_condition", {choice}, outer, count);
  });
  for (unsigned i = 0; i < 3; ++i) in(cases[i], [&] { digit(i + 4); });
  EXPECT_EQ(run(), 666u);
}

TEST_F(ConditionalNodes, WrongOnesAreRefused) {
  const auto handle = condition();
  CUgraphNode node;
  std::vector<CUgraph> bodies;
  EXPECT_EQ(add_conditional(handle + 77, CONDITIONAL_IF, 1, {}, node, bodies), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add_conditional(handle, CONDITIONAL_WHILE, 2, {}, node, bodies), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add_conditional(handle, CONDITIONAL_SWITCH, 0, {}, node, bodies), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec exec;
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  EXPECT_EQ(cuGraphInstantiateWithParams(&exec, graph, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(params.result_out, INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
  ASSERT_EQ(add_conditional(handle, CONDITIONAL_IF, 1, {}, node, bodies), CUDA_SUCCESS);
  EXPECT_EQ(add_conditional(handle, CONDITIONAL_IF, 1, {}, node, bodies),
            CUDA_ERROR_INVALID_VALUE);  // one node each
  CUgraph copy;
  EXPECT_EQ(cuGraphClone(&copy, graph), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuGraphDestroy(bodies[0]), CUDA_ERROR_INVALID_VALUE);
  CUgraphConditionalHandle other;
  EXPECT_EQ(cuGraphConditionalHandleCreate(&other, graph, context, 0, 2), CUDA_ERROR_INVALID_VALUE);
}

class GraphMemoryNodes : public GraphTest {
 protected:
  CUgraphNode allocation(CUdeviceptr& address, std::size_t bytes,
                         const std::vector<CUgraphNode>& after = {}) {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps.allocType = ALLOCATION_PINNED;
    params.poolProps.location = kDevice;
    params.bytesize = bytes;
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddMemAllocNode(&node, graph, after.data(), after.size(), &params), CUDA_SUCCESS);
    address = params.dptr;
    return node;
  }
  CUgraphNode free(CUdeviceptr address, const std::vector<CUgraphNode>& after) {
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddMemFreeNode(&node, graph, after.data(), after.size(), address), CUDA_SUCCESS);
    return node;
  }
  std::uint64_t attribute(CUgraphMem_attribute which) {
    std::uint64_t value = 0;
    EXPECT_EQ(cuDeviceGetGraphMemAttribute(0, which, &value), CUDA_SUCCESS);
    return value;
  }
};

TEST_F(GraphMemoryNodes, MemoryOfAGraphIsReusedInIt) {
  CUdeviceptr first, second, beside;
  const CUgraphNode a = allocation(first, 4096);
  const CUgraphNode fill = add("step", {a}, first, 0u, 7u);
  const CUgraphNode freed = free(first, {fill});
  allocation(beside, 4096, {a});  // beside the free: it cannot have it
  const CUgraphNode b = allocation(second, 4096, {freed});
  EXPECT_EQ(second, first);
  EXPECT_NE(beside, first);
  const CUgraphNode use = add("step", {b}, second, 1u, 1u);
  free(second, {use});
  CUgraphNode node;
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, graph, nullptr, 0, second), CUDA_ERROR_INVALID_VALUE);  // once only
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, graph, nullptr, 0, x), CUDA_ERROR_INVALID_VALUE);
  run();
  if (!on_hardware()) EXPECT_EQ(download(second, 1)[0], 8u);  // though it was freed
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  ASSERT_EQ(cuGraphMemAllocNodeGetParams(a, &params), CUDA_SUCCESS);
  EXPECT_TRUE(params.dptr == first && params.bytesize == 4096);
  CUdeviceptr address;
  ASSERT_EQ(cuGraphMemFreeNodeGetParams(freed, &address), CUDA_SUCCESS);
  EXPECT_EQ(address, first);
  EXPECT_EQ(cuGraphDestroyNode(a), CUDA_ERROR_NOT_SUPPORTED);
  CUgraph copy;
  EXPECT_EQ(cuGraphClone(&copy, graph), CUDA_ERROR_NOT_SUPPORTED);
}

// What a launch leaves allocated is the program's, which frees it, or the next launch does.
TEST_F(GraphMemoryNodes, MemoryThatIsLeft) {
  SKIP_ON_HARDWARE("has units of 32 MiB, and one executable graph with memory that is left");
  const std::uint64_t used = attribute(GRAPH_MEM_USED_CURRENT),
                      reserved = attribute(GRAPH_MEM_RESERVED_CURRENT);
  CUdeviceptr address;
  const CUgraphNode node = allocation(address, 1 << 20);
  add("step", {node}, address, 0u, 5u);
  EXPECT_EQ(attribute(GRAPH_MEM_RESERVED_CURRENT), reserved + (1 << 20));
  const CUgraphExec exec = instantiate(), freeing = instantiate(INSTANTIATE_AUTO_FREE_ON_LAUNCH);
  EXPECT_EQ(cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);  // nothing has allocated it
  ASSERT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(attribute(GRAPH_MEM_USED_CURRENT), used + (1 << 20));
  EXPECT_EQ(download(address, 1)[0], 5u);
  EXPECT_EQ(cuGraphLaunch(exec, nullptr), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(address, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(attribute(GRAPH_MEM_USED_CURRENT), used);
  ASSERT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(cuGraphLaunch(freeing, nullptr), CUDA_SUCCESS);
  // Another graph frees it.
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  free(address, {});
  const CUgraphExec other = instantiate();
  ASSERT_EQ(cuGraphLaunch(other, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(other, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(attribute(GRAPH_MEM_USED_CURRENT), used);
  EXPECT_GE(attribute(GRAPH_MEM_USED_HIGH), used + (1 << 20));
  std::uint64_t zero = 0;
  ASSERT_EQ(cuDeviceSetGraphMemAttribute(0, GRAPH_MEM_USED_HIGH, &zero), CUDA_SUCCESS);
  ASSERT_EQ(cuDeviceSetGraphMemAttribute(0, GRAPH_MEM_RESERVED_HIGH, &zero), CUDA_SUCCESS);
  EXPECT_EQ(attribute(GRAPH_MEM_USED_HIGH), used);
  EXPECT_EQ(attribute(GRAPH_MEM_RESERVED_HIGH), attribute(GRAPH_MEM_RESERVED_CURRENT));
  EXPECT_EQ(cuDeviceSetGraphMemAttribute(0, GRAPH_MEM_USED_CURRENT, &zero), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGraphMemTrim(0), CUDA_SUCCESS);
}

TEST_F(GraphMemoryNodes, MemoryThatIsLeftOutlivesItsGraph) {
  const std::uint64_t used = attribute(GRAPH_MEM_USED_CURRENT);
  CUdeviceptr address;
  const CUgraphNode node = allocation(address, 1 << 20);
  add("step", {node}, address, 0u, 5u);
  const CUgraphExec exec = instantiate();
  ASSERT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_GT(attribute(GRAPH_MEM_USED_CURRENT), used);
  EXPECT_EQ(download(address, 1)[0], 5u);
  ASSERT_EQ(cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(attribute(GRAPH_MEM_USED_CURRENT), used);
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
}

TEST_F(GraphMemoryNodes, MemoryMayBeTheHostsOrManaged) {
  SKIP_ON_HARDWARE("not asked");
  for (const bool is_managed : {false, true}) {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps.allocType = is_managed ? ALLOCATION_MANAGED : ALLOCATION_PINNED;
    params.poolProps.location = {LOCATION_HOST, 0};
    params.bytesize = 4096;
    CUgraphNode host = nullptr;
    ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphAddMemAllocNode(&host, graph, nullptr, 0, &params), CUDA_SUCCESS);
    const CUdeviceptr address = params.dptr;
    add("step", {host}, address, 0u, 5u);
    ASSERT_EQ(cuGraphLaunch(instantiate(), nullptr), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(*reinterpret_cast<volatile unsigned*>(address), 5u);
    unsigned type = 0;
    unsigned char managed = 2;
    EXPECT_EQ(cuPointerGetAttribute(&type, POINTER_MEMORY_TYPE, address), CUDA_SUCCESS);
    EXPECT_EQ(cuPointerGetAttribute(&managed, POINTER_IS_MANAGED, address), CUDA_SUCCESS);
    EXPECT_EQ(type, is_managed ? MEMORYTYPE_DEVICE : MEMORYTYPE_HOST);
    EXPECT_EQ(managed, is_managed ? 1 : 0);
    EXPECT_EQ(cuMemFreeHost(reinterpret_cast<void*>(address)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemFreeAsync(address, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFreeAsync(address, nullptr), CUDA_ERROR_INVALID_VALUE);
  }
}

// What a graph has freed it takes again for memory of the same place only.
TEST_F(GraphMemoryNodes, MemoryIsTakenAgainWhereItIs) {
  SKIP_ON_HARDWARE("not asked");
  CUdeviceptr address, again;
  const CUgraphNode node = allocation(address, 4096);
  const CUgraphNode freed = free(address, {node});
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = ALLOCATION_PINNED;
  params.poolProps.location = {LOCATION_HOST, 0};
  params.bytesize = 4096;
  CUgraphNode host = nullptr;
  ASSERT_EQ(cuGraphAddMemAllocNode(&host, graph, &freed, 1, &params), CUDA_SUCCESS);
  EXPECT_NE(params.dptr, address);
  allocation(again, 4096, {freed});
  EXPECT_EQ(again, address);
}

TEST_F(GraphMemoryNodes, MemoryThatIsLeftEndsWithItsContext) {
  const std::uint64_t used = attribute(GRAPH_MEM_USED_CURRENT);
  CUcontext own = nullptr;
  CUgraph inside = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(cuCtxCreate_v4(&own, nullptr, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphCreate(&inside, 0), CUDA_SUCCESS);
  std::swap(graph, inside);
  CUdeviceptr address;
  allocation(address, 1 << 20);
  ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  std::swap(graph, inside);
  EXPECT_GT(attribute(GRAPH_MEM_USED_CURRENT), used);
  ASSERT_EQ(cuCtxDestroy_v2(own), CUDA_SUCCESS);
  EXPECT_EQ(attribute(GRAPH_MEM_USED_CURRENT), used);
}

TEST_F(GraphMemoryNodes, WrongOnesAreRefused) {
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  CUgraphNode node;
  params.poolProps.allocType = ALLOCATION_PINNED;
  params.poolProps.location = kDevice;
  EXPECT_EQ(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);  // no bytes
  params.bytesize = std::size_t{1} << 60;
  EXPECT_EQ(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &params), CUDA_ERROR_OUT_OF_MEMORY);
  params.bytesize = 64;
  params.poolProps.location = {LOCATION_DEVICE, 99};
  EXPECT_EQ(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
  std::uint64_t value;
  EXPECT_EQ(cuDeviceGetGraphMemAttribute(0, static_cast<CUgraphMem_attribute>(9), &value),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace raddle::driver
