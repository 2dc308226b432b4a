// The structure of graphs.
#include "driver/graph/graph.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "driver/pool_places.h"
#include "driver/process.h"

namespace raddle::driver {

KernelArguments::KernelArguments(const KernelInfo& info, std::span<const Argument> given)
    : bytes(info.parameter_bytes) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::byte* const place = bytes.data() + info.parameters[i].offset;
    std::memcpy(place, given[i].data(), given[i].bytes());
    pointers.push_back(place);
    sizes.push_back(given[i].bytes());
  }
}

std::vector<Argument> KernelArguments::arguments() const {
  std::vector<Argument> list;
  for (std::size_t i = 0; i < pointers.size(); ++i) list.emplace_back(pointers[i], sizes[i]);
  return list;
}

std::unique_lock<std::recursive_mutex> lock_graphs() {
  static std::recursive_mutex& mutex = *new std::recursive_mutex;  // never destroyed, as Process
  return std::unique_lock(mutex);
}

namespace {

/// A kernel's other ports, and what begins early by them (CUDA's "edge data").
bool is_edge(const GraphNode& from, const GraphNode& to, const CUgraphEdgeData& data) {
  const bool from_kernel = std::holds_alternative<KernelNode>(from.work);
  const bool to_kernel = std::holds_alternative<KernelNode>(to.work);
  if (data.to_port != 0 || data.from_port > PORT_LAUNCH_ORDER || data.type > DEPENDENCY_PROGRAMMATIC)
    return false;
  for (const unsigned char each : data.reserved)
    if (each != 0) return false;
  if (data.from_port != PORT_DEFAULT && !from_kernel) return false;
  const bool is_programmatic = data.type == DEPENDENCY_PROGRAMMATIC;
  if (data.from_port == PORT_PROGRAMMATIC && !is_programmatic) return false;
  return !is_programmatic || (to_kernel && data.from_port != PORT_DEFAULT);
}

auto edge_to(std::vector<GraphNode::Edge>& edges, const GraphNode& node) {
  return std::ranges::find(edges, &node, &GraphNode::Edge::node);
}

/// What nodes hold in them.
template <class Visitor>
void for_each_part(const GraphNode& node, const Visitor& visit) {
  if (const auto* child = std::get_if<ChildNode>(&node.work)) visit(child->graph);
  if (const auto* conditional = std::get_if<ConditionalNode>(&node.work))
    for (const auto& body : conditional->bodies) visit(body);
}

}  // namespace

