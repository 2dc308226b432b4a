// What the tests of graphs share: nodes that do arithmetic on one word, so that their order shows.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "unit/driver/driver_test.h"

namespace raddle::driver {

/// step(p, factor, summand): *p = *p * factor + summand. set_condition(handle, p): the condition is 1 as long
/// as --*p is not 0. triggers(p): writes 1 to *p after letting dependent kernels begin. follows(p, q): *q = 1
/// once *p is 1, which it reads after griddepcontrol.wait.
inline constexpr const char* kGraphKernels = R"(
.version 8.3
.target sm_90
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.extern .func (.param .b32 error) cudaGraphLaunch(.param .b64 exec, .param .b64 stream);
// launch_graph(exec or 0 for its own, stream, count, error): launches if --*count is not 0; *error = what
// that says
.visible .entry launch_graph(.param .u64 exec, .param .u64 stream, .param .u64 count, .param .u64 error)
{
  .reg .pred %q<3>; .reg .b32 %r<4>; .reg .b64 %d<5>;
  ld.param.u64 %d1, [exec]; ld.param.u64 %d2, [stream]; ld.param.u64 %d3, [count]; ld.param.u64 %d4, [error];
  ld.global.u32 %r1, [%d3]; sub.u32 %r1, %r1, 1; st.global.u32 [%d3], %r1;
  setp.eq.u32 %q1, %r1, 0;
  @%q1 bra done;
  setp.ne.u64 %q2, %d1, 0;
  @%q2 bra known;
  mov.u64 %d1, %current_graph_exec;
known:
  { .param .b64 e; .param .b64 s; .param .b32 out; st.param.b64 [e], %d1; st.param.b64 [s], %d2;
    call.uni (out), cudaGraphLaunch, (e, s); ld.param.b32 %r2, [out]; }
  st.global.u32 [%d4], %r2;
done:
  ret;
}
.visible .entry step(.param .u64 p, .param .u32 factor, .param .u32 summand)
{
  .reg .b32 %r<5>; .reg .b64 %d;
  ld.param.u64 %d, [p]; ld.param.u32 %r1, [factor]; ld.param.u32 %r2, [summand];
  ld.global.u32 %r3, [%d]; mad.lo.u32 %r4, %r3, %r1, %r2; st.global.u32 [%d], %r4;
  ret;
}
.visible .entry set_condition(.param .u64 handle, .param .u64 p)
{
  .reg .pred %q; .reg .b32 %r<3>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [handle]; ld.param.u64 %d2, [p];
  ld.global.u32 %r1, [%d2]; sub.u32 %r1, %r1, 1; st.global.u32 [%d2], %r1;
  setp.ne.u32 %q, %r1, 0; selp.u32 %r2, 1, 0, %q;
  { .param .b64 h; .param .b32 v; st.param.b64 [h], %d1; st.param.b32 [v], %r2;
    call.uni cudaGraphSetConditional, (h, v); }
  ret;
}
.visible .entry triggers(.param .u64 p)
{
  .reg .b64 %d;
  ld.param.u64 %d, [p];
  griddepcontrol.launch_dependents;
  st.global.u32 [%d], 1;
  ret;
}
.visible .entry follows(.param .u64 p, .param .u64 q)
{
  .reg .b32 %r; .reg .b64 %d<3>;
  ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q];
  griddepcontrol.wait;
  ld.global.u32 %r, [%d1]; st.global.u32 [%d2], %r;
  ret;
}
)";

class GraphTest : public Driver {
 protected:
  void SetUp() override {
    Driver::SetUp();
    ASSERT_EQ(cuModuleLoadData(&kernels, kGraphKernels), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    x = upload({0});
  }

  CUfunction kernel(const char* name) {
    CUfunction found = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&found, kernels, name), CUDA_SUCCESS) << name;
    return found;
  }
  /// One thread of a kernel.
  template <class... Parameters>
  CUgraphNode add(const char* name, const std::vector<CUgraphNode>& after, Parameters... parameters) {
    void* pointers[] = {&parameters..., nullptr};
    const CUDA_KERNEL_NODE_PARAMS params = one_thread(name, pointers);
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddKernelNode_v2(&node, graph, after.data(), after.size(), &params), CUDA_SUCCESS)
        << name;
    return node;
  }
  CUDA_KERNEL_NODE_PARAMS one_thread(const char* name, void** parameters) {
    return {{kernel(name), 1, 1, 1, 1, 1, 1, 0, parameters, nullptr}, nullptr, nullptr};
  }
  /// x = x * 10 + digit
  CUgraphNode digit(unsigned value, const std::vector<CUgraphNode>& after = {}) {
    return add("step", after, x, 10u, value);
  }
  CUgraphExec instantiate(unsigned long long flags = 0) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, graph, flags), CUDA_SUCCESS);
    return exec;
  }
  /// What is in x after a launch that begins with 0 there.
  unsigned run(CUgraphExec exec) {
    const unsigned zero = 0;
    EXPECT_EQ(cuMemcpyHtoD_v2(x, &zero, 4), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    return download(x, 1)[0];
  }
  unsigned run() {
    const CUgraphExec exec = instantiate();
    const unsigned value = run(exec);
    EXPECT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
    return value;
  }
  std::vector<CUgraphNode> nodes_of(CUgraph of) {
    std::size_t count = 0;
    EXPECT_EQ(cuGraphGetNodes(of, nullptr, &count), CUDA_SUCCESS);
    std::vector<CUgraphNode> nodes(count);
    EXPECT_EQ(cuGraphGetNodes(of, nodes.data(), &count), CUDA_SUCCESS);
    return nodes;
  }

  CUmodule kernels = nullptr;
  CUgraph graph = nullptr;
  CUdeviceptr x = 0;
};

}  // namespace raddle::driver
