#include "ptx/dominators.h"

#include <utility>

namespace raddle::ptx {
namespace {

/// By position in the reverse postorder; kNone for unreachable blocks.
std::vector<std::uint32_t> immediate_dominators(const Cfg& cfg, const std::vector<BlockId>& order,
                                                const std::vector<std::uint32_t>& position) {
  std::vector<std::uint32_t> parent(order.size(), kNone);
  parent[0] = 0;
  auto meet = [&](std::uint32_t a, std::uint32_t b) {
    while (a != b) (a > b ? a : b) = parent[a > b ? a : b];
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t k = 1; k < order.size(); ++k) {
      std::uint32_t found = kNone;
      for (BlockId p : cfg.nodes[order[k]].predecessors) {
        const std::uint32_t at = position[p];
        if (at == kNone || parent[at] == kNone) continue;
        found = found == kNone ? at : meet(found, at);
      }
      if (found != parent[k]) parent[k] = found, changed = true;
    }
  }
  return parent;
}

}  // namespace

Dominators::Dominators(const Cfg& cfg) : enter_(cfg.nodes.size()), leave_(cfg.nodes.size()) {
  const std::vector<BlockId> order = reverse_postorder(cfg);
  if (order.empty()) return;
  std::vector<std::uint32_t> position(cfg.nodes.size(), kNone);
  for (std::uint32_t k = 0; k < order.size(); ++k) position[order[k]] = k;
  const std::vector<std::uint32_t> parent = immediate_dominators(cfg, order, position);
  std::vector<std::vector<std::uint32_t>> children(order.size());
  for (std::uint32_t k = 1; k < order.size(); ++k) children[parent[k]].push_back(k);
  std::uint32_t clock = 0;
  std::vector<std::pair<std::uint32_t, std::size_t>> path{{0, 0}};
  enter_[order[0]] = ++clock;
  while (!path.empty()) {
    auto& [at, next] = path.back();
    if (next == children[at].size()) {
      leave_[order[at]] = ++clock;
      path.pop_back();
      continue;
    }
    const std::uint32_t child = children[at][next++];
    enter_[order[child]] = ++clock;
    path.push_back({child, 0});
  }
}

}  // namespace raddle::ptx
