// Recursion on every engine: a tree walk, quicksort, and how deep a stack of a given size lets threads go.
#include <algorithm>
#include <cstdint>

#include "kernel_test.h"

namespace {

class Recursion : public KernelTest {
 protected:
  /// Runs descent or chains on `threads` threads, thread i going down levels + i.
  raddle::Result<raddle::LaunchReport> go_down(const char* name, unsigned levels, unsigned threads) {
    out_.emplace(buffer(std::vector<std::uint32_t>(threads)));
    return try_run(kernel("recursion.ptx", name), {.grid = {1}, .block = {threads}}, *out_, levels);
  }
  std::optional<raddle::Buffer<std::uint32_t>> out_;
};
ON_EVERY_ENGINE(Recursion);

struct Node {
  int left, right, value;
};

int sum_of(const std::vector<Node>& nodes, int node, int depth, int& deepest) {
  if (node < 0) return 0;
  deepest = std::max(deepest, depth);
  return nodes[node].value + sum_of(nodes, nodes[node].left, depth + 1, deepest) -
         2 * sum_of(nodes, nodes[node].right, depth + 1, deepest);
}

std::uint32_t random(std::uint32_t& seed) { return (seed = seed * 1664525u + 1013904223u) >> 8; }

TEST_P(Recursion, ThreadsWalkTrees) {
  constexpr int kNodes = 300;
  std::vector<Node> nodes(1, {-1, -1, 5});
  std::uint32_t seed = 3;
  while (nodes.size() < kNodes) {  // hangs each new node under an old one with a free place
    Node& parent = nodes[random(seed) % nodes.size()];
    int& place = random(seed) % 3 ? parent.left : parent.right;
    if (place >= 0) continue;
    place = static_cast<int>(nodes.size());
    nodes.push_back({-1, -1, static_cast<int>(random(seed) % 100)});
  }
  std::vector<int> want_sums, want_depths;
  for (int i = 0; i < kNodes; ++i) {
    int deepest = 0;
    want_sums.push_back(sum_of(nodes, i, 1, deepest));
    want_depths.push_back(deepest);
  }
  auto tree = buffer(nodes);
  auto sums = buffer(std::vector<int>(kNodes)), depths = buffer(std::vector<int>(kNodes));
  run(kernel("recursion.ptx", "walk"), {.grid = {7}, .block = {48}}, tree, sums, depths, kNodes);
  EXPECT_EQ(contents(sums), want_sums);
  EXPECT_EQ(contents(depths), want_depths);
}

TEST_P(Recursion, ThreadsSortTheirParts) {
  constexpr int kParts = 70, kLength = 97;
  std::vector<int> data;
  std::uint32_t seed = 4;
  for (int i = 0; i < kParts * kLength; ++i) data.push_back(static_cast<int>(random(seed) % 1000) - 500);
  std::vector<int> want = data;
  for (int part = 0; part < kParts; ++part)
    std::sort(want.begin() + part * kLength, want.begin() + (part + 1) * kLength);
  for (const int depth : {20, 2, 0}) {  // where the depth ends, insertion takes over
    auto sorted = buffer(data);
    run(kernel("recursion.ptx", "sort_parts"), {.grid = {3}, .block = {32}}, sorted, kParts, kLength, depth);
    EXPECT_EQ(contents(sorted), want) << depth;
  }
}

std::uint32_t chain(std::uint32_t n, std::uint32_t x) {
  return n == 0 ? x : chain(n - 1, x * 1664525u + n) ^ (x + n);
}

TEST_P(Recursion, LongChainsOfSmallFrames) {
  ASSERT_TRUE(go_down("chains", 300, 40).ok());
  for (std::uint32_t i = 0; i < 40; ++i) EXPECT_EQ(contents(*out_)[i], chain(300 + i, i));
}

TEST_P(Recursion, TheStackHasTheSizeThatTheDeviceWasOpenedWith) {
  options_.stack_bytes = 4 << 10;  // 15 frames of 256 bytes and the engine's additions
  ASSERT_TRUE(go_down("descent", 2, 8).ok());
  auto failed = go_down("descent", 16, 8);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message.find("stack overflow in kernel descent, block (0,0,0)"), 0u)
      << failed.error().message;
}

TEST_P(Recursion, ALargerStackLetsThemGoDeeper) {
  options_.stack_bytes = 256 << 10;
  ASSERT_TRUE(go_down("descent", 600, 40).ok()) << device().status().error().message;
  EXPECT_FALSE(go_down("descent", 1100, 8).ok());
}

TEST_P(Recursion, AStackBeyondTheDevicesLimitIsRefused) {
  raddle::DeviceOptions options;
  options.stack_bytes = (512 << 10) + 1;
  auto opened = raddle::Device::open(options);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().message, "a stack of 524289 bytes per thread exceeds the 524288 of 'h200'");
}

}  // namespace
