// Launches with clusters through the public API: what is refused before anything starts, and why.
#include <gtest/gtest.h>

#include "raddle/raddle.h"

namespace {

using raddle::ErrorCode;
using raddle::LaunchConfig;
using raddle::Level;

constexpr const char* kKernels = R"(
.version 9.0
.target sm_90
.address_size 64
.visible .entry any() { ret; }
.visible .entry pair() .explicitcluster .reqnctapercluster 2 { ret; }
.visible .entry sheet() .reqnctapercluster 2, 2 { ret; }
.visible .entry explicit_only() .explicitcluster { ret; }
.visible .entry at_most_four() .maxclusterrank 4 { ret; }
.visible .entry counted() .blocksareclusters .reqntid 64 .reqnctapercluster 2 { ret; }
.visible .entry counted_wrong() .blocksareclusters .reqnctapercluster 2 { ret; }
)";

struct ClusterLaunch : testing::Test {
  raddle::Device device = raddle::Device::open({.shape = "h200", .engine = "interp", .pin = false}).value();
  raddle::Module module = device.load(kKernels).value();

  std::string refusal(const char* name, const LaunchConfig& config) {
    auto launch = module.kernel(name).value().launch(config);
    if (launch) return launch->wait().ok() ? "ran" : "failed";
    EXPECT_EQ(launch.error().code, ErrorCode::invalid_cluster) << launch.error().message;
    return launch.error().message;
  }
};

#define EXPECT_SAYS(expression, words)                                                  \
  do {                                                                                  \
    const std::string said = (expression);                                              \
    EXPECT_NE(said.find(words), std::string::npos) << #expression << " says: " << said; \
  } while (0)

// proves: W-3f
TEST_F(ClusterLaunch, RefusesWhatTheGridCannotHave) {
  EXPECT_SAYS(refusal("any", {.grid = {9}, .cluster = {2, 1, 1}}), "not divided by its clusters");
  EXPECT_SAYS(refusal("any", {.grid = {8, 3}, .cluster = {2, 2, 1}}), "2 blocks along y");
  EXPECT_SAYS(refusal("any", {.grid = {8}, .cluster = {2, 0, 1}}), "is empty");
  EXPECT_SAYS(refusal("any", {.grid = {8}, .cluster = {0, 2, 1}}), "is empty");
  EXPECT_SAYS(refusal("any", {.grid = {16}, .cluster = {16, 1, 1}}), "portable 8");
  EXPECT_SAYS(refusal("any", {.grid = {32}, .cluster = {32, 1, 1}}), "exceeds the 16");
}

TEST_F(ClusterLaunch, RefusesWhatTheKernelWasNotCompiledFor) {
  EXPECT_SAYS(refusal("pair", {.grid = {8}, .cluster = {4, 1, 1}}), "clusters of 2 x 1 x 1");
  EXPECT_SAYS(refusal("pair", {.grid = {8}, .cluster = {1, 1, 1}}), "not 1 x 1 x 1");
  EXPECT_SAYS(refusal("pair", {.grid = {7}}), "not divided");
  EXPECT_SAYS(refusal("sheet", {.grid = {8, 1}}), "2 blocks along y");
  EXPECT_SAYS(refusal("explicit_only", {.grid = {8}}), ".explicitcluster");
  EXPECT_EQ(refusal("explicit_only", {.grid = {8}, .cluster = {1, 1, 1}}), "ran");
  EXPECT_SAYS(refusal("at_most_four", {.grid = {8}, .cluster = {8, 1, 1}}), ".maxclusterrank 4");
  EXPECT_SAYS(refusal("counted", {.grid = {1}, .cluster = {4, 1, 1}}), "clusters of 2 x 1 x 1");
  auto wrong = module.kernel("counted_wrong");
  ASSERT_FALSE(wrong.ok());
  EXPECT_SAYS(wrong.error().message, ".blocksareclusters without .reqntid");
}

// proves: W-3d, W-3f
TEST_F(ClusterLaunch, RefusesLevelsThatDoNotNest) {
  EXPECT_SAYS(refusal("any", {.grid = {8}, .clusters = {{Level::cpc, {2, 1, 1}}, {Level::gpc, {2, 1, 1}}}}),
              "'gpc' cannot lie in clusters of level 'cpc'");
  EXPECT_SAYS(refusal("any", {.grid = {8}, .clusters = {{Level::gpc, {2, 1, 1}}, {Level::gpc, {2, 1, 1}}}}),
              "cannot lie in");
  EXPECT_SAYS(refusal("any", {.grid = {8}, .clusters = {{Level::gpc, {2, 0, 1}}}}), "are empty");
  EXPECT_SAYS(refusal("any", {.grid = {8}, .cluster = {2, 1, 1}, .clusters = {{Level::gpc, {2, 1, 1}}}}),
              "not both");
  EXPECT_SAYS(refusal("any", {.grid = {6}, .clusters = {{Level::gpc, {2, 1, 1}}, {Level::cpc, {2, 1, 1}}}}),
              "4 blocks along x");
}

TEST_F(ClusterLaunch, InfoNamesTheDirectives) {
  EXPECT_EQ(module.kernel("pair")->info().required_cluster.x, 2u);
  EXPECT_TRUE(module.kernel("pair")->info().needs_cluster);
  EXPECT_EQ(module.kernel("sheet")->info().required_cluster.y, 2u);
  EXPECT_EQ(module.kernel("at_most_four")->info().largest_cluster, 4u);
  EXPECT_TRUE(module.kernel("counted")->info().blocks_are_clusters);
  EXPECT_EQ(module.kernel("any")->info().required_cluster.x, 0u);
}

}  // namespace
