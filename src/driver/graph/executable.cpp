// See executable.h.
#include "driver/graph/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>

#include "base/notice.h"
#include "driver/copy.h"
#include "driver/entry.h"
#include "driver/fill.h"
#include "driver/graph/nodes.h"
#include "driver/launch.h"
#include "driver/process.h"
#include "driver/results.h"
#include "driver/stream_values.h"

namespace raddle::driver {
namespace {

using Dependency = ExecutableGraph::Dependency;
using Node = ExecutableGraph::Node;

/// The context that a node's work is for; null: any.
const Context* context_of(const NodeWork& work) {
  if (const auto* kernel = std::get_if<KernelNode>(&work)) return kernel->function->module->context.get();
  if (const auto* copy = std::get_if<CopyNode>(&work)) return copy->context.get();
  if (const auto* fill = std::get_if<FillNode>(&work)) return fill->context.get();
  if (const auto* batch = std::get_if<BatchNode>(&work)) return batch->context.get();
  if (const auto* conditional = std::get_if<ConditionalNode>(&work)) return conditional->context.get();
  if (const auto* allocation = std::get_if<AllocationNode>(&work)) return allocation->memory->context.get();
  return nullptr;
}

/// A graph, and the child graphs and bodies in it.
template <class Visitor>
void for_each_graph(const Graph& graph, const Visitor& visit) {
  visit(graph);
  for (const auto& node : graph.nodes) {
    if (const auto* child = std::get_if<ChildNode>(&node->work)) for_each_graph(*child->graph, visit);
    if (const auto* conditional = std::get_if<ConditionalNode>(&node->work))
      for (const auto& body : conditional->bodies) for_each_graph(*body, visit);
  }
}
template <class Visitor>
void for_each_node(const Graph& graph, const Visitor& visit) {
  for_each_graph(graph, [&](const Graph& each) {
    for (const auto& node : each.nodes) visit(*node);
  });
}

/// Writes the work of nodes into an executable graph: new nodes, or what known ones do.
class Writer {
 public:
  Writer(GraphExec& exec, ExecutableGraph& graph) : exec_(exec), graph_(graph) {}

  /// All nodes of a graph, behind what its roots are to come after. @returns what comes after all of them
  Answer<std::vector<Dependency>> write(const Graph& graph, std::vector<Dependency> before,
                                        const GraphNode*& culprit);
  /// One node's work anew, into its place.
  Status rewrite(const GraphNode& node, const NodeWork& work, const GraphExec::Place& place) {
    place_ = place.nodes;
    is_new_ = false;
    next_ = 0;
    node_ = &node;
    return std::visit(*this, work);
  }

  Status operator()(const KernelNode& node);
  Status operator()(const CopyNode& node) {
    TRY_ASSIGN(const BoxCopy box, box_of(node.context, node.params));
    return is_new_ ? put(graph_.add_copy(box, after_)) : Status(graph_.set_copy(place_[next_], box));
  }
  Status operator()(const FillNode& node) {
    TRY_ASSIGN(const RowFill fill, fill_of(node.context, node.params));
    return put_fill(fill);
  }
  Status operator()(const HostNode& node) {
    auto function = host_function(exec_.context.get(), node.params.fn, node.params.userData);
    return is_new_ ? put(graph_.add_call(std::move(function), after_))
                   : Status(graph_.set_call(place_[next_], std::move(function)));
  }
  Status operator()(const ChildNode&) { return CUDA_ERROR_INVALID_VALUE; }  // lies flat
  Status operator()(const EmptyNode&) { return put_empty(); }
  Status operator()(const EventWaitNode&) { return put_empty(); }
  Status operator()(const EventRecordNode&) { return put_empty(); }
  Status operator()(const AllocationNode&) { return put_empty(); }
  Status operator()(const FreeNode&) { return put_empty(); }
  Status operator()(const BatchNode& node);
  Status operator()(const ConditionalNode& node);

 private:
  Status put(const Result<Node>& added) {
    if (!added) return added.error();
    place_.push_back(*added);
    after_ = {{*added}};
    return CUDA_SUCCESS;
  }
  Status put_empty() { return is_new_ ? put(graph_.add_empty(after_)) : Status(CUDA_SUCCESS); }
  Status put_fill(const RowFill& fill) {
    return is_new_ ? put(graph_.add_fill(fill, after_)) : Status(graph_.set_fill(place_[next_], fill));
  }
  Status write_node(const GraphNode& node, const std::vector<Dependency>& before, const GraphNode*& culprit);

