#include <fmt/format.h>

#include <set>

#include "graph/resources/ranges.h"
#include "raddle/graph/show.h"

namespace raddle::graph {
namespace {

/// A string of the DOT language: backslashes and quotes escaped.
std::string quoted_name(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

std::string resource_node(const Graph& graph, std::uint32_t resource) {
  const ResourceInfo& info = graph.resources()[resource];
  const bool is_bound = info.origin != Origin::transient;
  return fmt::format("  r{} [label={}, shape=ellipse{}];\n", resource, quoted_name(info.name),
                     is_bound ? ", style=bold" : "");
}

}  // namespace

std::string graphviz(const Schedule& schedule) {
  const Graph& graph = *schedule.graph;
  std::string text = "digraph passes {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n";
  std::set<std::uint32_t> resources;
  for (std::uint32_t i = 0; i < schedule.nodes.size(); ++i) {
    const Node& node = schedule.nodes[i];
    const bool is_pass = node.kind == NodeKind::pass;
    text += fmt::format("  n{} [label={}, shape={}];\n", i, quoted_name(schedule.node_name(i)),
                        is_pass ? "box" : "diamond");
    if (!is_pass) continue;
    for (const Access& access : graph.passes()[node.pass].accesses) {
      const std::uint32_t resource = access.view.resource.index;
      if (resources.insert(resource).second) text += resource_node(graph, resource);
      const std::string view = view_text(graph.info(access.view.resource), access.view);
      const std::string label =
          view == graph.resources()[resource].name ? "" : fmt::format(" [label={}]", quoted_name(view));
      if (access.reads) text += fmt::format("  r{} -> n{}{};\n", resource, i, label);
      if (access.writes) text += fmt::format("  n{} -> r{}{};\n", i, resource, label);
    }
  }
  // What no resource between them shows.
  for (std::uint32_t i = 0; i < schedule.nodes.size(); ++i)
    for (const Edge& edge : schedule.edges_of(i)) {
      const bool is_inserted =
          schedule.nodes[i].kind != NodeKind::pass || schedule.nodes[edge.from].kind != NodeKind::pass;
      if (is_inserted || edge.reason >= Reason::order)
        text += fmt::format("  n{} -> n{} [style={}, label={}];\n", edge.from, i,
                            is_dependency(edge.reason) ? "solid" : "dashed",
                            quoted_name(reason_name(edge.reason)));
    }
  return text + "}\n";
}

}  // namespace raddle::graph
