// Sub-graphs in place.
#pragma once

#include <memory>

#include "raddle/graph/graph.h"

namespace raddle::graph {

bool has_sub_graphs(const Graph& graph);
/// The graph with each pass that includes another one replaced by that one's passes. Transient resources of
/// the inner graph are new ones each time.
/// @errors invalid: an inner graph's bound resource without a view, or of another size or kind
Result<std::shared_ptr<const Graph>> with_sub_graphs(const Graph& graph);

}  // namespace raddle::graph
