// Graphs and schedules to be looked at (G-15).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "raddle/graph/executor.h"

namespace raddle::graph {

/// A text for Graphviz: passes, resources between them, and what was inserted (G-15a).
std::string graphviz(const Schedule& schedule);

/// A page without anything outside it: the graph, the schedule as a timeline (estimated, and measured where a
/// run has times), memory over time, and for each pass why it runs when it does. One tab for each run.
std::string page_of(std::span<const RunReport> runs, const std::string& title);

}  // namespace raddle::graph
