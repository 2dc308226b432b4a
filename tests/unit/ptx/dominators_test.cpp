// Dominators against their definition: a dominates b if b cannot be reached without a.
#include "ptx/dominators.h"

#include <gtest/gtest.h>

#include <random>

namespace raddle::ptx {
namespace {

std::vector<bool> reachable_without(const Cfg& cfg, BlockId removed) {
  std::vector<bool> reached(cfg.nodes.size());
  std::vector<BlockId> work;
  auto add = [&](BlockId b) {
    if (b == removed || reached[b]) return;
    reached[b] = true;
    work.push_back(b);
  };
  add(0);
  while (!work.empty()) {
    const BlockId b = work.back();
    work.pop_back();
    for (BlockId s : cfg.nodes[b].successors) add(s);
  }
  return reached;
}

TEST(Dominators, AgreeWithTheirDefinitionOnRandomGraphs) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    Cfg cfg;
    const BlockId count = 1 + random() % 12;
    cfg.nodes.resize(count);
    for (BlockId b = 0; b < count; ++b)
      for (unsigned k = random() % 3; k > 0; --k) {
        const BlockId s = random() % count;
        cfg.nodes[b].successors.push_back(s);
        cfg.nodes[s].predecessors.push_back(b);
      }
    const Dominators dominators(cfg);
    const std::vector<bool> reached = reachable_without(cfg, kNone);
    for (BlockId a = 0; a < count; ++a) {
      const std::vector<bool> around = reachable_without(cfg, a);
      for (BlockId b = 0; b < count; ++b)
        EXPECT_EQ(dominators.dominates(a, b), reached[a] && reached[b] && !around[b])
            << "round " << round << ", " << a << ' ' << b;
    }
  }
}

TEST(Dominators, OfAFunctionWithoutBlocks) { Dominators dominators(Cfg{}); }

}  // namespace
}  // namespace raddle::ptx