Answer<std::vector<GraphNode::Edge>> edges_of(const Graph& graph, const CUgraphNode* nodes,
                                              const CUgraphEdgeData* data, std::size_t count) {
  if (count != 0 && nodes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode::Edge> edges;
  for (std::size_t i = 0; i < count; ++i) {
    TRY_ASSIGN(const auto node, find<GraphNode>(nodes[i]));
    if (node->graph != &graph) return CUDA_ERROR_INVALID_VALUE;
    edges.push_back({node.get(), data == nullptr ? CUgraphEdgeData{} : data[i]});
  }
  return edges;
}

Answer<std::shared_ptr<GraphNode>> Graph::add(NodeWork work, std::span<const GraphNode::Edge> dependencies) {
  auto node = std::make_shared<GraphNode>();
  node->graph = this;
  node->work = std::move(work);
  for (const auto& [from, data] : dependencies) {
    const Status connected = connect(*from, *node, data);
    if (connected.ok()) continue;
    for (const auto& [before, unused] : node->dependencies)
      before->dependents.erase(edge_to(before->dependents, *node));
    return connected.error();
  }
  nodes.push_back(node);
  Process::instance().graph_nodes.add(node);
  return node;
}

Status Graph::connect(GraphNode& from, GraphNode& to, const CUgraphEdgeData& data) {
  if (from.graph != this || to.graph != this || &from == &to || !is_edge(from, to, data) ||
      edge_to(to.dependencies, from) != to.dependencies.end())
    return CUDA_ERROR_INVALID_VALUE;
  to.dependencies.push_back({&from, data});
  from.dependents.push_back({&to, data});
  return CUDA_SUCCESS;
}

Status Graph::disconnect(GraphNode& from, GraphNode& to, const CUgraphEdgeData* data) {
  const auto edge = edge_to(to.dependencies, from);
  if (edge == to.dependencies.end() || (data != nullptr && edge->data != *data))
    return CUDA_ERROR_INVALID_VALUE;
  to.dependencies.erase(edge);
  from.dependents.erase(edge_to(from.dependents, to));
  return CUDA_SUCCESS;
}

void Graph::remove(GraphNode& node) {
  for (const auto& [before, data] : node.dependencies)
    before->dependents.erase(edge_to(before->dependents, node));
  for (const auto& [after, data] : node.dependents)
    after->dependencies.erase(edge_to(after->dependencies, node));
  for_each_part(node, [](const std::shared_ptr<Graph>& part) { end_handles(*part); });
  Process::instance().graph_nodes.remove(node.handle);
  std::erase_if(nodes, [&](const auto& each) { return each.get() == &node; });
}

std::vector<GraphNode*> Graph::in_order() const {
  std::vector<GraphNode*> order;
  std::map<const GraphNode*, std::size_t> missing;
  for (const auto& node : nodes) {
    missing[node.get()] = node->dependencies.size();
    if (node->dependencies.empty()) order.push_back(node.get());
  }
  for (std::size_t next = 0; next < order.size(); ++next)
    for (const auto& [after, data] : order[next]->dependents)
      if (--missing[after] == 0) order.push_back(after);
  return order;
}

bool Graph::leads_to(const GraphNode& from, const GraphNode& to) {
  std::vector<const GraphNode*> reached{&to};
  std::set<const GraphNode*> seen{&to};
  for (std::size_t next = 0; next < reached.size(); ++next)
    for (const auto& [before, data] : reached[next]->dependencies)
      if (seen.insert(before).second) reached.push_back(before);
  return seen.contains(&from);
}

// Memory that two nodes allocate is taken by the second from the first: it is free, then, if what was
// allocated last has been freed by a node that comes before.
Answer<std::shared_ptr<GraphMemory>> take_memory(const Graph& graph,
                                                 std::span<const GraphNode::Edge> dependencies,
                                                 const std::shared_ptr<Context>& context,
                                                 CUmemPoolProps props, std::size_t bytes) {
  TRY_ASSIGN(const auto source, source_for(props));
  const auto comes_before = [&](const GraphNode& node) {
    return std::ranges::any_of(dependencies,
                               [&](const auto& edge) { return Graph::leads_to(node, *edge.node); });
  };
  std::map<std::shared_ptr<GraphMemory>, long> uses;  // allocations without a free that comes before
  for (const auto& node : graph.nodes) {
    if (const auto* allocation = std::get_if<AllocationNode>(&node->work)) ++uses[allocation->memory];
    if (const auto* freed = std::get_if<FreeNode>(&node->work); freed != nullptr && comes_before(*node))
      --uses[freed->memory];
  }
  for (const auto& [memory, count] : uses)
    if (count == 0 && memory->bytes == bytes && memory->context == context && memory->is_of(props))
      return memory;
  return GraphMemory::take(context, props, source, bytes);
}

std::shared_ptr<Graph> make_graph() {
  auto graph = std::make_shared<Graph>();
  Process::instance().graphs.add(graph);
  return graph;
}

namespace {

/// CUDA_ERROR_NOT_SUPPORTED: the node owns something that there is once
Status copy_parts(NodeWork& work, bool takes_over) {
  const bool is_own = std::holds_alternative<AllocationNode>(work) ||
                      std::holds_alternative<FreeNode>(work) || std::holds_alternative<ConditionalNode>(work);
  if (is_own && !takes_over) return CUDA_ERROR_NOT_SUPPORTED;
  const auto copy = [&](std::shared_ptr<Graph>& part) -> Status {
    TRY_ASSIGN(part, clone(*part, takes_over));
    part->is_part = true;
    return CUDA_SUCCESS;
  };
  if (auto* child = std::get_if<ChildNode>(&work)) TRY(copy(child->graph));
  if (auto* conditional = std::get_if<ConditionalNode>(&work))
    for (auto& body : conditional->bodies) TRY(copy(body));
  return CUDA_SUCCESS;
}

}  // namespace

Answer<std::shared_ptr<Graph>> clone(const Graph& graph, bool takes_over) {
  auto copy = make_graph();
  copy->original = graph.handle;
  copy->objects = graph.objects;
  copy->conditions = graph.conditions;
  std::map<const GraphNode*, GraphNode*> copies;
  for (const auto& node : graph.nodes) {
    NodeWork work = node->work;
    if (const Status copied = copy_parts(work, takes_over); !copied.ok()) {
      end_handles(*copy);
      return copied.error();
    }
    TRY_ASSIGN(const auto made, copy->add(std::move(work), {}));
    made->original = node->handle;
    copies[node.get()] = made.get();
  }
  for (const auto& node : graph.nodes)
    for (const auto& [from, data] : node->dependencies)
      TRY(copy->connect(*copies[from], *copies[node.get()], data));
  return copy;
}

void end_handles(Graph& graph) {
  for (const auto& node : graph.nodes) {
    for_each_part(*node, [](const std::shared_ptr<Graph>& part) { end_handles(*part); });
    Process::instance().graph_nodes.remove(node->handle);
  }
  Process::instance().graphs.remove(graph.handle);
}

}  // namespace raddle::driver
