// From a graph to what must come before what (G-8), which actions are missing (G-9), who uses which memory
// first and last (G-12a), and what is wrong (G-14).
#pragma once

#include "graph/resources/ranges.h"
#include "raddle/graph/schedule.h"

namespace raddle::graph {

/// Lists of numbers, one after another in one array.
struct Lists {
  std::vector<std::uint32_t> first{0}, values;
  std::span<const std::uint32_t> operator[](std::size_t list) const {
    return {values.data() + first[list], values.data() + first[list + 1]};
  }
  std::size_t size() const { return first.size() - 1; }
  void end_list() { first.push_back(static_cast<std::uint32_t>(values.size())); }
};

struct Analysis {
  std::vector<Node> nodes;  ///< passes and actions, each after those that it depends on
  std::vector<std::uint32_t> first_edge{0};
  std::vector<Edge> edges;               ///< dependencies alone
  std::vector<std::uint32_t> transient;  ///< resources that passes use
  Lists users;                           ///< by place in `transient`: nodes, ascending
  Lists first_users, last_users;  ///< likewise: those that wait for no other one, or are waited for by none
  Lists uses;                     ///< by node: places in `transient`

  std::span<const Edge> edges_of(std::uint32_t node) const {
    return {edges.data() + first_edge[node], edges.data() + first_edge[node + 1]};
  }
};

/// Sizes, kinds and arguments of every pass (G-14d). @errors invalid, with the program's line
Result<void> check_passes(const Graph& graph);

/// The order in which passes of a graph built node by node count as invoked. @errors invalid: a cycle, or
/// writes that no order settles, with names and lines of the passes
Result<std::vector<std::uint32_t>> order_of_nodes(const Graph& graph);

/// @errors invalid: as above; a read of what nobody writes and no caller bound (G-14b)
Result<Analysis> analyse(const Graph& graph);

}  // namespace raddle::graph
