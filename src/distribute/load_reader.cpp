// From JSON to a load: every member is known, of the right type and range, or the message says which is not.
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json.h"
#include "distribute/generator.h"
#include "distribute/load.h"

namespace raddle::distribute {
namespace {

using machine::Level;
constexpr std::uint64_t kMostExtent = 0x7fffffff;
constexpr std::size_t kMostListed = 100'000'000;

/// Reads a member that may be left out.
Result<void> optional_whole(const JsonValue& object, std::string_view name, std::uint64_t least,
                            std::uint64_t most, auto& to) {
  if (const auto found = object.find(name)) {
    TRY_ASSIGN(const std::uint64_t value, found->whole(least, most));
    to = static_cast<std::remove_reference_t<decltype(to)>>(value);
  }
  return {};
}

Result<void> read_extents(const JsonValue& value, std::uint32_t* extent) {
  TRY_ASSIGN(const std::vector<JsonValue> list, value.elements(1, 3));
  for (std::size_t i = 0; i < list.size(); ++i) {
    TRY_ASSIGN(const std::uint64_t size, list[i].whole(1, kMostExtent));
    extent[i] = static_cast<std::uint32_t>(size);
  }
  return {};
}

Result<machine::CtaNeeds> read_needs(const JsonValue& value) {
  TRY(value.has_only({"threads", "warps", "registers", "shared_bytes", "barriers"}));
  machine::CtaNeeds needs;
  TRY_ASSIGN(const JsonValue threads, value.member("threads"));
  TRY_ASSIGN(const std::uint64_t count, threads.whole(1, 1u << 20));
  needs.threads = static_cast<std::uint32_t>(count);
  needs.warps = (needs.threads + 31) / 32;
  TRY(optional_whole(value, "warps", 1, 1u << 20, needs.warps));
  TRY(optional_whole(value, "registers", 0, 1ull << 32, needs.registers));
  TRY(optional_whole(value, "shared_bytes", 0, 1ull << 40, needs.shared_bytes));
  TRY(optional_whole(value, "barriers", 0, 1u << 20, needs.barriers));
  return needs;
}

Result<Level> read_level(const JsonValue& value) {
  TRY_ASSIGN(const std::string name, value.text());
  std::vector<std::string_view> names;
  for (unsigned i = 0; i + 1 < machine::kLevels; ++i) {
    if (machine::level_name(Level(i)) == name) return Level(i);
    names.push_back(machine::level_name(Level(i)));
  }
  return value.error(
      fmt::format("'{}' is no level for clusters; there are {}", name, fmt::join(names, ", ")));
}

Result<void> read_clusters(const JsonValue& value, LoadGrid& grid) {
  TRY_ASSIGN(const std::vector<JsonValue> list, value.elements(0, machine::kLevels - 1));
  std::uint64_t unit[3] = {1, 1, 1};  // of an outermost cluster, in CTAs
  for (const JsonValue& item : list) {
    TRY(item.has_only({"level", "extent"}));
    machine::ClusterLevel& level = grid.kind.levels[grid.kind.depth];
    TRY_ASSIGN(const JsonValue name, item.member("level"));
    TRY_ASSIGN(level.domain, read_level(name));
    if (grid.kind.depth != 0 && level.domain <= grid.kind.levels[grid.kind.depth - 1].domain)
      return name.error("must be a level inside that of the cluster around it");
    TRY_ASSIGN(const JsonValue extent, item.member("extent"));
    TRY(read_extents(extent, level.extent));
    ++grid.kind.depth;
    for (unsigned i = 0; i < 3; ++i) {
      unit[i] *= level.extent[i];
      if (grid.extent[i] % unit[i] == 0) continue;
      return extent.error(fmt::format("clusters of {} CTAs in {} do not divide the grid's {}", unit[i],
                                      "xyz"[i], grid.extent[i]));
    }
  }
  return {};
}

Result<Durations> read_list(const JsonValue& value) {
  TRY_ASSIGN(const std::vector<JsonValue> items, value.elements(1, kMostListed));
  auto list = std::make_shared<std::vector<std::uint64_t>>();
  list->reserve(items.size());
  for (const JsonValue& item : items) {
    TRY_ASSIGN(const std::uint64_t duration, item.whole(1, kMostTime));
    list->push_back(duration);
  }
  Durations durations;
  durations.kind = Durations::Kind::list;
  durations.list = std::move(list);
  return durations;
}

Result<void> read_pair(const JsonValue& value, std::uint64_t least, Durations& durations) {
  TRY_ASSIGN(const std::vector<JsonValue> pair, value.elements(2, 2));
  TRY_ASSIGN(durations.first, pair[0].whole(1, kMostTime));
  TRY_ASSIGN(durations.second, pair[1].whole(least == 0 ? 0 : durations.first, kMostTime));
  return {};
}

Result<Durations> read_durations(const JsonValue& value) {
  Durations durations;
  if (value.is_number()) {
    TRY_ASSIGN(durations.first, value.whole(1, kMostTime));
    return durations;
  }
  TRY(value.has_only({"uniform", "exponential", "normal", "list", "seed"}));
  const auto uniform = value.find("uniform"), exponential = value.find("exponential");
  const auto normal = value.find("normal"), list = value.find("list");
  if (!!uniform + !!exponential + !!normal + !!list != 1)
    return value.error("must be a number, or have one of uniform, exponential, normal, list");
  if (list) {
    if (value.find("seed")) return value.error("a list needs no seed");
    return read_list(*list);
  }
  TRY(optional_whole(value, "seed", 0, ~0ull, durations.seed));
  if (uniform) {
    durations.kind = Durations::Kind::uniform;
    TRY(read_pair(*uniform, 1, durations));
  } else if (normal) {
    durations.kind = Durations::Kind::normal;
    TRY(read_pair(*normal, 0, durations));
  } else {
    durations.kind = Durations::Kind::exponential;
    TRY_ASSIGN(durations.first, exponential->whole(1, kMostTime));
  }
  return durations;
}

Result<void> read_mode(const JsonValue& value, machine::GridKind& kind) {
  TRY_ASSIGN(const std::string mode, value.text());
  if (mode != "load_balance" && mode != "multicast")
    return value.error(fmt::format("'{}' is no mode; there are load_balance, multicast", mode));
  kind.mode =
      mode == "multicast" ? machine::DistributionMode::multicast : machine::DistributionMode::load_balance;
  return {};
}

Result<void> read_placement(const JsonValue& value, LoadGrid& grid) {
  TRY_ASSIGN(const std::string name, value.text());
  const Result<machine::PlacementMode> mode = machine::find_placement(name);
  if (!mode) return value.error(mode.error().message);
  grid.placement = *mode;
  return {};
}

Result<void> read_growths(const JsonValue& value, LoadGrid& grid) {
  if (!grid.kind.is_plain()) return value.error("a grid of clusters does not grow");
  TRY_ASSIGN(const std::vector<JsonValue> list, value.elements(0, kMostListed));
  std::uint64_t time = grid.arrival, ctas = grid.ctas();
  for (const JsonValue& item : list) {
    TRY_ASSIGN(const std::vector<JsonValue> pair, item.elements(2, 2));
    TRY_ASSIGN(time, pair[0].whole(time, kMostTime));
    TRY_ASSIGN(const std::uint64_t more, pair[1].whole(1, 1ull << 40));
    if ((ctas += more) > 1ull << 40) return item.error("gives it more than 2^40 CTAs");
    grid.grows.push_back({time, more});
  }
  return {};
}

Result<LoadGrid> read_grid(const JsonValue& value, bool arrives) {
  if (arrives)
    TRY(value.has_only({"name", "arrival", "grid", "needs", "clusters", "mode", "priority", "cap_per_sm",
                        "cluster_memory", "space", "placement", "work_kind", "duration", "grows"}));
  else
    TRY(value.has_only({"name", "grid", "needs", "clusters", "mode", "priority", "cap_per_sm",
                        "cluster_memory", "space", "placement", "work_kind", "duration"}));
  LoadGrid grid;
  if (const auto name = value.find("name")) {
    TRY_ASSIGN(grid.name, name->text());
  }
  TRY(optional_whole(value, "arrival", 0, kMostTime, grid.arrival));
  TRY_ASSIGN(const JsonValue extent, value.member("grid"));
  TRY(read_extents(extent, grid.extent.data()));
  const auto ctas =
      static_cast<unsigned __int128>(std::uint64_t{grid.extent[0]} * grid.extent[1]) * grid.extent[2];
  if (ctas > 1ull << 40) return extent.error("has more than 2^40 CTAs");
  TRY_ASSIGN(const JsonValue needs, value.member("needs"));
  TRY_ASSIGN(grid.needs, read_needs(needs));
  if (const auto clusters = value.find("clusters")) TRY(read_clusters(*clusters, grid));
  if (const auto mode = value.find("mode")) TRY(read_mode(*mode, grid.kind));
  if (const auto priority = value.find("priority")) {
    TRY_ASSIGN(const std::int64_t number, priority->integer(INT32_MIN, INT32_MAX));
    grid.priority = static_cast<int>(number);
  }
  TRY(optional_whole(value, "cap_per_sm", 0, UINT32_MAX, grid.cap_per_sm));
  if (const auto memory = value.find("cluster_memory")) {
    TRY_ASSIGN(grid.cluster_memory, memory->flag());
    if (grid.cluster_memory && grid.kind.is_plain()) return memory->error("a plain grid has no clusters");
  }
  TRY(optional_whole(value, "space", 0, 1ull << 53, grid.space));
  if (const auto placement = value.find("placement")) TRY(read_placement(*placement, grid));
  TRY(optional_whole(value, "work_kind", 0, UINT32_MAX, grid.work_kind));
  TRY_ASSIGN(const JsonValue duration, value.member("duration"));
  TRY_ASSIGN(grid.durations, read_durations(duration));
  if (const auto grows = value.find("grows")) TRY(read_growths(*grows, grid));
  return grid;
}

Result<void> read_arrivals(const JsonValue& value, Generator& generator) {
  TRY(value.has_only({"poisson", "every"}));
  const auto poisson = value.find("poisson"), every = value.find("every");
  if (!!poisson + !!every != 1) return value.error("must have one of poisson, every");
  generator.poisson = poisson.has_value();
  TRY_ASSIGN(generator.interval, (poisson ? *poisson : *every).whole(poisson ? 1 : 0, kMostTime));
  return {};
}

Result<Generator> read_generator(const JsonValue& value) {
  TRY(value.has_only({"name", "seed", "start", "count", "arrivals", "mix"}));
  Generator generator;
  if (const auto name = value.find("name")) {
    TRY_ASSIGN(generator.name, name->text());
  }
  TRY(optional_whole(value, "seed", 0, ~0ull, generator.seed));
  TRY(optional_whole(value, "start", 0, kMostTime, generator.start));
  TRY_ASSIGN(const JsonValue count, value.member("count"));
  TRY_ASSIGN(generator.count, count.whole(1, kMostGrids));
  TRY_ASSIGN(const JsonValue arrivals, value.member("arrivals"));
  TRY(read_arrivals(arrivals, generator));
  TRY_ASSIGN(const JsonValue mix, value.member("mix"));
  TRY_ASSIGN(const std::vector<JsonValue> parts, mix.elements(1, 1000));
  for (const JsonValue& part : parts) {
    TRY(part.has_only({"weight", "grid"}));
    Generator::Part& read = generator.mix.emplace_back();
    TRY(optional_whole(part, "weight", 1, 1'000'000, read.weight));
    TRY_ASSIGN(const JsonValue grid, part.member("grid"));
    TRY_ASSIGN(read.grid, read_grid(grid, false));
  }
  return generator;
}

Result<void> read_generators(const JsonValue& value, Load& load) {
  TRY_ASSIGN(const std::vector<JsonValue> list, value.elements(0, 1000));
  for (const JsonValue& item : list) {
    TRY_ASSIGN(const Generator generator, read_generator(item));
    if (load.grids.size() + generator.count > kMostGrids)
      return item.error(fmt::format("a load has at most {} grids", kMostGrids));
    if (!generate(generator, load.grids))
      return item.error(fmt::format("its last grid arrives after {}", kMostTime));
  }
  return {};
}

/// Grids that arrive together stay in the file's order.
void sort_by_arrival(std::vector<LoadGrid>& grids) {
  std::vector<std::pair<std::uint64_t, std::size_t>> order;
  for (std::size_t i = 0; i < grids.size(); ++i) order.emplace_back(grids[i].arrival, i);
  if (std::is_sorted(order.begin(), order.end())) return;
  std::sort(order.begin(), order.end());
  std::vector<LoadGrid> sorted;
  sorted.reserve(grids.size());
  for (const auto& [arrival, i] : order) sorted.push_back(std::move(grids[i]));
  grids = std::move(sorted);
}

Result<Load> read_load(const JsonValue& root) {
  TRY(root.has_only({"raddle", "version", "unit", "flush", "grids", "generators"}));
  TRY_ASSIGN(const JsonValue marker, root.member("raddle"));
  TRY_ASSIGN(const std::string what, marker.text());
  if (what != "load") return marker.error(fmt::format("is '{}', must be 'load'", what));
  TRY_ASSIGN(const JsonValue version, root.member("version"));
  TRY(version.whole(1, 1));
  Load load;
  if (const auto unit = root.find("unit")) {
    TRY_ASSIGN(load.unit, unit->text());
  }
  TRY(optional_whole(root, "flush", 0, kMostTime, load.flush));
  if (const auto grids = root.find("grids")) {
    TRY_ASSIGN(const std::vector<JsonValue> list, grids->elements(0, kMostGrids));
    for (const JsonValue& item : list) {
      TRY_ASSIGN(LoadGrid grid, read_grid(item, true));
      load.grids.push_back(std::move(grid));
    }
  }
  if (const auto generators = root.find("generators")) TRY(read_generators(*generators, load));
  if (load.grids.empty()) return root.error("has no grids");
  sort_by_arrival(load.grids);
  return load;
}

}  // namespace

Result<Load> parse_load(std::string_view text, const std::string& name) {
  TRY_ASSIGN(const nlohmann::json document, parse_json(text, name));
  Result<Load> load = read_load(JsonValue(document));
  if (!load) load.error().message.insert(0, name + ": ");
  return load;
}

}  // namespace raddle::distribute
