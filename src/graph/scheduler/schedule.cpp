#include "raddle/graph/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/resources/ranges.h"

namespace raddle::graph {

const char* reason_name(Reason reason) {
  constexpr const char* kReasons[] = {
      "read after write", "write after read", "write after write", "order", "capacity", "memory", "policy"};
  return kReasons[static_cast<unsigned>(reason)];
}

std::string Schedule::node_name(std::uint32_t number) const {
  const Node& node = nodes[number];
  const PassInfo& pass = graph->passes()[node.pass];
  const auto view = [&] { return view_text(graph->info(node.view.resource), node.view); };
  if (node.kind == NodeKind::layout_change)
    return fmt::format("{}: {} to {}", view(), layout_name(node.was), layout_name(node.layout));
  if (node.kind == NodeKind::cache_action)
    return fmt::format("{} {} for {}", node.action == CacheAction::Kind::flush ? "flush" : "invalidate",
                       unit_name(node.unit), view());
  return pass.pieces > 1 ? fmt::format("{} {}/{}", pass.name, pass.piece + 1, pass.pieces) : pass.name;
}

std::uint32_t Schedule::node_of(Pass pass) const {
  for (std::uint32_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].kind == NodeKind::pass && nodes[i].pass == pass.index) return i;
  return ~0u;
}

std::vector<Barrier> Schedule::barriers() const {
  std::map<std::vector<std::uint32_t>, std::size_t> known;
  std::vector<Barrier> barriers;
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    std::vector<std::uint32_t> after;
    for (const Edge& edge : edges_of(node)) after.push_back(edge.from);
    if (after.empty()) continue;
    std::sort(after.begin(), after.end());
    const auto [place, is_new] = known.emplace(after, barriers.size());
    if (is_new) barriers.push_back({std::move(after), {}});
    barriers[place->second].before.push_back(node);
  }
  return barriers;
}

namespace {
std::string nanoseconds_text(double nanoseconds) {
  return nanoseconds >= 1e6 ? fmt::format("{:.2f} ms", nanoseconds / 1e6)
                            : fmt::format("{:.1f} us", nanoseconds / 1e3);
}

std::string edge_text(const Schedule& schedule, const Edge& edge) {
  const std::string from = schedule.node_name(edge.from);
  const auto resource = [&] { return schedule.graph->resources()[edge.resource].name; };
  if (is_dependency(edge.reason) && schedule.nodes[edge.from].kind != NodeKind::pass)
    return fmt::format("'{}' was inserted before it", from);
  switch (edge.reason) {
    case Reason::read_after_write:
      return fmt::format("it reads what '{}' writes to '{}'", from, resource());
    case Reason::write_after_read:
      return fmt::format("it overwrites what '{}' reads from '{}'", from, resource());
    case Reason::write_after_write:
      return fmt::format("it writes '{}' after '{}', as the program has it", resource(), from);
    case Reason::order:
      return fmt::format("the program orders it after '{}'", from);
    case Reason::capacity:
      return fmt::format("together with '{}' and what runs beside it, it would need more {} than there are",
                         from, need_name(edge.need));
    case Reason::memory:
      return fmt::format("its memory is that of '{}', which '{}' uses last", resource(), from);
    case Reason::policy:
      return fmt::format("the policy runs '{}' before it, one by one", from);
  }
  return {};
}
}  // namespace

std::string Schedule::why(std::uint32_t node) const {
  std::string text =
      fmt::format("'{}' starts at {} (estimated)", node_name(node), nanoseconds_text(nodes[node].begin));
  const auto edges = edges_of(node);
  if (edges.empty()) text += ": it waits for nothing";
  // What ends last decides.
  const Edge* latest = nullptr;
  for (const Edge& edge : edges)
    if (latest == nullptr || nodes[edge.from].end > nodes[latest->from].end) latest = &edge;
  if (latest != nullptr)
    text += ", when what it waits for has ended; the last of it because " + edge_text(*this, *latest);
  text += ".";
  for (const Edge& edge : edges)
    if (&edge != latest) text += " Also, " + edge_text(*this, edge) + ".";
  if (nodes[node].kind == NodeKind::pass)
    text += fmt::format(" From its start on the longest chain of passes takes {}; policy {}.",
                        nanoseconds_text(nodes[node].rank), policy);
  return text;
}

}  // namespace raddle::graph
