// The calls on the structure of graphs: nodes and edges, copies, user objects.
#include <algorithm>

#include "driver/entry.h"
#include "driver/graph/capture.h"
#include "driver/graph/dot.h"
#include "driver/graph/graph.h"
#include "driver/process.h"

namespace raddle::driver::entry {
namespace {

using Edge = GraphNode::Edge;

/// A list as CUDA gives it: into arrays of `*count`, of which what is too much becomes null; without arrays,
/// only the number. CUDA_ERROR_LOSSY_QUERY: an edge that is not a plain one, and no array for its data
struct EdgeList {
  CUgraphNode* from;
  CUgraphNode* to;
  CUgraphEdgeData* data;
  std::size_t* count;
};

struct FullEdge {
  CUgraphNode from, to;
  CUgraphEdgeData data;
};

Status give(std::span<const FullEdge> edges, const EdgeList& list) {
  const std::size_t room = *list.count;
  if (list.from == nullptr && list.to == nullptr) {
    if (list.data != nullptr) return CUDA_ERROR_INVALID_VALUE;
    *list.count = edges.size();
    return CUDA_SUCCESS;
  }
  const std::size_t given = std::min(room, edges.size());
  for (std::size_t i = 0; i < given && list.data == nullptr; ++i)
    if (edges[i].data != CUgraphEdgeData{}) return CUDA_ERROR_LOSSY_QUERY;
  for (std::size_t i = 0; i < room; ++i) {
    const FullEdge edge = i < given ? edges[i] : FullEdge{};
    if (list.from != nullptr) list.from[i] = edge.from;
    if (list.to != nullptr) list.to[i] = edge.to;
    if (list.data != nullptr) list.data[i] = edge.data;
  }
  *list.count = given;
  return CUDA_SUCCESS;
}

template <class Wanted>
Status give_nodes(const Graph& graph, CUgraphNode* nodes, std::size_t* count, const Wanted& wanted) {
  const auto lock = lock_graphs();
  std::vector<FullEdge> list;
  for (const auto& node : graph.nodes)
    if (wanted(*node)) list.push_back({node->handle, nullptr, {}});
  return give(list, {nodes, nullptr, nullptr, count});
}

Status give_edges(const std::vector<Edge>& edges, CUgraphNode* nodes, CUgraphEdgeData* data,
                  std::size_t* count) {
  const auto lock = lock_graphs();
  std::vector<FullEdge> list;
  for (const Edge& edge : edges) list.push_back({edge.node->handle, nullptr, edge.data});
  return give(list, {nodes, nullptr, data, count});
}

/// Changes edges one by one; if one cannot be, those before it are as they were.
template <class Change, class Undo>
Status change_edges(const CUgraphNode* from, const CUgraphNode* to, std::size_t count, const Change& change,
                    const Undo& undo) {
  const auto lock = lock_graphs();
  if (count != 0 && (from == nullptr || to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<std::pair<std::shared_ptr<GraphNode>, std::shared_ptr<GraphNode>>> ends;
  for (std::size_t i = 0; i < count; ++i) {
    TRY_ASSIGN(auto first, find<GraphNode>(from[i]));
    TRY_ASSIGN(auto second, find<GraphNode>(to[i]));
    ends.emplace_back(std::move(first), std::move(second));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Status status = change(*ends[i].first, *ends[i].second, i);
    if (status.ok()) continue;
    while (i-- > 0) undo(*ends[i].first, *ends[i].second, i);
    return status;
  }
  return CUDA_SUCCESS;
}

}  // namespace

Status cuGraphCreate(CUgraph* graph, unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *graph = make_graph()->handle;
  return CUDA_SUCCESS;
}

Status cuGraphDestroy(In<Graph> graph) {
  const auto lock = lock_graphs();
  if (graph->is_part) return CUDA_ERROR_INVALID_VALUE;  // its node's
  end_handles(*graph);
  return CUDA_SUCCESS;
}

Status cuGraphGetNodes(In<Graph> graph, CUgraphNode* nodes, std::size_t* count) {
  return give_nodes(*graph, nodes, count, [](const GraphNode&) { return true; });
}
Status cuGraphGetRootNodes(In<Graph> graph, CUgraphNode* nodes, std::size_t* count) {
  return give_nodes(*graph, nodes, count, [](const GraphNode& node) { return node.dependencies.empty(); });
}

Status cuGraphGetEdges(In<Graph> graph, CUgraphNode* from, CUgraphNode* to, std::size_t* count) {
  return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}
Status cuGraphGetEdges_v2(In<Graph> graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                          std::size_t* count) {
  const auto lock = lock_graphs();
  if ((from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<FullEdge> list;
  for (const auto& node : graph->nodes)
    for (const Edge& edge : node->dependencies) list.push_back({edge.node->handle, node->handle, edge.data});
  return give(list, {from, to, data, count});
}

Status cuGraphNodeGetDependencies(In<GraphNode> node, CUgraphNode* nodes, std::size_t* count) {
  return give_edges(node->dependencies, nodes, nullptr, count);
}
Status cuGraphNodeGetDependencies_v2(In<GraphNode> node, CUgraphNode* nodes, CUgraphEdgeData* data,
                                     std::size_t* count) {
  return give_edges(node->dependencies, nodes, data, count);
}
Status cuGraphNodeGetDependentNodes(In<GraphNode> node, CUgraphNode* nodes, std::size_t* count) {
  return give_edges(node->dependents, nodes, nullptr, count);
}
Status cuGraphNodeGetDependentNodes_v2(In<GraphNode> node, CUgraphNode* nodes, CUgraphEdgeData* data,
                                       std::size_t* count) {
  return give_edges(node->dependents, nodes, data, count);
}

Status cuGraphAddDependencies(In<Graph> graph, const CUgraphNode* from, const CUgraphNode* to,
                              std::size_t count) {
  return cuGraphAddDependencies_v2(graph, from, to, nullptr, count);
}
Status cuGraphAddDependencies_v2(In<Graph> graph, const CUgraphNode* from, const CUgraphNode* to,
                                 const CUgraphEdgeData* data, std::size_t count) {
  const auto add = [&](GraphNode& first, GraphNode& second, std::size_t i) {
    return graph->connect(first, second, data == nullptr ? CUgraphEdgeData{} : data[i]);
  };
  const auto undo = [&](GraphNode& first, GraphNode& second, std::size_t) {
    (void)graph->disconnect(first, second, nullptr);
  };
  return change_edges(from, to, count, add, undo);
}
Status cuGraphRemoveDependencies(In<Graph> graph, const CUgraphNode* from, const CUgraphNode* to,
                                 std::size_t count) {
  return cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}
Status cuGraphRemoveDependencies_v2(In<Graph> graph, const CUgraphNode* from, const CUgraphNode* to,
                                    const CUgraphEdgeData* data, std::size_t count) {
  std::vector<CUgraphEdgeData> removed;
  const auto remove = [&](GraphNode& first, GraphNode& second, std::size_t i) -> Status {
    const auto edge = std::ranges::find(second.dependencies, &first, &Edge::node);
    if (first.graph != graph.get() || edge == second.dependencies.end()) return CUDA_ERROR_INVALID_VALUE;
    removed.push_back(edge->data);
    // Without data: whatever the edge is, as on an H200.
    return graph->disconnect(first, second, data == nullptr ? &removed.back() : &data[i]);
  };
  const auto undo = [&](GraphNode& first, GraphNode& second, std::size_t i) {
    (void)graph->connect(first, second, removed[i]);
  };
  return change_edges(from, to, count, remove, undo);
}

Status cuGraphDestroyNode(In<GraphNode> node) {
  const auto lock = lock_graphs();
  // Memory of graphs stays with those who know its address.
  if (std::holds_alternative<AllocationNode>(node->work) || std::holds_alternative<FreeNode>(node->work))
    return CUDA_ERROR_NOT_SUPPORTED;
  if (is_being_captured(*node->graph)) return CUDA_ERROR_ILLEGAL_STATE;  // what comes next may follow it
  node->graph->remove(*node);
  return CUDA_SUCCESS;
}

Status cuGraphNodeGetType(In<GraphNode> node, CUgraphNodeType* type) {
  *type = type_of(node->work);
  return CUDA_SUCCESS;
}

Status cuGraphClone(CUgraph* handle, In<Graph> graph) {
  const auto lock = lock_graphs();
  TRY_ASSIGN(const auto copy, clone(*graph));
  *handle = copy->handle;
  return CUDA_SUCCESS;
}
Status cuGraphNodeFindInClone(CUgraphNode* handle, In<GraphNode> original, In<Graph> copy) {
  const auto lock = lock_graphs();
  const auto found =
      std::ranges::find(copy->nodes, original->handle, [](const auto& node) { return node->original; });
  if (found == copy->nodes.end()) return CUDA_ERROR_INVALID_VALUE;
  *handle = (*found)->handle;
  return CUDA_SUCCESS;
}

Status cuGraphDebugDotPrint(In<Graph> graph, const char* path, unsigned flags) {
  const auto lock = lock_graphs();
  return print_dot(*graph, path, flags);
}

Status cuUserObjectCreate(CUuserObject* handle, void* object, CUhostFn destroy, unsigned count,
                          unsigned flags) {
  constexpr unsigned kMost = 0x7fffffff;
  if (flags != USER_OBJECT_NO_DESTRUCTOR_SYNC || count == 0 || count > kMost) return CUDA_ERROR_INVALID_VALUE;
  auto made = std::make_shared<UserObject>(object, destroy);
  made->owned = count;
  *handle = Process::instance().user_objects.add(std::move(made));
  return CUDA_SUCCESS;
}
Status cuUserObjectRetain(In<UserObject> object, unsigned count) {
  const auto lock = lock_graphs();
  if (count == 0) return CUDA_ERROR_INVALID_VALUE;
  object->owned += count;
  return CUDA_SUCCESS;
}

// The last reference may go here: the program's function is called without the lock.
Status cuUserObjectRelease(In<UserObject> object, unsigned count) {
  {
    const auto lock = lock_graphs();
    if (count == 0 || count > object->owned) return CUDA_ERROR_INVALID_VALUE;
    object->owned -= count;
    if (object->owned != 0) return CUDA_SUCCESS;
  }
  Process::instance().user_objects.remove(object->handle);
  return CUDA_SUCCESS;
}
Status cuGraphRetainUserObject(In<Graph> graph, In<UserObject> object, unsigned count, unsigned flags) {
  {
    const auto lock = lock_graphs();
    if (count == 0 || (flags & ~USER_OBJECT_MOVE) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (flags == USER_OBJECT_MOVE && count > object->owned) return CUDA_ERROR_INVALID_VALUE;
    graph->objects[object] += count;
    if (flags != USER_OBJECT_MOVE || (object->owned -= count) != 0) return CUDA_SUCCESS;
  }
  Process::instance().user_objects.remove(object->handle);
  return CUDA_SUCCESS;
}
// The program's own references may all be gone: then only its graphs know the object.
Status cuGraphReleaseUserObject(In<Graph> graph, CUuserObject handle, unsigned count) {
  std::shared_ptr<UserObject> object;  // goes after the lock, if this is the last reference
  const auto lock = lock_graphs();
  const auto found =
      std::ranges::find(graph->objects, handle, [](const auto& held) { return held.first->handle; });
  if (count == 0 || found == graph->objects.end() || found->second < count) return CUDA_ERROR_INVALID_VALUE;
  object = found->first;
  found->second -= count;
  if (found->second == 0) graph->objects.erase(found);
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver::entry
