// What is to be scheduled, as numbers: nodes with times, needs, dependencies and memory. Nodes are numbered
// so that each comes after those that it depends on.
#pragma once

#include <array>
#include <vector>

#include "graph/analysis/analysis.h"

namespace raddle::graph {

/// Parts of what a target has, in whole numbers, so that parts add up.
using Share = std::uint32_t;
constexpr Share kWhole = 1u << 16;

inline std::array<double, Needs::kCount> all_ones() {
  std::array<double, Needs::kCount> ones;
  ones.fill(1);
  return ones;
}

struct Problem {
  const Analysis& analysis;
  std::vector<double> nanoseconds;                        ///< by node
  std::vector<std::array<Share, Needs::kCount>> needs;    ///< likewise
  std::array<double, Needs::kCount> weight = all_ones();  ///< of a unit, where needs of it meet
  Lists later;                                            ///< likewise: who depends on it
  std::vector<std::uint64_t> bytes;                       ///< by place in analysis.transient
  std::uint64_t memory_limit = 0;
  std::uint64_t working_set = 0;  ///< 0: none
  bool alias = true;

  std::size_t size() const { return nanoseconds.size(); }
};

/// The nodes that depend on each.
Lists later_of(const Analysis& analysis);
/// How long the longest path of dependent nodes from the start of each takes.
std::vector<double> ranks_of(const Problem& problem);

}  // namespace raddle::graph
