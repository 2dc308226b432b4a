// Grids of clusters through the public API: what kernels see of their cluster, where blocks run, and that a
// cluster of any level is resident as a whole.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "machine/shape/machine_shape.h"
#include "raddle/raddle.h"

namespace {

using raddle::ClusterLevel;
using raddle::Dim3;
using raddle::Level;
using Levels = std::vector<ClusterLevel>;

/// where(p): for each block its rank in the cluster, the cluster's blocks, the SM, the cluster's number.
/// meet(p, w, h): the threads of each w x h part of the grid wait until all of them run.
constexpr const char* kClusterKernels = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry where(.param .u64 p)
{
  .reg .b32 %r<12>; .reg .b64 %d<4>;
  ld.param.u64 %d1, [p];
  mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank; mov.u32 %r3, %smid;
  mov.u32 %r4, %clusterid.x; mov.u32 %r5, %clusterid.y; mov.u32 %r6, %nclusterid.x;
  mad.lo.u32 %r4, %r5, %r6, %r4;
  mov.u32 %r7, %ctaid.x; mov.u32 %r8, %ctaid.y; mov.u32 %r9, %nctaid.x;
  mad.lo.u32 %r7, %r8, %r9, %r7;
  mul.wide.u32 %d2, %r7, 16; add.u64 %d3, %d1, %d2;
  st.global.v4.u32 [%d3], {%r1, %r2, %r3, %r4};
  ret;
}
.visible .entry meet(.param .u64 p, .param .u32 w, .param .u32 h)
{
  .reg .pred %z; .reg .b32 %r<12>; .reg .b64 %d<4>;
  ld.param.u64 %d1, [p]; ld.param.u32 %r1, [w]; ld.param.u32 %r2, [h];
  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y; mov.u32 %r5, %nctaid.x;
  div.u32 %r3, %r3, %r1; div.u32 %r4, %r4, %r2; div.u32 %r5, %r5, %r1;
  mad.lo.u32 %r3, %r4, %r5, %r3;
  mul.wide.u32 %d2, %r3, 4; add.u64 %d3, %d1, %d2;
  mul.lo.u32 %r6, %r1, %r2; mov.u32 %r8, %ntid.x; mul.lo.u32 %r6, %r6, %r8;
  atom.add.release.gpu.global.u32 %r7, [%d3], 1;
again:
  ld.acquire.gpu.global.u32 %r7, [%d3];
  setp.lt.u32 %z, %r7, %r6;
  @%z bra again;
  ret;
}
)";

struct Place {
  std::uint32_t rank, blocks, sm, cluster;
};

constexpr unsigned kWidth = 18, kHeight = 12;

struct ClusterRun : testing::Test {
  /// Ends blocks that never meet. The 1,728 warps of those that do spin on the interpreter, a turn at a
  /// time: 2 s of processor time, several times that with ThreadSanitizer (9 of 20 s on CI's two cores).
  static constexpr std::chrono::seconds kNeverMet{300};
  raddle::Device device =
      raddle::Device::open({.shape = "h200", .engine = "interp", .pin = false, .time_limit = kNeverMet})
          .value();
  raddle::Module module = device.load(kClusterKernels).value();
  const raddle::machine::MachineShape shape = raddle::machine::preset_shape("h200", 1).value();

  std::vector<Place> places(const raddle::LaunchConfig& config) {
    auto buffer = device.buffer<Place>(kWidth * kHeight).value();
    auto launch = module.kernel("where")->launch(config, buffer);
    EXPECT_TRUE(launch.ok()) << launch.error().message;
    if (launch) EXPECT_TRUE(launch->wait().ok());
    std::vector<Place> result(kWidth * kHeight);
    EXPECT_TRUE(buffer.read(result).ok());
    return result;
  }
  /// How blocks of the parts w x h of the grid are spread over a level's domains: every part is in one.
  void expect_confined(const std::vector<Place>& places, Level level, unsigned w, unsigned h) {
    std::map<unsigned, std::set<std::uint32_t>> domains;
    for (unsigned i = 0; i < places.size(); ++i)
      domains[i / kWidth / h * 100 + i % kWidth / w].insert(shape.domain_of(level, places[i].sm));
    for (const auto& [part, found] : domains) EXPECT_EQ(found.size(), 1u) << part;
  }
  bool meets(raddle::LaunchConfig config, unsigned w, unsigned h) {
    auto counters = device.buffer(std::vector<std::uint32_t>(kWidth * kHeight)).value();
    auto launch = module.kernel("meet")->launch(config, counters, w, h);
    EXPECT_TRUE(launch.ok()) << launch.error().message;
    return launch && launch->wait().ok();
  }
};

