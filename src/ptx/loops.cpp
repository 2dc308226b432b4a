#include "ptx/loops.h"

#include <utility>

namespace raddle::ptx {

namespace {

/// Retreating edges of a depth-first walk from block 0, without recursion.
std::vector<std::pair<BlockId, BlockId>> retreating_edges(const Cfg& cfg) {
  enum : std::uint8_t { fresh, open, closed };
  std::vector<std::uint8_t> state(cfg.nodes.size(), fresh);
  std::vector<std::pair<BlockId, std::size_t>> stack;
  std::vector<std::pair<BlockId, BlockId>> edges;
  for (BlockId root = 0; root < cfg.nodes.size(); ++root) {
    if (state[root] != fresh) continue;
    stack.push_back({root, 0});
    state[root] = open;
    while (!stack.empty()) {
      auto& [block, next] = stack.back();
      const auto& successors = cfg.nodes[block].successors;
      if (next == successors.size()) {
        state[block] = closed;
        stack.pop_back();
        continue;
      }
      const BlockId successor = successors[next++];
      if (state[successor] == open) edges.push_back({block, successor});
      if (state[successor] != fresh) continue;
      state[successor] = open;
      stack.push_back({successor, 0});
    }
  }
  return edges;
}

Loop loop_of(const Cfg& cfg, BlockId source, BlockId header) {
  std::vector<bool> inside(cfg.nodes.size(), false);
  std::vector<BlockId> work;
  inside[header] = true;
  if (!inside[source]) work.push_back(source);
  inside[source] = true;
  while (!work.empty()) {
    const BlockId block = work.back();
    work.pop_back();
    for (const BlockId p : cfg.nodes[block].predecessors) {
      if (inside[p]) continue;
      inside[p] = true;
      work.push_back(p);
    }
  }
  Loop loop{header, {}};
  for (BlockId b = 0; b < cfg.nodes.size(); ++b)
    if (inside[b]) loop.body.push_back(b);
  return loop;
}

}  // namespace

std::vector<Loop> find_loops(const Cfg& cfg) {
  std::vector<Loop> loops;
  for (const auto& [source, header] : retreating_edges(cfg)) loops.push_back(loop_of(cfg, source, header));
  return loops;
}

}  // namespace raddle::ptx
