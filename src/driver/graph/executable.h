// Executable graphs of programs (CUgraphExec): a graph as it was when it was instantiated, and the runtime's
// executable graph made of it. Child graphs lie flat in it; a node may be several nodes there, or none that
// does anything.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "driver/graph/graph.h"
#include "raddle/executable_graph.h"

namespace raddle::driver {

struct GraphExec {
  GraphExec(std::shared_ptr<Context> of, std::shared_ptr<Graph> copy, unsigned long long wanted)
      : context(std::move(of)), flags(wanted), graph(std::move(copy)), executable(context->device) {}

  const std::shared_ptr<Context> context;
  const unsigned long long flags;
  CUgraphExec handle = nullptr;
  /// A copy that changes with it, whose nodes know those that they were made of; no program has its handles.
  const std::shared_ptr<Graph> graph;
  ExecutableGraph executable;

  /// Where a node's work is.
  struct Place {
    ExecutableGraph* in = nullptr;
    std::vector<ExecutableGraph::Node> nodes;  ///< one behind the other
  };
  std::map<const GraphNode*, Place> places;  ///< of the copy's nodes
  std::map<CUgraphNode, GraphNode*> copies;  ///< by the node that it was made of
  std::vector<std::pair<ExecutableGraph::Node, const GraphNode*>> records, waits;  ///< of events
  /// Memory of graphs: what a launch allocates and leaves, what it allocates and frees, what it frees of
  /// others.
  std::vector<std::shared_ptr<GraphMemory>> left, passing, freed;
};

/// Makes a graph executable. @param culprit  receives the node that is wrong, of the graph; null: none
/// @param result  why not. @errors CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, and those of work
Answer<std::shared_ptr<GraphExec>> instantiate(const Graph& graph, unsigned long long flags,
                                               CUgraphNode& culprit, CUgraphInstantiateResult& result);
/// A node of the copy does other work in launches to come.
Status change(GraphExec& exec, GraphNode& node, NodeWork work);
/// Takes over all that nodes of another graph of the same structure do. On failure nothing has changed.
CUgraphExecUpdateResultInfo update(GraphExec& exec, const Graph& graph);
/// The same of a child graph of its.
CUgraphExecUpdateResultInfo update(GraphExec& exec, Graph& part, const Graph& graph);
/// CUDA_ERROR_INVALID_VALUE: memory that an earlier launch has allocated is still in use; and the device's
/// error
Status launch(GraphExec& exec, Stream& stream);

}  // namespace raddle::driver
