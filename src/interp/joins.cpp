// Immediate post-dominators by the usual iteration over the reversed control-flow graph.
#include "interp/joins.h"

#include <algorithm>

#include "ptx/cfg.h"

namespace raddle::interp {
namespace {

constexpr std::uint32_t kUnset = ptx::kNone;

bool leaves(const ptx::Cfg::Node& node) {
  return node.successors.empty() || node.exit == ptx::Exit::conditional_end;
}

/// Blocks that can reach the function's end, in post-order of the reversed graph from a virtual end.
std::vector<std::uint32_t> reversed_post_order(const ptx::Cfg& cfg) {
  std::vector<std::uint32_t> order;
  std::vector<char> seen(cfg.nodes.size());
  std::vector<std::pair<std::uint32_t, std::size_t>> stack;
  for (std::uint32_t root = 0; root < cfg.nodes.size(); ++root) {
    if (seen[root] || !leaves(cfg.nodes[root])) continue;
    seen[root] = 1;
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      std::uint32_t block = stack.back().first;
      const auto& predecessors = cfg.nodes[block].predecessors;
      if (stack.back().second == predecessors.size()) {
        order.push_back(block);
        stack.pop_back();
        continue;
      }
      std::uint32_t next = predecessors[stack.back().second++];
      if (!seen[next]) seen[next] = 1, stack.emplace_back(next, 0);
    }
  }
  return order;
}

/// Immediate post-dominator by block; the virtual end has number nodes.size(); kUnset for blocks that never
/// end.
std::vector<std::uint32_t> post_dominators(const ptx::Cfg& cfg) {
  auto end = static_cast<std::uint32_t>(cfg.nodes.size());
  std::vector<std::uint32_t> order = reversed_post_order(cfg), number(end + 1), ipdom(end + 1, kUnset);
  for (std::uint32_t k = 0; k < order.size(); ++k) number[order[k]] = k;
  number[end] = static_cast<std::uint32_t>(order.size());
  ipdom[end] = end;
  auto meet = [&](std::uint32_t a, std::uint32_t b) {
    while (a != b) {
      while (number[a] < number[b]) a = ipdom[a];
      while (number[b] < number[a]) b = ipdom[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto block = order.rbegin(); block != order.rend(); ++block) {
      const auto& node = cfg.nodes[*block];
      std::uint32_t best = leaves(node) ? end : kUnset;
      for (std::uint32_t successor : node.successors) {
        if (ipdom[successor] == kUnset) continue;
        best = best == kUnset ? successor : meet(best, successor);
      }
      if (ipdom[*block] != best) ipdom[*block] = best, changed = true;
    }
  }
  return ipdom;
}

}  // namespace

void place_joins(FunctionCode& code) {
  const ptx::Function& function = *code.function;
  ptx::Cfg cfg = ptx::build_cfg(function);
  std::vector<std::uint32_t> ipdom = post_dominators(cfg);
  for (std::uint32_t block = 0; block < cfg.nodes.size(); ++block) {
    const auto& source = function.blocks[block];
    if (cfg.nodes[block].successors.size() < 2 || source.begin == source.end) continue;
    std::uint32_t join = ipdom[block];
    if (join >= cfg.nodes.size()) continue;
    std::uint32_t at = function.blocks[join].begin;
    if (at >= code.instructions.size()) continue;
    code.instructions[source.end - 1].join = at;
    code.instructions[at].is_join = true;
  }
}

}  // namespace raddle::interp
