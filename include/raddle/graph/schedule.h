// What the command scheduler answers: an order in which a graph's passes may start, what each waits for and
// why, and where transient memory lies.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "raddle/graph/graph.h"

namespace raddle::graph {

/// Why one node waits for another.
enum class Reason : std::uint8_t {
  read_after_write,
  write_after_read,
  write_after_write,
  order,     ///< the program says so: Graph::order(), or a synchronisation
  capacity,  ///< together they would need more than there is (G-10b)
  memory,    ///< its memory was the other one's (G-12f)
  policy,    ///< the policy runs them one after another
};
const char* reason_name(Reason reason);
/// Whether it holds in all schedules of the graph.
inline bool is_dependency(Reason reason) { return reason < Reason::capacity; }

struct Edge {
  std::uint32_t from = 0;  ///< node that ends before
  Reason reason = Reason::order;
  std::uint8_t need = 0;       ///< of capacity: a Needs::Kind
  std::uint32_t resource = 0;  ///< of accesses and memory
};

/// A pass, or an action that was inserted before one (G-9b, G-9c).
enum class NodeKind : std::uint8_t { pass, layout_change, cache_action };

struct Node {
  NodeKind kind = NodeKind::pass;
  std::uint32_t pass = 0;  ///< or the pass that needs the action
  // Of actions:
  View view;
  Layout was = Layout::undefined, layout = Layout::undefined;
  CacheAction::Kind action = CacheAction::Kind::flush;
  Unit unit = Unit::kernel;
  // Estimates, in nanoseconds from the start of the graph:
  double begin = 0, end = 0;
  Needs needs;
  double rank = 0;  ///< of a policy: how long the longest path of passes from its start on takes
};

/// Where a transient resource lies in the schedule's memory, and when.
struct Placement {
  std::uint32_t resource = 0;
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t first = 0, last = 0;  ///< nodes: its first writer, its last reader (G-12a)
};

/// A barrier: its `after` have ended with all that they did before any of its `before` starts (G-9a). One
/// stands for all nodes that wait for the same ones.
struct Barrier {
  std::vector<std::uint32_t> after, before;
};

struct Schedule {
  std::shared_ptr<const Graph> graph;  ///< sub-graphs in place, large passes in pieces
  Graph::Version graph_version{};      ///< when the schedule was made
  std::uint64_t structure = 0;         ///< equal for a scheduler's schedules that differ in estimates alone
  std::string policy, target;
  std::vector<Node> nodes;                ///< in the order in which they start
  std::vector<std::uint32_t> first_edge;  ///< by node, and one more: places in `edges`
  std::vector<Edge> edges;
  std::vector<Placement> placements;
  std::uint64_t peak_bytes = 0;   ///< of transient memory; known before anything runs
  std::uint64_t plain_bytes = 0;  ///< the same if nothing shared memory
  double nanoseconds = 0;         ///< estimated, of the whole
  std::uint32_t splits = 0;       ///< passes that were split

  std::span<const Edge> edges_of(std::uint32_t node) const {
    return {edges.data() + first_edge[node], edges.data() + first_edge[node + 1]};
  }
  std::string node_name(std::uint32_t node) const;
  std::vector<Barrier> barriers() const;
  /// Why the node starts when it does, in sentences (G-15d).
  std::string why(std::uint32_t node) const;
  /// The node of a pass. none: all ones
  std::uint32_t node_of(Pass pass) const;
};

}  // namespace raddle::graph
