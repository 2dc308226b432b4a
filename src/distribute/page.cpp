// The page's data, and the page around it. Its parts are in page/; CMake makes one text of each.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "distribute/page_source.h"
#include "distribute/replay.h"
#include "distribute/views.h"

namespace raddle::distribute {
namespace {

using Json = nlohmann::ordered_json;
using machine::Decision;

std::string extent_text(const std::uint32_t* extent) {
  return fmt::format("{}x{}x{}", extent[0], extent[1], extent[2]);
}

std::string kind_text(const GridInfo& grid) {
  std::string text = extent_text(grid.extent.data());
  for (unsigned i = 0; i < grid.kind.depth; ++i) {
    const machine::ClusterLevel& level = grid.kind.levels[i];
    text += fmt::format("{} {} clusters of {}", i == 0 ? "" : " of", machine::level_name(level.domain),
                        extent_text(level.extent));
  }
  return text;
}

Json grid_json(const GridInfo& grid) {
  const std::string name = grid.name.empty() ? fmt::format("grid {}", grid.id) : grid.name;
  return {{"name", name},
          {"kind", kind_text(grid)},
          {"ctas", std::uint64_t{grid.extent[0]} * grid.extent[1] * grid.extent[2]},
          {"clusterCtas", grid.kind.ctas_per_cluster()}};
}

/// A digit of base 36 for each SM; 35 stands for more.
std::string free_text(const std::vector<std::uint32_t>& free) {
  std::string text;
  for (const std::uint32_t slots : free) text += "0123456789abcdefghijklmnopqrstuvwxyz"[std::min(slots, 35u)];
  return text;
}

class PageData {
 public:
  explicit PageData(const History& history) : history_(history), replay_(history) {
    for (std::size_t i = 0; i < history.grids.size(); ++i) number_of_.emplace(history.grids[i].id, i);
  }

  Json json() {
    Json steps = Json::array();
    for (const Step& step : history_.steps)
      if (step.decision.kind != Decision::Kind::attempt) add(step, steps);  // a round has all of its answers
    Json grids = Json::array();
    std::uint32_t rows = 1;
    for (const GridInfo& grid : history_.grids) {
      grids.push_back(grid_json(grid));
      rows = std::max(rows, std::min(grid.slots, 32u));
    }
    for (const auto& sm : replay_.sms()) rows = std::max(rows, static_cast<std::uint32_t>(sm.size()));
    const auto& sms = history_.layout.sms;
    return {{"policy", history_.policy},
            {"machine", history_.layout.name},
            {"gpc", sms[static_cast<unsigned>(machine::Level::gpc)]},
            {"cpc", sms[static_cast<unsigned>(machine::Level::cpc)]},
            {"rows", rows},
            {"leftOut", history_.left_out},
            {"grids", grids},
            {"steps", steps}};
  }

 private:
  void add(const Step& step, Json& steps) {
    const Decision& decision = step.decision;
    const auto number = number_of_.find(decision.grid);
    if (number == number_of_.end()) return;
    replay_.apply(step, changed_);
    std::vector<std::uint64_t> cells;
    for (const Cell& cell : changed_) cells.insert(cells.end(), {cell.sm, cell.row, cell.cta});
    if (joins(decision, number->second, steps)) {  // CTAs that end together are one step
      Json& together = steps.back()["cells"];
      for (const std::uint64_t number_in_cell : cells) together.push_back(number_in_cell);
      return;
    }
    Json candidates = Json::array();
    for (const machine::Candidate& candidate : decision.candidates)
      candidates.push_back({static_cast<unsigned>(candidate.level), candidate.domain,
                            candidate.speed ? static_cast<std::int64_t>(*candidate.speed) : -1,
                            candidate.load, candidate.chosen ? 1 : 0});
    Json json = {{"k", kind_name(decision.kind)}, {"t", decision.time},  {"g", number->second},
                 {"c", decision.cluster},         {"l", decision.level}, {"r", decision.round},
                 {"f", decision.first},           {"cells", cells},      {"candidates", candidates}};
    if (!decision.free.empty()) json["free"] = free_text(decision.free);
    steps.push_back(std::move(json));
  }
  static bool joins(const Decision& decision, std::size_t grid, const Json& steps) {
    if (decision.kind != Decision::Kind::complete || steps.empty()) return false;
    const Json& last = steps.back();
    return last["k"] == "complete" && last["t"] == decision.time && last["g"] == grid;
  }

  const History& history_;
  Replay replay_;
  std::map<std::uint64_t, std::size_t> number_of_;
  std::vector<Cell> changed_;
};

void replace(std::string& text, std::string_view mark, std::string_view by) {
  text.replace(text.find(mark), mark.size(), by);
}

}  // namespace

std::string page_text(std::span<const History> histories, const std::string& title) {
  Json list = Json::array();
  for (const History& history : histories) list.push_back(PageData(history).json());
  const Json document = {
      {"title", title}, {"unit", histories.empty() ? "" : histories[0].unit}, {"histories", list}};
  std::string data = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  for (std::size_t at = 0; (at = data.find('<', at)) != std::string::npos;)
    data.replace(at, 1, "\\u003c");  // no </script> in names
  std::string page(kPageHtml);
  replace(page, "/*style*/", kPageStyle);
  replace(page, "/*script*/", kPageScript);
  replace(page, "/*data*/", data);
  return page;
}

}  // namespace raddle::distribute
