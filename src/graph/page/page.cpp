// The page's data, and the page around it. Its parts are beside this file; CMake makes one text of each.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "graph/page/page_source.h"
#include "raddle/graph/show.h"

namespace raddle::graph {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostNodes = 5000;  // that a page shows

Json node_json(const Schedule& schedule, std::uint32_t number, const std::vector<NodeTimes>& times) {
  constexpr const char* kKinds[] = {"pass", "layout", "cache"};
  const Node& node = schedule.nodes[number];
  const PassInfo& pass = schedule.graph->passes()[node.pass];
  Json commands = Json::array();
  if (node.kind == NodeKind::pass)
    for (const Command& command : pass.commands) commands.push_back(command_name(command));
  Json needs = Json::array();
  for (unsigned kind = 0; kind < Needs::kCount; ++kind)
    if (node.needs.share[kind] > 0) needs.push_back({need_name(kind), node.needs.share[kind]});
  Json json = {{"name", schedule.node_name(number)},
               {"kind", kKinds[static_cast<unsigned>(node.kind)]},
               {"line", pass.line.text()},
               {"commands", commands},
               {"needs", needs},
               {"begin", node.begin},
               {"end", node.end},
               {"why", schedule.why(number)}};
  if (number < times.size()) json["measured"] = {times[number].begin, times[number].end};
  return json;
}

Json run_json(const RunReport& run) {
  const Schedule& schedule = *run.schedule;
  const auto shown = static_cast<std::uint32_t>(std::min(schedule.nodes.size(), kMostNodes));
  Json nodes = Json::array(), edges = Json::array(), memory = Json::array(), barriers = Json::array();
  for (std::uint32_t i = 0; i < shown; ++i) {
    nodes.push_back(node_json(schedule, i, run.times));
    for (const Edge& edge : schedule.edges_of(i))
      edges.push_back({edge.from, i, reason_name(edge.reason), is_dependency(edge.reason)});
  }
  for (const Placement& placement : schedule.placements)
    if (placement.first < shown && placement.last < shown)
      memory.push_back({{"name", schedule.graph->resources()[placement.resource].name},
                        {"offset", placement.offset},
                        {"bytes", placement.bytes},
                        {"first", placement.first},
                        {"last", placement.last}});
  if (schedule.nodes.size() <= kMostNodes)
    for (const Barrier& barrier : schedule.barriers()) barriers.push_back({barrier.after, barrier.before});
  return {{"policy", schedule.policy},
          {"target", schedule.target},
          {"nodes", nodes},
          {"leftOut", schedule.nodes.size() - shown},
          {"edges", edges},
          {"barriers", barriers},
          {"memory", memory},
          {"peak", schedule.peak_bytes},
          {"plain", schedule.plain_bytes},
          {"estimated", schedule.nanoseconds},
          {"measured", run.score.nanoseconds},
          {"serial", run.score.serial},
          {"dot", shown < schedule.nodes.size() ? "" : graphviz(schedule)}};
}

void replace_mark(std::string& text, std::string_view mark, std::string_view by) {
  text.replace(text.find(mark), mark.size(), by);
}

}  // namespace

std::string page_of(std::span<const RunReport> runs, const std::string& title) {
  Json list = Json::array();
  for (const RunReport& run : runs) list.push_back(run_json(run));
  const Json document = {{"title", title}, {"runs", list}};
  std::string data = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  for (std::size_t at = 0; (at = data.find('<', at)) != std::string::npos;)
    data.replace(at, 1, "\\u003c");  // no </script> in names
  std::string page(kGraphPageHtml);
  replace_mark(page, "/*style*/", kGraphPageStyle);
  replace_mark(page, "/*script*/", kGraphPageScript);
  replace_mark(page, "/*data*/", data);
  return page;
}

}  // namespace raddle::graph