  GraphExec& exec_;
  ExecutableGraph& graph_;
  // Of the node that is being written.
  const GraphNode* node_ = nullptr;
  std::vector<Node> place_;
  std::vector<Dependency> after_;
  bool is_new_ = true;
  std::size_t next_ = 0;                                      // of its place
  std::map<const GraphNode*, std::vector<Dependency>> ends_;  // what comes after each node that was written
};

/// What leaves a node by an edge: its end, or what its kernel says before.
Dependency::Until until(const CUgraphEdgeData& data) {
  if (data.type == DEPENDENCY_PROGRAMMATIC) return Dependency::Until::trigger;
  return data.from_port == PORT_LAUNCH_ORDER ? Dependency::Until::begin : Dependency::Until::end;
}

// A programmatic edge from the port of the launch order begins when all blocks have begun, and ends as its
// other kind does: the blocks trigger as they begin.
Status Writer::operator()(const KernelNode& node) {
  LaunchConfig config;
  TRY(launch_of(node, config));
  for (const auto& [to, data] : node_->dependents) {
    if (data.from_port != PORT_LAUNCH_ORDER) continue;
    config.tells_begin = true;
    config.triggers_at_start = config.triggers_at_start || data.type == DEPENDENCY_PROGRAMMATIC;
  }
  const std::vector<Argument> arguments = node.arguments->arguments();
  const raddle::Kernel& kernel = node.function->kernel();
  if (is_new_) {
    const Result<Node> added = graph_.add_launch(kernel, config, arguments, after_);
    if (added) return put(added);
    return result_of_launch(*exec_.context, added.error());
  }
  if (auto changed = graph_.set_launch(place_[next_], kernel, config, arguments); !changed)
    return result_of_launch(*exec_.context, changed.error());
  return CUDA_SUCCESS;
}

Status Writer::operator()(const BatchNode& node) {
  TRY_ASSIGN(const auto operations, memory_operations(node.context, node.operations, node.flags));
  if (!is_new_ && operations.size() != place_.size()) return CUDA_ERROR_INVALID_VALUE;
  if (operations.empty()) return put_empty();
  for (const MemoryOperation& operation : operations) {
    if (operation.wait)
      TRY(is_new_ ? put(graph_.add_wait(*operation.wait, after_))
                  : Status(graph_.set_wait(place_[next_], *operation.wait)));
    if (operation.write) TRY(put_fill(*operation.write));
    ++next_;
  }
  return CUDA_SUCCESS;
}

Status Writer::operator()(const ConditionalNode& node) {
  if (!is_new_) return CUDA_SUCCESS;  // its bodies' nodes have places of their own
  std::vector<ExecutableGraph> bodies;
  for (std::size_t i = 0; i < node.bodies.size(); ++i) bodies.emplace_back(exec_.context->device);
  const auto condition = node_->graph->conditions.find(node.handle);
  if (condition == node_->graph->conditions.end()) return CUDA_ERROR_INVALID_VALUE;
  const auto choice = node.type == CONDITIONAL_IF      ? ExecutableGraph::Choice::once
                      : node.type == CONDITIONAL_WHILE ? ExecutableGraph::Choice::repeated
                                                       : ExecutableGraph::Choice::selected;
  return put(graph_.add_conditional(choice, condition->second.condition, std::move(bodies), after_));
}

Status Writer::write_node(const GraphNode& node, const std::vector<Dependency>& before,
                          const GraphNode*& culprit) {
  culprit = &node;
  after_ = before;
  place_.clear();
  node_ = &node;
  if (const auto* child = std::get_if<ChildNode>(&node.work)) {
    Writer inside(exec_, graph_);
    TRY_ASSIGN(ends_[&node], inside.write(*child->graph, before, culprit));
    return CUDA_SUCCESS;
  }
  TRY(std::visit(*this, node.work));
  exec_.places[&node] = {&graph_, place_};
  if (std::holds_alternative<EventRecordNode>(node.work)) exec_.records.emplace_back(place_.front(), &node);
  if (std::holds_alternative<EventWaitNode>(node.work)) exec_.waits.emplace_back(place_.front(), &node);
  if (const auto* conditional = std::get_if<ConditionalNode>(&node.work)) {
    for (std::size_t i = 0; i < conditional->bodies.size(); ++i) {
      Writer inside(exec_, graph_.body(place_.front(), i));
      TRY(inside.write(*conditional->bodies[i], {}, culprit));
    }
  }
  return CUDA_SUCCESS;
}

Answer<std::vector<Dependency>> Writer::write(const Graph& graph, std::vector<Dependency> before,
                                              const GraphNode*& culprit) {
  const std::vector<GraphNode*> order = graph.in_order();
  if (order.size() != graph.nodes.size()) return CUDA_ERROR_INVALID_VALUE;
  std::vector<Dependency> last;
  for (const GraphNode* const node : order) {
    std::vector<Dependency> after = node->dependencies.empty() ? before : std::vector<Dependency>();
    for (const auto& [from, data] : node->dependencies)
      for (const auto& [end, unused] : ends_[from]) after.push_back({end, until(data)});
    TRY(write_node(*node, after, culprit));
    if (!std::holds_alternative<ChildNode>(node->work)) ends_[node] = {{place_.back()}};
    if (node->dependents.empty()) last.insert(last.end(), ends_[node].begin(), ends_[node].end());
  }
  return order.empty() ? std::move(before) : std::move(last);
}

/// Graphs that kernels launch have kernels, copies, fills and graphs of these.
Status check_for_kernels(const Graph& graph, CUgraphNode& culprit, CUgraphInstantiateResult& result) {
  Status status = CUDA_SUCCESS;
  for_each_node(graph, [&](const GraphNode& node) {
    const CUgraphNodeType type = type_of(node.work);
    if (type == NODE_KERNEL || type == NODE_MEMCPY || type == NODE_MEMSET || type == NODE_GRAPH ||
        type == NODE_EMPTY || !status.ok())
      return;
    culprit = node.handle;
    result = INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
    status = CUDA_ERROR_NOT_SUPPORTED;
  });
  return status;
}

/// What makes a graph one that cannot run, before its nodes are looked at one by one.
Status check(const Graph& graph, unsigned long long flags, CUgraphNode& culprit,
             CUgraphInstantiateResult& result) {
  const Context* context = nullptr;
  Status status = CUDA_SUCCESS;
  for_each_node(graph, [&](const GraphNode& node) {
    const Context* const of = context_of(node.work);
    if (of != nullptr && context != nullptr && of != context && status.ok()) {
      base::notice("raddle: graphs with work of several contexts are not there yet\n");
      culprit = node.handle;
      result = INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED;
      status = CUDA_ERROR_NOT_SUPPORTED;
    }
    if (of != nullptr) context = of;
  });
  if (status.ok() && (flags & INSTANTIATE_DEVICE_LAUNCH) != 0)
    status = check_for_kernels(graph, culprit, result);
  for_each_graph(graph, [&](const Graph& each) {
    for (const auto& [handle, condition] : each.conditions)
      if (!condition.is_used && status.ok())
        result = INSTANTIATE_CONDITIONAL_HANDLE_UNUSED, status = CUDA_ERROR_INVALID_VALUE;
  });
  return status;
}

std::shared_ptr<Context> context_of(const Graph& graph, const std::shared_ptr<Context>& otherwise) {
  const Context* found = nullptr;
  for_each_node(graph, [&](const GraphNode& node) {
    if (found == nullptr) found = context_of(node.work);
  });
  return found == nullptr ? otherwise : Process::instance().contexts.find(found->handle);
}

void find_memory(GraphExec& exec) {
  struct Use {
    bool is_allocated = false;
    long balance = 0;
  };
  std::map<std::shared_ptr<GraphMemory>, Use> uses;
  for_each_node(*exec.graph, [&](const GraphNode& node) {
    if (const auto* allocation = std::get_if<AllocationNode>(&node.work)) {
      Use& use = uses[allocation->memory];
      use.is_allocated = true, ++use.balance;
    }
    if (const auto* freed = std::get_if<FreeNode>(&node.work)) --uses[freed->memory].balance;
  });
  for (const auto& [memory, use] : uses)
    (!use.is_allocated ? exec.freed : use.balance > 0 ? exec.left : exec.passing).push_back(memory);
}

/// What a launch does with memory of graphs is counted when it is given.
Status take_memory_of(const GraphExec& exec) {
  const bool frees_itself = (exec.flags & INSTANTIATE_AUTO_FREE_ON_LAUNCH) != 0;
  const auto is_in_use = [](const auto& memory) { return memory->is_in_use(); };
  if (!frees_itself &&
      (std::ranges::any_of(exec.left, is_in_use) || std::ranges::any_of(exec.passing, is_in_use)))
    return CUDA_ERROR_INVALID_VALUE;
  if (!std::ranges::all_of(exec.freed, is_in_use)) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& memory : exec.left) memory->set_in_use(true);
  for (const auto& memory : exec.passing) memory->set_in_use(true);
  for (const auto& memory : exec.passing) memory->set_in_use(false);
  for (const auto& memory : exec.freed) memory->set_in_use(false);
  return CUDA_SUCCESS;
}

/// Nodes of two graphs of one structure side by side: from the last nodes on, in the order of edges, as the
/// manual says. @returns the first pair of which one has another structure
struct Pairing {
  std::vector<std::pair<GraphNode*, const GraphNode*>> pairs;
  std::map<const GraphNode*, const GraphNode*> known;
  const GraphNode* odd = nullptr;
  CUgraphExecUpdateResult result = UPDATE_SUCCESS;

