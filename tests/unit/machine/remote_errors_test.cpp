// What an SM knows of its late accesses to other CTAs, and whose errors come back to nobody.
#include "machine/cluster/remote_errors.h"

#include <gtest/gtest.h>

namespace raddle::machine {
namespace {

// proves: W-19h
TEST(AccessHistory, KnowsTheLatestOnly) {
  AccessHistory history;
  std::vector<std::uint64_t> accesses;
  for (std::uint32_t i = 0; i < 3 * AccessHistory::kMost / 2; ++i)
    accesses.push_back(history.note({i, 7 * i}));
  for (std::uint32_t i = 0; i < accesses.size(); ++i) {
    const AccessHistory::Source* source = history.find(accesses[i]);
    ASSERT_EQ(source != nullptr, i + AccessHistory::kMost >= accesses.size()) << i;
    if (source == nullptr) continue;
    EXPECT_EQ(source->thread, i);
    EXPECT_EQ(source->line, 7 * i);
  }
}

// proves: W-19i
TEST(RemoteErrors, AreLostWithTheirCluster) {
  WindowPool windows;
  std::atomic<std::uint64_t> barrier{0};
  Cluster cluster;
  const ClusterLaunch launch{.ctas = 2, .warps_per_cta = 1, .barrier = &barrier};
  cluster.launch(launch);
  const RemoteError error{.cluster = &cluster, .launch = cluster.launch_number()};
  EXPECT_FALSE(error.is_lost());
  cluster.close(windows);
  EXPECT_TRUE(error.is_lost());
  cluster.launch(launch);
  EXPECT_TRUE(error.is_lost()) << "another cluster has its place, and perhaps its local id";
}

}  // namespace
}  // namespace raddle::machine
