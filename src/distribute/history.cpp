// Steps as they come, and as lines of JSON.
#include "distribute/history.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace raddle::distribute {
namespace {

using machine::Candidate;
using machine::Decision;

void append_list(std::string& text, std::string_view name, const auto& list) {
  if (!list.empty()) fmt::format_to(std::back_inserter(text), ",\"{}\":[{}]", name, fmt::join(list, ","));
}

void append_candidates(std::string& text, const std::vector<Candidate>& candidates) {
  if (candidates.empty()) return;
  text += ",\"candidates\":[";
  for (const Candidate& candidate : candidates) {
    if (&candidate != candidates.data()) text += ',';
    fmt::format_to(std::back_inserter(text), "{{\"level\":\"{}\",\"domain\":{},",
                   machine::level_name(candidate.level), candidate.domain);
    if (candidate.speed) fmt::format_to(std::back_inserter(text), "\"speed\":{},", *candidate.speed);
    fmt::format_to(std::back_inserter(text), "\"load\":{},\"chosen\":{}}}", candidate.load, candidate.chosen);
  }
  text += ']';
}

}  // namespace

Layout layout_of(const machine::MachineShape& shape) {
  Layout layout{shape.name, {}};
  for (unsigned level = 0; level < machine::kLevels; ++level)
    for (const machine::Domain& domain : shape.domains(machine::Level(level)))
      layout.sms[level].push_back(domain.sm_count);
  return layout;
}

std::string_view kind_name(Decision::Kind kind) {
  constexpr std::array<std::string_view, kKinds> names{
      "launch", "fail", "stall", "complete", "cluster_complete", "attempt", "evict", "suspend", "resume"};
  return names[static_cast<unsigned>(kind)];
}

/// Attempts are kept until it is known what became of them: those of a refusal that is not kept are not
/// either.
void History::record(const Decision& decision) {
  if (decision.kind == Decision::Kind::attempt && !all_refusals) {
    attempts.push_back(decision);
    return;
  }
  const std::vector<Decision> before = std::exchange(attempts, {});
  if (!all_refusals && (decision.kind == Decision::Kind::fail || decision.kind == Decision::Kind::stall)) {
    const auto [known, is_new] = refused.try_emplace(decision.grid, decision.cluster);
    if (!is_new && known->second == decision.cluster) return;
    known->second = decision.cluster;
  }
  for (const Decision& attempt : before) keep(attempt);
  keep(decision);
}

void History::keep(const Decision& decision) {
  if (steps.size() >= limit) {
    ++left_out;
    return;
  }
  steps.push_back({decision, {}});
  if (decision.kind == Decision::Kind::complete) steps.back().ctas.assign(ended.begin(), ended.end());
}

const GridInfo* History::grid_of(const Decision& decision) const {
  // Ids go up as grids arrive in simulations; on a live machine nearly so.
  const auto below = [](const GridInfo& grid, std::uint64_t id) { return grid.id < id; };
  const auto found = std::lower_bound(grids.begin(), grids.end(), decision.grid, below);
  if (found != grids.end() && found->id == decision.grid) return &*found;
  const auto any = std::find_if(grids.begin(), grids.end(),
                                [&](const GridInfo& grid) { return grid.id == decision.grid; });
  return any == grids.end() ? nullptr : &*any;
}

std::string header_line(const Layout& layout, std::string_view policy, std::string_view unit) {
  std::string text = fmt::format(
      "{{\"raddle\":\"decisions\",\"version\":1,\"shape\":{},\"policy\":{},\"unit\":{},\"levels\":{{",
      json_string(layout.name), json_string(policy), json_string(unit));
  for (unsigned level = 0; level < machine::kLevels; ++level)
    fmt::format_to(std::back_inserter(text), "{}\"{}\":[{}]", level == 0 ? "" : ",",
                   machine::level_name(machine::Level(level)), fmt::join(layout.sms[level], ","));
  return text + "}}\n";
}

void append_line(std::string& text, const GridInfo& grid) {
  fmt::format_to(std::back_inserter(text),
                 "{{\"grid\":{},\"name\":{},\"time\":{},\"extent\":[{}],\"slots\":{}", grid.id,
                 json_string(grid.name), grid.arrival, fmt::join(grid.extent, ","), grid.slots);
  if (!grid.kind.is_plain()) {
    text += ",\"clusters\":[";
    for (unsigned i = 0; i < grid.kind.depth; ++i)
      fmt::format_to(std::back_inserter(text), "{}{{\"level\":\"{}\",\"extent\":[{}]}}", i == 0 ? "" : ",",
                     machine::level_name(grid.kind.levels[i].domain),
                     fmt::join(grid.kind.levels[i].extent, ","));
    text += ']';
  }
  if (grid.kind.mode == machine::DistributionMode::multicast) text += ",\"mode\":\"multicast\"";
  text += "}\n";
}

void append_line(std::string& text, const Step& step) {
  const Decision& decision = step.decision;
  fmt::format_to(std::back_inserter(text),
                 "{{\"step\":\"{}\",\"time\":{},\"sequence\":{},\"grid\":{},\"first\":{},\"cluster\":{}",
                 kind_name(decision.kind), decision.time, decision.sequence, decision.grid, decision.first,
                 decision.cluster);
  if (decision.level != 0) fmt::format_to(std::back_inserter(text), ",\"level\":{}", decision.level);
  if (decision.round != 0) fmt::format_to(std::back_inserter(text), ",\"round\":{}", decision.round);
  append_candidates(text, decision.candidates);
  append_list(text, "sms", decision.sms);
  append_list(text, "free", decision.free);
  append_list(text, "live", decision.live);
  append_list(text, "ctas", step.ctas);
  text += "}\n";
}

std::string history_text(const History& history) {
  std::string text = header_line(history.layout, history.policy, history.unit);
  auto grid = history.grids.begin();
  for (const Step& step : history.steps) {
    // A grid stands before the first step that names it, even against the times.
    const GridInfo* named = history.grid_of(step.decision);
    for (; grid != history.grids.end() &&
           (grid->arrival <= step.decision.time || (named != nullptr && &*grid <= named));
         ++grid)
      append_line(text, *grid);
    append_line(text, step);
  }
  for (; grid != history.grids.end(); ++grid) append_line(text, *grid);
  return text;
}

}  // namespace raddle::distribute