  bool differs(const GraphNode* with, CUgraphExecUpdateResult why) {
    odd = with;
    result = why;
    return false;
  }

  bool pair(GraphNode& ours, const GraphNode& theirs) {
    if (const auto found = known.find(&ours); found != known.end())
      return found->second == &theirs || differs(&theirs, UPDATE_TOPOLOGY_CHANGED);
    known[&ours] = &theirs;
    if (type_of(ours.work) != type_of(theirs.work)) return differs(&theirs, UPDATE_NODE_TYPE_CHANGED);
    if (ours.dependencies.size() != theirs.dependencies.size())
      return differs(&theirs, UPDATE_TOPOLOGY_CHANGED);
    for (std::size_t i = 0; i < ours.dependencies.size(); ++i) {
      if (ours.dependencies[i].data != theirs.dependencies[i].data)
        return differs(&theirs, UPDATE_TOPOLOGY_CHANGED);
      if (!pair(*ours.dependencies[i].node, *theirs.dependencies[i].node)) return false;
    }
    pairs.emplace_back(&ours, &theirs);
    return pair_parts(ours, theirs);
  }

  bool pair_parts(GraphNode& ours, const GraphNode& theirs) {
    if (auto* child = std::get_if<ChildNode>(&ours.work))
      return pair(*child->graph, *std::get<ChildNode>(theirs.work).graph, &theirs);
    auto* conditional = std::get_if<ConditionalNode>(&ours.work);
    if (conditional == nullptr) return true;
    const auto& other = std::get<ConditionalNode>(theirs.work);
    if (conditional->type != other.type || conditional->bodies.size() != other.bodies.size())
      return differs(&theirs, UPDATE_PARAMETERS_CHANGED);
    for (std::size_t i = 0; i < other.bodies.size(); ++i)
      if (!pair(*conditional->bodies[i], *other.bodies[i], &theirs)) return false;
    return true;
  }

