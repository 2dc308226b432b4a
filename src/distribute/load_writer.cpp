// A load as JSON, a grid on each line.
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "distribute/load.h"

namespace raddle::distribute {
namespace {

using Json = nlohmann::ordered_json;

Json durations_json(const Durations& durations) {
  switch (durations.kind) {
    case Durations::Kind::constant:
      return durations.first;
    case Durations::Kind::uniform:
      return {{"uniform", {durations.first, durations.second}}, {"seed", durations.seed}};
    case Durations::Kind::exponential:
      return {{"exponential", durations.first}, {"seed", durations.seed}};
    case Durations::Kind::normal:
      return {{"normal", {durations.first, durations.second}}, {"seed", durations.seed}};
    case Durations::Kind::list:
      return {{"list", *durations.list}};
  }
  return nullptr;
}

Json needs_json(const machine::CtaNeeds& needs) {
  Json json = {{"threads", needs.threads}, {"warps", needs.warps}};
  if (needs.registers != 0) json["registers"] = needs.registers;
  if (needs.shared_bytes != 0) json["shared_bytes"] = needs.shared_bytes;
  if (needs.barriers != 0) json["barriers"] = needs.barriers;
  return json;
}

Json clusters_json(const machine::GridKind& kind) {
  Json list = Json::array();
  for (unsigned i = 0; i < kind.depth; ++i)
    list.push_back(
        {{"level", machine::level_name(kind.levels[i].domain)}, {"extent", kind.levels[i].extent}});
  return list;
}

}  // namespace

std::string grid_text(const LoadGrid& grid) {
  Json json;
  if (!grid.name.empty()) json["name"] = grid.name;
  json["arrival"] = grid.arrival;
  json["grid"] = grid.extent;
  json["needs"] = needs_json(grid.needs);
  if (!grid.kind.is_plain()) json["clusters"] = clusters_json(grid.kind);
  if (grid.kind.mode == machine::DistributionMode::multicast) json["mode"] = "multicast";
  if (grid.priority != 0) json["priority"] = grid.priority;
  if (grid.cap_per_sm != 0) json["cap_per_sm"] = grid.cap_per_sm;
  if (grid.cluster_memory) json["cluster_memory"] = true;
  if (grid.space != 0) json["space"] = grid.space;
  if (grid.placement) json["placement"] = machine::placement_name(*grid.placement);
  if (grid.work_kind != 0) json["work_kind"] = grid.work_kind;
  json["duration"] = durations_json(grid.durations);
  for (const Growth& growth : grid.grows) json["grows"].push_back({growth.time, growth.ctas});
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string load_text(const Load& load) {
  std::string text =
      fmt::format("{{\"raddle\": \"load\", \"version\": 1, \"unit\": {}, \"flush\": {}, \"grids\": [",
                  json_string(load.unit), load.flush);
  const char* separator = "\n";
  for (const LoadGrid& grid : load.grids) {
    text += separator + grid_text(grid);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

}  // namespace raddle::distribute