// proves: W-3b, W-3j, W-4b, W-15b, W-15d, W-15g, W-15i
TEST_F(ClusterRun, TheWorkedGrids) {
  raddle::LaunchConfig config{.grid = {kWidth, kHeight}, .block = {32}};
  for (const Place& place : places(config)) EXPECT_EQ(place.rank + 10 * place.blocks, 10u);

  config.cluster = {3, 2, 1};
  const auto clusters = places(config);
  for (unsigned y = 0; y < kHeight; ++y) {
    for (unsigned x = 0; x < kWidth; ++x) {
      const Place& place = clusters[y * kWidth + x];
      EXPECT_EQ(place.rank, x % 3 + 3 * (y % 2));
      EXPECT_EQ(place.blocks, 6u);
      EXPECT_EQ(place.cluster, x / 3 + 6 * (y / 2));
    }
  }
  EXPECT_EQ(clusters[3 * kWidth + 7].rank, 4u);
  expect_confined(clusters, Level::gpc, 3, 2);
  EXPECT_TRUE(meets(config, 3, 2));

  config.cluster = {0, 0, 0};
  config.clusters = Levels{{Level::gpu, {9, 6, 1}}};
  for (const Place& place : places(config)) EXPECT_EQ(place.rank + 10 * place.blocks, 10u);
  EXPECT_TRUE(meets(config, 9, 6));

  config.clusters = Levels{{Level::gpu, {3, 3, 1}}, {Level::gpc, {3, 2, 1}}};
  const auto nested = places(config);
  for (unsigned i = 0; i < nested.size(); ++i) EXPECT_EQ(nested[i].rank, clusters[i].rank);
  expect_confined(nested, Level::gpc, 3, 2);
  EXPECT_TRUE(meets(config, 9, 6));
}

// proves: W-3b, W-3d
TEST_F(ClusterRun, LevelsNestInsideAGpc) {
  raddle::LaunchConfig config{.grid = {kWidth, kHeight}, .block = {256}};
  config.clusters = Levels{{Level::gpc, {3, 1, 1}}, {Level::cpc, {1, 2, 1}}, {Level::tpc, {2, 1, 1}}};
  const auto found = places(config);
  expect_confined(found, Level::tpc, 2, 1);
  expect_confined(found, Level::cpc, 2, 2);
  expect_confined(found, Level::gpc, 6, 2);
  EXPECT_EQ(found[1].rank, 1u);
  EXPECT_EQ(found[0].blocks, 2u);
  EXPECT_TRUE(meets(config, 6, 2));
}

// proves: W-6a
TEST_F(ClusterRun, MulticastUsesAnSmOnceForEachCluster) {
  raddle::LaunchConfig config{.grid = {16}, .block = {32}, .cluster = {8, 1, 1}};
  config.distribution = raddle::DistributionMode::multicast;
  const auto found = places(config);
  for (unsigned first = 0; first < 16; first += 8) {
    std::set<std::uint32_t> sms;
    for (unsigned i = first; i < first + 8; ++i) sms.insert(found[i].sm);
    EXPECT_EQ(sms.size(), 8u);
  }
}

