// Clusters through the driver API: by attributes of launches and functions, by directives; occupancy of
// clusters.
#include <array>

#include "driver/launch_attributes.h"
#include "driver_test.h"

namespace raddle::driver {
namespace {

using Values = std::vector<unsigned>;
using Extents = std::array<unsigned, 3>;

/// Each kernel writes, for every block, 100 * its cluster's blocks + its rank there.
constexpr const char* kClusters = R"(
.version 9.0
.target sm_90
.address_size 64
.func write(.param .u64 p)
{
  .reg .b32 %r<8>; .reg .b64 %d<4>;
  ld.param.u64 %d1, [p];
  mov.u32 %r1, %cluster_nctarank; mov.u32 %r2, %cluster_ctarank;
  mad.lo.u32 %r3, %r1, 100, %r2;
  mov.u32 %r4, %ctaid.y; mov.u32 %r5, %nctaid.x; mov.u32 %r6, %ctaid.x;
  mad.lo.u32 %r4, %r4, %r5, %r6;
  mul.wide.u32 %d2, %r4, 4; add.u64 %d3, %d1, %d2;
  st.global.u32 [%d3], %r3;
  ret;
}
.visible .entry any(.param .u64 p)
{ .reg .b64 %d; ld.param.u64 %d, [p];
  { .param .u64 a; st.param.u64 [a], %d; call write, (a); } ret; }
.visible .entry pairs(.param .u64 p) .explicitcluster .reqnctapercluster 2, 1, 1
{ .reg .b64 %d; ld.param.u64 %d, [p];
  { .param .u64 a; st.param.u64 [a], %d; call write, (a); } ret; }
.visible .entry must(.param .u64 p) .explicitcluster
{ .reg .b64 %d; ld.param.u64 %d, [p];
  { .param .u64 a; st.param.u64 [a], %d; call write, (a); } ret; }
.visible .entry few(.param .u64 p) .maxclusterrank 4
{ .reg .b64 %d; ld.param.u64 %d, [p];
  { .param .u64 a; st.param.u64 [a], %d; call write, (a); } ret; }
.visible .entry counted(.param .u64 p) .blocksareclusters .reqntid 64 .reqnctapercluster 2
{ .reg .b64 %d; ld.param.u64 %d, [p];
  { .param .u64 a; st.param.u64 [a], %d; call write, (a); } ret; }
)";

class DriverClusters : public Driver {
 protected:
  void SetUp() override {
    Driver::SetUp();
    ASSERT_EQ(cuModuleLoadData(&module, kClusters), CUDA_SUCCESS);
    output = upload(Values(kBlocks, 7));
  }

  template <class T>
  void ask(int id, const T& value) {
    CUlaunchAttribute attribute{id, {}, {}};
    std::memcpy(attribute.value, &value, sizeof value);
    attributes.push_back(attribute);
  }
  CUlaunchConfig config(Extents grid, unsigned threads = 32, unsigned shared_bytes = 0) {
    return {grid[0], grid[1],      grid[2], threads,           1,
            1,       shared_bytes, nullptr, attributes.data(), static_cast<unsigned>(attributes.size())};
  }
  /// Launches with the attributes asked for, which are forgotten then.
  CUresult launch(const char* name, Extents grid) {
    void* parameters[] = {&output};
    const CUlaunchConfig wanted = config(grid);
    const CUresult result = cuLaunchKernelEx(&wanted, function(name), parameters, nullptr);
    attributes.clear();
    return result;
  }
  CUresult launch(const char* name, Extents grid, Extents cluster) {
    ask(LAUNCH_CLUSTER_DIMENSION, cluster);
    return launch(name, grid);
  }
  Values seen(unsigned blocks) { return download(output, blocks); }

