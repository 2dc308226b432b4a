// One list of figures makes both forms.
#include "distribute/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace raddle::distribute {
namespace {

using Json = nlohmann::ordered_json;

/// A figure: its name in JSON and in words, and how it follows from an outcome.
struct Figure {
  const char* key;
  std::string label;
  Json (*of)(const Outcome&);
  bool is_share = false;  ///< shown in percent
};

double rounded(double value) { return std::round(value * 1e6) / 1e6; }
double saving(const Outcome& outcome) {
  return outcome.mask_bits == 0
             ? 0
             : rounded(static_cast<double>(outcome.single_bits) / static_cast<double>(outcome.mask_bits));
}

std::vector<Figure> figures(const std::string& unit) {
  using O = const Outcome&;
  return {{"grids", "grids", [](O o) -> Json { return o.grids; }},
          {"ctas", "CTAs", [](O o) -> Json { return o.ctas; }},
          {"clusters", "clusters", [](O o) -> Json { return o.clusters; }},
          {"makespan", "makespan, " + unit, [](O o) -> Json { return o.makespan; }},
          {"utilisation", "most used resource", [](O o) -> Json { return rounded(o.utilisation); }, true},
          {"sm_utilisation", "SMs in use", [](O o) -> Json { return rounded(o.sm_utilisation); }, true},
          {"sms_used", "SMs that had a CTA", [](O o) -> Json { return o.sms_used; }},
          {"spaces_mean", "spaces on an SM, mean", [](O o) -> Json { return rounded(o.spaces_mean); }},
          {"spaces_most", "spaces on an SM, most", [](O o) -> Json { return o.spaces_most; }},
          {"waiting_mean", "waiting, mean", [](O o) -> Json { return rounded(o.waiting.mean()); }},
          {"waiting_p95", "waiting, 95 % below", [](O o) -> Json { return o.waiting.quantile(0.95); }},
          {"waiting_most", "waiting, longest", [](O o) -> Json { return o.waiting.most(); }},
          {"fairness", "fairness of grids", [](O o) -> Json { return rounded(o.fairness.index()); }},
          {"fragmentation", "free but of no use", [](O o) -> Json { return rounded(o.fragmentation); }, true},
          {"calls", "calls of the policy", [](O o) -> Json { return o.calls; }},
          {"failed", "a cluster failed in", [](O o) -> Json { return o.failed; }},
          {"steps", "selection steps", [](O o) -> Json { return o.steps; }},
          {"single_steps", "one CTA at a time", [](O o) -> Json { return o.ctas; }},
          {"decompositions", "deltas decomposed", [](O o) -> Json { return o.decompositions; }},
          {"overflows", "for lack of bits", [](O o) -> Json { return o.overflows; }},
          {"masks", "launch messages", [](O o) -> Json { return o.masks; }},
          {"mask_bits", "their bits", [](O o) -> Json { return o.mask_bits; }},
          {"single_bits", "bits one at a time", [](O o) -> Json { return o.single_bits; }},
          {"saving", "times fewer bits", [](O o) -> Json { return saving(o); }}};
}

std::string cell_text(const Figure& figure, const Outcome& outcome) {
  const Json value = figure.of(outcome);
  if (figure.is_share) return fmt::format("{:.2f} %", 100 * value.get<double>());
  return value.is_number_float() ? fmt::format("{:.4g}", value.get<double>()) : value.dump();
}

std::set<int> priorities(std::span<const Outcome> outcomes) {
  std::set<int> all;
  for (const Outcome& outcome : outcomes)
    for (const auto& [priority, jain] : outcome.fairness_by_priority) all.insert(priority);
  return all;
}

double fairness_at(const Outcome& outcome, int priority) {
  const auto found = outcome.fairness_by_priority.find(priority);
  return found == outcome.fairness_by_priority.end() ? 1 : rounded(found->second.index());
}

void add_row(std::string& text, const std::string& label, std::span<const Outcome> outcomes, auto&& cell) {
  fmt::format_to(std::back_inserter(text), "{:<24}", label);
  for (const Outcome& outcome : outcomes) fmt::format_to(std::back_inserter(text), " {:>14}", cell(outcome));
  text += '\n';
}

/// GPCs that a kind of work had, on average over the makespan.
double mean_gpcs(const Outcome& outcome, std::size_t kind) {
  const auto time = static_cast<double>(std::max<std::uint64_t>(1, outcome.makespan));
  return rounded(outcome.kinds[kind].gpc_time / time);
}

std::string share_text(const Outcome& outcome, std::size_t kind) {
  const KindOutcome& its = outcome.kinds[kind];
  return fmt::format("{:.4g} ({}-{})", mean_gpcs(outcome, kind), its.least, its.most);
}

Json shares_json(const Outcome& outcome) {
  Json shares = Json::array();
  for (std::size_t kind = 0; kind < outcome.kinds.size(); ++kind) {
    const KindOutcome& its = outcome.kinds[kind];
    shares.push_back({{"ctas", its.ctas},
                      {"gpcs_mean", mean_gpcs(outcome, kind)},
                      {"gpcs_least", its.least},
                      {"gpcs_most", its.most}});
  }
  return shares;
}

bool has_shares(const Outcome& outcome) { return outcome.kinds.size() > 1; }

}  // namespace

std::string report_table(std::span<const Outcome> outcomes, const std::string& unit) {
  std::string text;
  add_row(text, "", outcomes, [](const Outcome& outcome) { return outcome.policy; });
  for (const Figure& figure : figures(unit)) {
    add_row(text, figure.label, outcomes, [&](const Outcome& outcome) { return cell_text(figure, outcome); });
    if (std::string_view(figure.key) != "fairness" || priorities(outcomes).size() < 2) continue;
    for (const int priority : priorities(outcomes))
      add_row(text, fmt::format("  of priority {}", priority), outcomes,
              [&](const Outcome& outcome) { return fmt::format("{:.4g}", fairness_at(outcome, priority)); });
  }
  if (!std::ranges::all_of(outcomes, has_shares)) return text;
  for (std::size_t kind = 0; kind < outcomes.front().kinds.size(); ++kind)
    add_row(text, fmt::format("GPCs for work {}", kind), outcomes,
            [&](const Outcome& outcome) { return share_text(outcome, kind); });
  return text;
}

std::string report_json(std::span<const Outcome> outcomes, const std::string& unit) {
  Json list = Json::array();
  for (const Outcome& outcome : outcomes) {
    Json json = {{"policy", outcome.policy}};
    for (const Figure& figure : figures(unit)) json[figure.key] = figure.of(outcome);
    for (const auto& [priority, jain] : outcome.fairness_by_priority)
      json["fairness_by_priority"][fmt::format("{}", priority)] = rounded(jain.index());
    if (has_shares(outcome)) json["shares"] = shares_json(outcome);
    json["stuck_grids"] = outcome.stuck_grids;
    list.push_back(std::move(json));
  }
  return Json{{"unit", unit}, {"policies", list}}.dump(2) + "\n";
}

}  // namespace raddle::distribute