  bool pair(Graph& ours, const Graph& theirs, const GraphNode* around) {
    if (ours.nodes.size() != theirs.nodes.size()) return differs(around, UPDATE_TOPOLOGY_CHANGED);
    std::vector<const GraphNode*> last;
    for (const auto& node : theirs.nodes)
      if (node->dependents.empty()) last.push_back(node.get());
    std::size_t next = 0;
    for (const auto& node : ours.nodes) {
      if (!node->dependents.empty()) continue;
      if (next == last.size()) return differs(around, UPDATE_TOPOLOGY_CHANGED);
      if (!pair(*node, *last[next++])) return false;
    }
    return next == last.size() || differs(last[next], UPDATE_TOPOLOGY_CHANGED);
  }
};

/// What cannot change with an update, of nodes of the same kind.
CUgraphExecUpdateResult difference(const NodeWork& ours, const NodeWork& theirs) {
  if (context_of(ours) != context_of(theirs)) return UPDATE_UNSUPPORTED_FUNCTION_CHANGE;
  if (const auto* memory = std::get_if<AllocationNode>(&ours))
    return memory->memory == std::get<AllocationNode>(theirs).memory ? UPDATE_SUCCESS : UPDATE_NOT_SUPPORTED;
  if (const auto* memory = std::get_if<FreeNode>(&ours))
    return memory->memory == std::get<FreeNode>(theirs).memory ? UPDATE_SUCCESS : UPDATE_NOT_SUPPORTED;
  if (const auto* batch = std::get_if<BatchNode>(&ours))
    return batch->operations.size() == std::get<BatchNode>(theirs).operations.size()
               ? UPDATE_SUCCESS
               : UPDATE_PARAMETERS_CHANGED;
  if (const auto* conditional = std::get_if<ConditionalNode>(&ours))
    return conditional->handle == std::get<ConditionalNode>(theirs).handle ? UPDATE_SUCCESS
                                                                           : UPDATE_PARAMETERS_CHANGED;
  return UPDATE_SUCCESS;
}

}  // namespace

