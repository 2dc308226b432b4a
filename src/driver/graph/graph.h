// CUDA graphs as programs build them: nodes, what each does, and the edges between them. Nothing here runs:
// instantiation (executable.h) makes an executable graph of it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <variant>
#include <vector>

#include "driver/graph/memory.h"
#include "driver/graph/user_object.h"
#include "driver/objects.h"
#include "driver/status.h"
#include "raddle/executable_graph.h"

namespace raddle::driver {

/// The arguments of a kernel node, copied when they were given.
struct KernelArguments {
  KernelArguments(const KernelInfo& info, std::span<const Argument> given);
  std::vector<Argument> arguments() const;

  std::vector<std::byte> bytes;
  std::vector<std::size_t> sizes;
  std::vector<void*> pointers;  ///< to each, as programs get them again
};

// What nodes do, each with what cuGraph...GetParams answers.
struct KernelNode {
  static constexpr CUgraphNodeType kType = NODE_KERNEL;
  std::shared_ptr<Function> function;
  CUDA_KERNEL_NODE_PARAMS params;  ///< its pointers are those of `arguments`
  std::shared_ptr<KernelArguments> arguments;
  std::map<int, CUlaunchAttribute> attributes;
};
struct CopyNode {
  static constexpr CUgraphNodeType kType = NODE_MEMCPY;
  std::shared_ptr<Context> context;
  CUDA_MEMCPY3D params;
};
struct FillNode {
  static constexpr CUgraphNodeType kType = NODE_MEMSET;
  std::shared_ptr<Context> context;
  CUDA_MEMSET_NODE_PARAMS params;
};
struct HostNode {
  static constexpr CUgraphNodeType kType = NODE_HOST;
  CUDA_HOST_NODE_PARAMS params;
};
struct ChildNode {
  static constexpr CUgraphNodeType kType = NODE_GRAPH;
  std::shared_ptr<Graph> graph;  ///< the node's own
};
struct EmptyNode {
  static constexpr CUgraphNodeType kType = NODE_EMPTY;
};
struct EventWaitNode {
  static constexpr CUgraphNodeType kType = NODE_WAIT_EVENT;
  std::shared_ptr<Event> event;
};
struct EventRecordNode {
  static constexpr CUgraphNodeType kType = NODE_EVENT_RECORD;
  std::shared_ptr<Event> event;
};
struct AllocationNode {
  static constexpr CUgraphNodeType kType = NODE_MEM_ALLOC;
  std::shared_ptr<GraphMemory> memory;
  CUmemPoolProps props;
  std::vector<CUmemAccessDesc> access;
};
struct FreeNode {
  static constexpr CUgraphNodeType kType = NODE_MEM_FREE;
  std::shared_ptr<GraphMemory> memory;
};
struct BatchNode {
  static constexpr CUgraphNodeType kType = NODE_BATCH_MEM_OP;
  std::shared_ptr<Context> context;
  std::vector<CUstreamBatchMemOpParams> operations;
  unsigned flags;
};
struct ConditionalNode {
  static constexpr CUgraphNodeType kType = NODE_CONDITIONAL;
  std::shared_ptr<Context> context;
  CUgraphConditionalHandle handle;
  CUgraphConditionalNodeType type;
  std::vector<std::shared_ptr<Graph>> bodies;
};
using NodeWork = std::variant<KernelNode, CopyNode, FillNode, HostNode, ChildNode, EmptyNode, EventWaitNode,
                              EventRecordNode, AllocationNode, FreeNode, BatchNode, ConditionalNode>;

inline CUgraphNodeType type_of(const NodeWork& work) {
  return std::visit([](const auto& kind) { return kind.kType; }, work);
}

struct GraphNode {
  struct Edge {
    GraphNode* node;
    CUgraphEdgeData data;
  };
  Graph* graph = nullptr;  ///< which has it
  CUgraphNode handle = nullptr;
  CUgraphNode original = nullptr;  ///< of a clone: the node that it was made of
  NodeWork work;
  std::vector<Edge> dependencies, dependents;  ///< in the order in which they were added
};

/// One lock over the structure of all graphs: CUDA leaves it to programs that no two threads change one, and
/// a program that does not is to lose its order only.
std::unique_lock<std::recursive_mutex> lock_graphs();

struct Graph {
  CUgraph handle = nullptr;
  std::vector<std::shared_ptr<GraphNode>> nodes;  ///< in the order in which they were added
  bool is_part = false;        ///< of a node, which ends with it: a child graph, a body of a conditional node
  CUgraph original = nullptr;  ///< of a clone
  /// The conditions that were made for it.
  struct Conditional {
    std::shared_ptr<Context> context;
    raddle::Condition condition;
    unsigned value, flags;  ///< CONDITION_ASSIGN_DEFAULT: it has the value at every launch
    bool is_used = false;   ///< by a node
  };
  std::map<CUgraphConditionalHandle, Conditional> conditions;
  HeldObjects objects;

  /// Adds a node behind others of this graph, and gives it a handle.
  /// @errors CUDA_ERROR_INVALID_VALUE: nodes of another graph, one twice, an edge that cannot be
  Answer<std::shared_ptr<GraphNode>> add(NodeWork work, std::span<const GraphNode::Edge> dependencies);
  Status connect(GraphNode& from, GraphNode& to, const CUgraphEdgeData& data);
  /// CUDA_ERROR_INVALID_VALUE: there is no such edge
  Status disconnect(GraphNode& from, GraphNode& to, const CUgraphEdgeData* data);
  void remove(GraphNode& node);  ///< and its edges and its handle
  /// Each node behind those that it depends on; as many as there are, if there is no cycle.
  std::vector<GraphNode*> in_order() const;
  /// Whether one node comes before another, or is it.
  static bool leads_to(const GraphNode& from, const GraphNode& to);
};

/// The nodes of a graph that a call names, with what the edges from them say. @param data  null: plain edges
/// @errors CUDA_ERROR_INVALID_VALUE: nodes of another graph, or none where `count` says some
Answer<std::vector<GraphNode::Edge>> edges_of(const Graph& graph, const CUgraphNode* nodes,
                                              const CUgraphEdgeData* data, std::size_t count);
/// Memory for an allocation node that comes after others: what the graph has freed before them, else more.
/// CUDA_ERROR_OUT_OF_MEMORY; also as source_for()
Answer<std::shared_ptr<GraphMemory>> take_memory(const Graph& graph,
                                                 std::span<const GraphNode::Edge> dependencies,
                                                 const std::shared_ptr<Context>& context,
                                                 CUmemPoolProps props, std::size_t bytes);
/// A graph without nodes, with a handle.
std::shared_ptr<Graph> make_graph();
/// The same nodes and edges once more, with handles of their own. CUDA_ERROR_NOT_SUPPORTED: nodes that cannot
/// be copied, if `owns` is not set: then the copy takes over what they own
Answer<std::shared_ptr<Graph>> clone(const Graph& graph, bool takes_over = false);
/// Ends the handles of a graph, its nodes and the graphs in them; it lives on while others hold it.
void end_handles(Graph& graph);

}  // namespace raddle::driver