  static constexpr unsigned kBlocks = 64;
  CUdeviceptr output = 0;
  std::vector<CUlaunchAttribute> attributes;
};

// proves: W-3b
TEST_F(DriverClusters, AttributesAndDirectivesMakeClusters) {
  EXPECT_EQ(launch("any", {4, 1, 1}, {2, 1, 1}), CUDA_SUCCESS);
  EXPECT_EQ(seen(4), (Values{200, 201, 200, 201}));
  EXPECT_EQ(launch("any", {4, 2, 1}, {2, 2, 1}), CUDA_SUCCESS);
  EXPECT_EQ(seen(8), (Values{400, 401, 400, 401, 402, 403, 402, 403}));
  EXPECT_EQ(launch("any", {3, 1, 1}), CUDA_SUCCESS);
  EXPECT_EQ(seen(3), (Values{100, 100, 100}));
  EXPECT_EQ(launch("pairs", {4, 1, 1}), CUDA_SUCCESS);
  EXPECT_EQ(seen(4), (Values{200, 201, 200, 201}));
  EXPECT_EQ(launch("pairs", {4, 1, 1}, {2, 1, 1}), CUDA_SUCCESS);
  EXPECT_EQ(launch("must", {4, 1, 1}, {4, 1, 1}), CUDA_SUCCESS);
  EXPECT_EQ(seen(4), (Values{400, 401, 402, 403}));
  void* parameters[] = {&output};
  EXPECT_EQ(cuLaunchKernel(function("pairs"), 2, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(seen(2), (Values{200, 201}));
}

TEST_F(DriverClusters, GridsOfSomeKernelsCountClusters) {
  void* parameters[] = {&output};
  EXPECT_EQ(cuLaunchKernel(function("counted"), 3, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(seen(7), (Values{200, 201, 200, 201, 200, 201, 7}));
}

TEST_F(DriverClusters, WhatCannotBeIsRefused) {
  EXPECT_EQ(launch("any", {5, 1, 1}, {2, 1, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(launch("any", {32, 1, 1}, {32, 1, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(launch("any", {4, 1, 1}, {2, 0, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(launch("pairs", {4, 1, 1}, {4, 1, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(launch("pairs", {3, 1, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(launch("must", {4, 1, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(launch("few", {8, 1, 1}, {8, 1, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(seen(1), Values{7}) << "nothing ran";
}

TEST_F(DriverClusters, SixteenBlocksHaveToBeAllowed) {
  const CUfunction any = function("any");
  EXPECT_EQ(launch("any", {16, 1, 1}, {16, 1, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(cuFuncSetAttribute(any, FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 2), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncSetAttribute(any, FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 0), CUDA_SUCCESS);
  EXPECT_EQ(launch("any", {16, 1, 1}, {16, 1, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(cuFuncSetAttribute(any, FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1), CUDA_SUCCESS);
  EXPECT_EQ(launch("any", {16, 1, 1}, {16, 1, 1}), CUDA_SUCCESS);
  EXPECT_EQ(seen(16).back(), 1615u);
}

TEST_F(DriverClusters, FunctionsSayAndTakeTheirCluster) {
  const auto attribute = [&](const char* name, CUfunction_attribute which) {
    int value = -7;
    EXPECT_EQ(cuFuncGetAttribute(&value, which, function(name)), CUDA_SUCCESS);
    return value;
  };
  EXPECT_EQ(attribute("pairs", FUNC_REQUIRED_CLUSTER_WIDTH), 2);
  EXPECT_EQ(attribute("pairs", FUNC_REQUIRED_CLUSTER_HEIGHT), 1);
  EXPECT_EQ(attribute("pairs", FUNC_REQUIRED_CLUSTER_DEPTH), 1);
  EXPECT_EQ(attribute("must", FUNC_CLUSTER_SIZE_MUST_BE_SET), 1);
  for (const auto which : {FUNC_CLUSTER_SIZE_MUST_BE_SET, FUNC_REQUIRED_CLUSTER_WIDTH,
                           FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, FUNC_CLUSTER_SCHEDULING_POLICY_PREFERENCE})
    EXPECT_EQ(attribute("any", which), 0);
  const CUfunction any = function("any");
  EXPECT_EQ(cuFuncSetAttribute(function("pairs"), FUNC_REQUIRED_CLUSTER_WIDTH, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(any, FUNC_CLUSTER_SIZE_MUST_BE_SET, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(any, FUNC_REQUIRED_CLUSTER_WIDTH, -2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(any, FUNC_REQUIRED_CLUSTER_WIDTH, 2), CUDA_SUCCESS);
  EXPECT_EQ(launch("any", {4, 1, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE) << "height and depth are 0";
  EXPECT_EQ(cuFuncSetAttribute(any, FUNC_REQUIRED_CLUSTER_HEIGHT, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncSetAttribute(any, FUNC_REQUIRED_CLUSTER_DEPTH, 1), CUDA_SUCCESS);
  EXPECT_EQ(launch("any", {4, 1, 1}), CUDA_SUCCESS);
  EXPECT_EQ(seen(4), (Values{200, 201, 200, 201}));
  EXPECT_EQ(launch("any", {4, 1, 1}, {4, 1, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(attribute("any", FUNC_REQUIRED_CLUSTER_WIDTH), 2);
  EXPECT_EQ(cuFuncSetAttribute(any, FUNC_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(any, FUNC_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 1), CUDA_SUCCESS);
  EXPECT_EQ(attribute("any", FUNC_CLUSTER_SCHEDULING_POLICY_PREFERENCE), 1);
  EXPECT_EQ(launch("any", {4, 1, 1}), CUDA_SUCCESS);
}

TEST_F(DriverClusters, PreferredSizesReplaceRegularOnesThatCanRun) {
  const auto preferring = [&](Extents regular, Extents preferred) {
    ask(LAUNCH_CLUSTER_DIMENSION, regular);
    ask(LAUNCH_PREFERRED_CLUSTER_DIMENSION, preferred);
    return launch("any", {8, 1, 1});
  };
  EXPECT_EQ(preferring({2, 1, 1}, {4, 1, 1}), CUDA_SUCCESS);
  EXPECT_EQ(seen(1), Values{on_hardware() ? 200u : 400u});  // preferred sizes came after sm_90
  EXPECT_EQ(preferring({2, 1, 1}, {3, 1, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE) << "no multiple";
  EXPECT_EQ(preferring({2, 1, 1}, {16, 1, 1}), CUDA_ERROR_INVALID_CLUSTER_SIZE) << "does not divide the grid";
  ask(LAUNCH_CLUSTER_DIMENSION, Extents{4, 1, 1});
  ask(LAUNCH_PREFERRED_CLUSTER_DIMENSION, Extents{16, 1, 1});
  EXPECT_EQ(launch("any", {16, 1, 1}), CUDA_SUCCESS) << "16 are not allowed: 4";
  EXPECT_EQ(seen(1), Values{400});
  ask(LAUNCH_PREFERRED_CLUSTER_DIMENSION, Extents{4, 1, 1});
  if (on_hardware()) return;  // which answers CUDA_ERROR_INVALID_CLUSTER_SIZE
  EXPECT_EQ(launch("any", {8, 1, 1}), CUDA_SUCCESS) << "nothing to be preferred to";
  EXPECT_EQ(seen(1), Values{100});
}

// proves: W-13a
TEST_F(DriverClusters, OccupancyIsWhatTheDistributorCanPlace) {
  int clusters = -1, blocks = -1, supported = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&supported, 120, 0), CUDA_SUCCESS);
  EXPECT_EQ(supported, 1);
  const auto active = [&](const char* name, unsigned cluster, unsigned threads, unsigned shared_bytes = 0,
                          unsigned blocks = 8) {
    clusters = -1;
    if (cluster != 0) ask(LAUNCH_CLUSTER_DIMENSION, Extents{cluster, 1, 1});
    const CUlaunchConfig wanted = config({blocks, 1, 1}, threads, shared_bytes);
    const CUresult result = cuOccupancyMaxActiveClusters(&clusters, function(name), &wanted);
    attributes.clear();
    return result;
  };
  // One block per SM: 132 SMs in GPCs of 16 and 18, so clusters of 8 leave two SMs of the larger GPCs unused.
  const CUfunction any = function("any");
  ASSERT_EQ(cuFuncSetAttribute(any, FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200 << 10), CUDA_SUCCESS);
  EXPECT_EQ(active("any", 8, 32, 200 << 10), CUDA_SUCCESS);
  EXPECT_EQ(clusters, on_hardware() ? 15 : 16);  // whose GPCs are of other sizes
  EXPECT_EQ(active("any", 2, 32, 200 << 10), CUDA_SUCCESS);
  EXPECT_EQ(clusters, 66);
  EXPECT_EQ(active("pairs", 0, 1024), CUDA_SUCCESS);
  EXPECT_EQ(clusters, 132);
  EXPECT_EQ(active("any", 0, 1024), CUDA_SUCCESS) << "no size at all";
  if (!on_hardware()) EXPECT_EQ(clusters, 2 * 132) << "each block is one";
  EXPECT_EQ(active("any", 16, 32, 0, 16), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(active("pairs", 4, 32), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  if (!on_hardware())
    EXPECT_EQ(active("any", 8, 32, 220 << 10), CUDA_ERROR_INVALID_VALUE) << "more shared memory than set";

  const auto potential = [&](const char* name, unsigned threads = 32, unsigned shared_bytes = 0) {
    const CUlaunchConfig wanted = config({16, 1, 1}, threads, shared_bytes);
    return cuOccupancyMaxPotentialClusterSize(&blocks, function(name), &wanted);
  };
  EXPECT_EQ(potential("any"), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 8);
  EXPECT_EQ(potential("few"), CUDA_SUCCESS);
  EXPECT_EQ(blocks, on_hardware() ? 8 : 4);  // which does not look at the directives
  EXPECT_EQ(potential("pairs"), CUDA_SUCCESS);
  EXPECT_EQ(blocks, on_hardware() ? 8 : 2);
  ASSERT_EQ(cuFuncSetAttribute(any, FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1), CUDA_SUCCESS);
  EXPECT_EQ(potential("any", 1024, 200 << 10), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 16);
  EXPECT_EQ(cuOccupancyMaxActiveClusters(nullptr, any, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuOccupancyMaxActiveClusters(&clusters, any, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuOccupancyMaxPotentialClusterSize(&blocks, any, nullptr), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace raddle::driver
