// Parts of a grid: their blocks alone run, at the places that they have in the whole grid.
#include <gtest/gtest.h>

#include <vector>

#include "raddle/raddle.h"

namespace {

using raddle::ClusterLevel;
using raddle::GridPart;
using raddle::LaunchConfig;
using raddle::Level;

/// where(p): adds 1 + what a block sees to the words of its place in the grid: its rank in the cluster, the
/// number of its cluster, and of its outermost cluster (all ones without any).
constexpr const char* kPartKernels = R"(
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 value) raddle_cluster_info(.param .b32 level, .param .b32 wanted);
.func (.reg .u32 %value) outermost(.reg .u32 %wanted)
{
  .param .b32 level, wanted, value;
  st.param.b32 [level], 0; st.param.b32 [wanted], %wanted;
  call.uni (value), raddle_cluster_info, (level, wanted);
  ld.param.b32 %value, [value];
  ret;
}
.visible .entry where(.param .u64 p)
{
  .reg .b32 %r<16>; .reg .b64 %d<4>;
  ld.param.u64 %d1, [p];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;
  mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y;
  mad.lo.u32 %r2, %r3, %r5, %r2; mad.lo.u32 %r1, %r2, %r4, %r1;
  mul.wide.u32 %d2, %r1, 16; add.u64 %d3, %d1, %d2;
  mov.u32 %r6, %cluster_ctarank; add.u32 %r6, %r6, 1; red.global.add.u32 [%d3], %r6;
  mov.u32 %r7, %clusterid.x; mov.u32 %r8, %clusterid.y; mad.lo.u32 %r7, %r8, 100, %r7; add.u32 %r7, %r7, 1;
  red.global.add.u32 [%d3+4], %r7;
  call.uni (%r9), outermost, (2); add.u32 %r9, %r9, 1; red.global.add.u32 [%d3+8], %r9;
  call.uni (%r10), outermost, (3); add.u32 %r10, %r10, 1; red.global.add.u32 [%d3+12], %r10;
  ret;
}
.visible .entry pair(.param .u64 p) .reqnctapercluster 2
{ ret; }
)";

class GridParts : public testing::TestWithParam<const char*> {
 protected:
  raddle::Device device_ =
      raddle::Device::open({.shape = "h200", .engine = GetParam(), .pin = false}).value();
  raddle::Module module_ = device_.load(kPartKernels).value();

  using Words = std::vector<std::uint32_t>;
  /// What all these launches have left together.
  Words run(const LaunchConfig& config, const std::vector<GridPart>& parts) {
    auto buffer = device_.buffer(Words(4 * config.grid.x * config.grid.y * config.grid.z)).value();
    LaunchConfig one = config;
    for (const GridPart& part : parts) {
      one.part = part;
      auto launch = module_.kernel("where")->launch(one, buffer);
      EXPECT_TRUE(launch.ok()) << launch.error().message;
      if (launch) EXPECT_TRUE(launch->wait().ok());
    }
    if (parts.empty()) EXPECT_TRUE(module_.kernel("where")->launch(config, buffer).value().wait().ok());
    Words words(buffer.size());
    EXPECT_TRUE(buffer.read(words).ok());
    return words;
  }
  std::string refusal(const char* kernel, const LaunchConfig& config) {
    auto buffer = device_.buffer(Words(4)).value();
    const auto launch = module_.kernel(kernel)->launch(config, buffer);
    return launch.ok() ? "none" : launch.error().message;
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, GridParts, testing::Values("", "interp"),
                         [](const auto& info) { return *info.param ? info.param : "default"; });

TEST_P(GridParts, TogetherDoWhatTheGridDoes) {
  const LaunchConfig config{.grid = {70, 6, 2}, .block = {1}};
  const std::vector<GridPart> parts = {
      {{0, 0, 0}, {33, 6, 2}}, {{33, 0, 0}, {37, 4, 1}}, {{33, 4, 0}, {37, 2, 1}}, {{33, 0, 1}, {37, 6, 1}}};
  EXPECT_EQ(run(config, parts), run(config, {}));
}

TEST_P(GridParts, AreMadeOfWholeClusters) {
  LaunchConfig config{.grid = {24, 8}, .block = {1}, .cluster = {2, 2, 1}};
  EXPECT_EQ(run(config, {{{0, 0, 0}, {10, 8, 1}}, {{10, 0, 0}, {14, 2, 1}}, {{10, 2, 0}, {14, 6, 1}}}),
            run(config, {}));
  config.cluster = {0, 0, 0};
  config.clusters = std::vector<ClusterLevel>{{Level::gpu, {3, 2, 1}}, {Level::gpc, {2, 2, 1}}};
  EXPECT_EQ(run(config, {{{0, 0, 0}, {6, 8, 1}}, {{6, 0, 0}, {18, 4, 1}}, {{6, 4, 0}, {18, 4, 1}}}),
            run(config, {}));
}

TEST_P(GridParts, ThatCannotBeAreRefused) {
  LaunchConfig config{.grid = {8, 4}, .block = {1}};
  const auto says = [&](const char* kernel, const GridPart& part, const char* words) {
    config.part = part;
    const std::string said = refusal(kernel, config);
    EXPECT_NE(said.find(words), std::string::npos) << said;
  };
  says("where", {{0, 0, 0}, {9, 4, 1}}, "not within the grid 8 x 4 x 1");
  says("where", {{8, 0, 0}, {1, 4, 1}}, "not within");
  says("where", {{0, 0, 0}, {8, 0, 1}}, "not within");
  says("where", {{~0u, 0, 0}, {2, 4, 1}}, "not within");
  says("pair", {{1, 0, 0}, {2, 4, 1}}, "not made of whole clusters");
  says("pair", {{2, 0, 0}, {3, 4, 1}}, "not made of whole clusters");
  config.cooperative = true;
  says("where", {{0, 0, 0}, {8, 4, 1}}, "cooperative");
}

}  // namespace