// proves: W-3g, W-3h
TEST_F(ClusterRun, CooperativeGridsOfClustersAreResidentAsAWhole) {
  raddle::LaunchConfig config{
      .grid = {kWidth, kHeight}, .block = {64}, .cooperative = true, .cluster = {3, 2, 1}};
  const auto found = places(config);
  EXPECT_EQ(found[kWidth].rank, 3u);
  expect_confined(found, Level::gpc, 3, 2);
  EXPECT_TRUE(meets(config, kWidth, kHeight));
  config.block = {1024};
  config.shared_bytes = 200 << 10;  // one block per SM
  auto buffer = device.buffer<Place>(kWidth * kHeight).value();
  auto launch = module.kernel("where")->launch(config, buffer);
  ASSERT_FALSE(launch.ok());
  EXPECT_EQ(launch.error().code, raddle::ErrorCode::too_large) << launch.error().message;
}

// proves: W-13b, W-13e
TEST_F(ClusterRun, AsManyClustersAsAreSaidToFit) {
  auto kernel = module.kernel("where").value();
  raddle::LaunchConfig config{.block = {32}, .shared_bytes = 200 << 10};  // one block per SM
  EXPECT_EQ(kernel.active_clusters(config).value(), 132u);
  config.cluster = {16, 1, 1};
  EXPECT_EQ(kernel.active_clusters(config).error().code, raddle::ErrorCode::invalid_cluster);
  config.allow_non_portable_cluster = true;
  EXPECT_EQ(kernel.active_clusters(config).value(), 8u);
  EXPECT_EQ(kernel.largest_cluster(config).value(), 16u);
  config.allow_non_portable_cluster = false;
  EXPECT_EQ(kernel.largest_cluster(config).value(), 8u);
  config.cluster = {0, 0, 0};
  config.clusters = Levels{{Level::gpu, {11, 1, 1}}, {Level::gpc, {6, 2, 1}}};
  EXPECT_EQ(kernel.active_clusters(config).error().code, raddle::ErrorCode::invalid_cluster) << "12 blocks";
  config.clusters = Levels{{Level::gpu, {8, 1, 1}}, {Level::gpc, {4, 2, 1}}};
  EXPECT_EQ(kernel.active_clusters(config).value(), 2u);

  auto tiny = raddle::Device::open({.shape = "tiny", .engine = "interp", .pin = false}).value();
  auto loaded = tiny.load(kClusterKernels).value();
  auto small = loaded.kernel("where").value();
  config.clusters.clear();
  config.cluster = {8, 1, 1};
  EXPECT_EQ(small.active_clusters(config).value(), 0u) << "two SMs";
  EXPECT_EQ(small.largest_cluster(config).value(), 2u);
  config.grid = {8};
  auto buffer = tiny.buffer<Place>(8).value();
  auto launch = small.launch(config, buffer);
  ASSERT_FALSE(launch.ok());
  EXPECT_NE(launch.error().message.find("fits no gpc of 'tiny'"), std::string::npos)
      << launch.error().message;
}

// proves: W-13d, W-23b
TEST(DistributorOptions, AreAFieldOfADevicesOptions) {
  raddle::DeviceOptions options{.shape = "tiny", .engine = "interp", .pin = false};
  options.distributor.cap_per_sm = 3;
  options.distributor.policy_cap_per_sm["lake"] = 2;
  auto device = raddle::Device::open(options).value();
  EXPECT_NE(device.properties().warning.find("no GPC of 'tiny' has 4 TPCs"), std::string::npos);
  auto module = device.load(kClusterKernels).value();
  auto kernel = module.kernel("where").value();
  EXPECT_EQ(kernel.blocks_per_sm(32, 0), 2u);
  EXPECT_EQ(kernel.active_clusters({.block = {32}}).value(), 4u);
  EXPECT_EQ(kernel.active_clusters({.block = {32}, .cluster = {5, 1, 1}}).value(), 0u);
  auto buffer = device.buffer<Place>(40).value();
  ASSERT_TRUE(kernel.launch({.grid = {40}, .block = {32}}, buffer).value().wait().ok());

  options.distributor.sm_order = {1};
  const auto refused = raddle::Device::open(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("option sm_order: names 1 of the 2 SMs"), std::string::npos);
}

TEST(Policies, AreChosenByName) {
  auto wrong = raddle::Device::open({.policy = "clairvoyant", .engine = "interp", .pin = false});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, raddle::ErrorCode::not_found);
  EXPECT_NE(wrong.error().message.find("lake"), std::string::npos);
}

}  // namespace