Answer<std::shared_ptr<GraphExec>> instantiate(const Graph& graph, unsigned long long flags,
                                               CUgraphNode& culprit, CUgraphInstantiateResult& result) {
  constexpr unsigned long long kKnown = INSTANTIATE_AUTO_FREE_ON_LAUNCH | INSTANTIATE_UPLOAD |
                                        INSTANTIATE_DEVICE_LAUNCH | INSTANTIATE_USE_NODE_PRIORITY;
  culprit = nullptr;
  result = INSTANTIATE_ERROR;
  if ((flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  TRY_ASSIGN(const auto here, current_context());
  TRY(check(graph, flags, culprit, result));
  TRY_ASSIGN(auto copy, clone(graph, true));
  auto exec = std::make_shared<GraphExec>(context_of(graph, here), std::move(copy), flags);
  end_handles(*exec->graph);
  for_each_node(*exec->graph, [&](GraphNode& node) { exec->copies[node.original] = &node; });
  for_each_graph(*exec->graph, [&](const Graph& each) {
    for (const auto& [handle, condition] : each.conditions)
      if ((condition.flags & CONDITION_ASSIGN_DEFAULT) != 0)
        exec->executable.start_with(condition.condition, condition.value);
  });
  find_memory(*exec);
  const GraphNode* wrong = nullptr;
  Writer writer(*exec, exec->executable);
  const auto written = writer.write(*exec->graph, {}, wrong);
  if (!written.ok()) {
    if (wrong == nullptr) result = INSTANTIATE_INVALID_STRUCTURE;
    if (wrong != nullptr) culprit = wrong->original;
    if (written.error() == CUDA_ERROR_NOT_SUPPORTED) result = INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
    return written.error();
  }
  exec->executable.prepare();
  result = INSTANTIATE_SUCCESS;
  return exec;
}

Status change(GraphExec& exec, GraphNode& node, NodeWork work) {
  const auto place = exec.places.find(&node);
  if (place == exec.places.end()) return CUDA_ERROR_INVALID_VALUE;
  Writer writer(exec, *place->second.in);
  TRY(writer.rewrite(node, work, place->second));
  node.work = std::move(work);
  return CUDA_SUCCESS;
}

CUgraphExecUpdateResultInfo update(GraphExec& exec, const Graph& graph) {
  return update(exec, *exec.graph, graph);
}

CUgraphExecUpdateResultInfo update(GraphExec& exec, Graph& part, const Graph& graph) {
  Pairing pairing;
  if (!pairing.pair(part, graph, nullptr))
    return {pairing.result, pairing.odd == nullptr ? nullptr : pairing.odd->handle, nullptr};
  for (const auto& [ours, theirs] : pairing.pairs)
    if (const auto why = difference(ours->work, theirs->work); why != UPDATE_SUCCESS)
      return {why, theirs->handle, nullptr};
  std::vector<std::pair<GraphNode*, NodeWork>> before;
  for (const auto& [ours, theirs] : pairing.pairs) {
    if (std::holds_alternative<ChildNode>(ours->work) || std::holds_alternative<ConditionalNode>(ours->work))
      continue;
    before.emplace_back(ours, ours->work);
    if (change(exec, *ours, theirs->work).ok()) continue;
    before.pop_back();
    for (auto& [node, work] : before) (void)change(exec, *node, std::move(work));
    return {UPDATE_PARAMETERS_CHANGED, theirs->handle, nullptr};
  }
  for (const auto& [ours, theirs] : pairing.pairs) exec.copies[theirs->handle] = ours;
  return {UPDATE_SUCCESS, nullptr, nullptr};
}

Status launch(GraphExec& exec, Stream& stream) {
  if (stream.context != exec.context.get()) {
    base::notice("raddle: a graph is launched into a stream of another context than its work's\n");
    return CUDA_ERROR_INVALID_VALUE;
  }
  TRY(stream.order());
  TRY(take_memory_of(exec));
  std::vector<Node> points;
  for (const auto& [place, node] : exec.records) points.push_back(place);
  std::vector<ExecutableGraph::Wait> waits;
  for (const auto& [place, node] : exec.waits) {
    Event& event = *std::get<EventWaitNode>(node->work).event;
    std::optional<raddle::Event> point;
    {
      const std::lock_guard lock(event.mutex);
      point = event.recorded;
    }
    if (!point) continue;
    if (event.context == exec.context)
      waits.push_back({place, *point});
    else
      stream.wait(*point, event.context);  // another device's: the whole graph waits
  }
  auto launched = exec.executable.launch(stream.stream, points, waits);
  if (!launched) {
    TRY(sticky_result(*exec.context));
    return launched.error();
  }
  for (std::size_t i = 0; i < exec.records.size(); ++i)
    std::get<EventRecordNode>(exec.records[i].second->work).event->record((*launched)[i], stream.history());
  return CUDA_SUCCESS;
}

}  // namespace raddle::driver
