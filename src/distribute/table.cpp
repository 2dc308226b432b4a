// Decisions as text.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "distribute/views.h"

namespace raddle::distribute {
namespace {

using machine::Candidate;
using machine::Decision;

/// "0-3 8 10-11x2": SM 8 gets one, 10 and 11 two each.
std::string sms_text(const std::vector<std::uint32_t>& sms) {
  std::map<std::uint32_t, unsigned> counts;
  for (const std::uint32_t sm : sms) ++counts[sm];
  std::string text;
  for (auto it = counts.begin(); it != counts.end();) {
    const auto first = it;
    std::uint32_t last = first->first;
    for (++it; it != counts.end() && it->first == last + 1 && it->second == first->second; ++it)
      last = it->first;
    fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : " ", first->first);
    if (last != first->first) fmt::format_to(std::back_inserter(text), "-{}", last);
    if (first->second != 1) fmt::format_to(std::back_inserter(text), "x{}", first->second);
  }
  return text;
}

/// "gpc 0:fail 1:0* 2:3": the chosen have a star.
std::string candidates_text(const std::vector<Candidate>& candidates) {
  if (candidates.empty()) return "";
  std::string text(machine::level_name(candidates[0].level));
  for (const Candidate& candidate : candidates) {
    fmt::format_to(std::back_inserter(text), " {}:", candidate.domain);
    text += candidate.speed ? fmt::format("{}", *candidate.speed) : "fail";
    if (candidate.chosen) text += '*';
  }
  return text;
}

std::string subject(const History& history, const Decision& decision) {
  const GridInfo* grid = history.grid_of(decision);
  if (grid == nullptr) return fmt::format("grid {}", decision.grid);
  const std::string name = grid->name.empty() ? fmt::format("grid {}", grid->id) : grid->name;
  return grid->kind.is_plain() ? name : fmt::format("{} cluster {}", name, decision.cluster);
}

std::string ctas_text(const Step& step) {
  const Decision& decision = step.decision;
  if (decision.sms.empty()) return "";
  if (decision.kind != Decision::Kind::complete)
    return decision.sms.size() == 1
               ? fmt::format("{}", decision.first)
               : fmt::format("{}-{}", decision.first, decision.first + decision.sms.size() - 1);
  return step.ctas.size() == 1 ? fmt::format("{}", step.ctas[0])
                               : fmt::format("{} of them", decision.sms.size());
}

}  // namespace

std::string decision_table(const History& history) {
  std::string text =
      fmt::format("{} on {}, times in {}\n{:>6} {:>12}  {:<16} {:<28} {:>5} {:>5}  {:<13} {:<24} {}\n",
                  history.policy, history.layout.name, history.unit, "step", "time", "what", "grid", "level",
                  "round", "CTAs", "SMs", "candidates: speed, * chosen");
  for (std::size_t i = 0; i < history.steps.size(); ++i) {
    const Decision& decision = history.steps[i].decision;
    const bool choice = decision.kind == Decision::Kind::launch && decision.sms.empty();
    fmt::format_to(std::back_inserter(text), "{:>6} {:>12}  {:<16} {:<28} {:>5} {:>5}  {:<13} {:<24} {}\n",
                   i + 1, decision.time, choice ? "choose" : kind_name(decision.kind),
                   subject(history, decision), decision.level, decision.round, ctas_text(history.steps[i]),
                   sms_text(decision.sms), candidates_text(decision.candidates));
    while (text.ends_with(" \n")) text.erase(text.size() - 2, 1);
  }
  if (history.left_out != 0)
    fmt::format_to(std::back_inserter(text), "{} more steps are left out\n", history.left_out);
  return text;
}

}  // namespace raddle::distribute
