// From lines of JSON to histories. As strict as the reader of loads: these files are kept, sent, and cut off
// by crashes.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "distribute/history.h"

namespace raddle::distribute {
namespace {

using machine::Decision;
using machine::Level;
constexpr std::uint64_t kMostSms = 1u << 16;
constexpr std::uint64_t kAny = ~0ull;

Result<void> read_whole(const JsonValue& object, std::string_view name, bool needed, std::uint64_t most,
                        auto& to) {
  const auto found = object.find(name);
  if (!found && !needed) return {};
  TRY_ASSIGN(const JsonValue value, object.member(name));
  TRY_ASSIGN(const std::uint64_t number, value.whole(0, most));
  to = static_cast<std::remove_reference_t<decltype(to)>>(number);
  return {};
}

template <class Number>
Result<std::vector<Number>> read_numbers(const JsonValue& object, std::string_view name, std::size_t least,
                                         std::size_t most, std::uint64_t largest) {
  std::vector<Number> numbers;
  const auto found = object.find(name);
  if (!found) return numbers;
  TRY_ASSIGN(const std::vector<JsonValue> list, found->elements(least, most));
  for (const JsonValue& item : list) {
    TRY_ASSIGN(const std::uint64_t number, item.whole(0, largest));
    numbers.push_back(static_cast<Number>(number));
  }
  return numbers;
}

Result<Level> read_recorded_level(const JsonValue& object) {
  TRY_ASSIGN(const JsonValue value, object.member("level"));
  TRY_ASSIGN(const std::string name, value.text());
  const Result<Level> level = machine::find_level(name);
  return level ? level : value.error(level.error().message);
}

Result<void> read_layout(const JsonValue& levels, Layout& layout) {
  for (unsigned level = machine::kLevels; level-- > 0;) {
    const std::string name(machine::level_name(Level(level)));
    TRY_ASSIGN(const JsonValue value, levels.member(name));
    TRY_ASSIGN(layout.sms[level], read_numbers<std::uint32_t>(levels, name, 1, kMostSms, kMostSms));
    std::uint64_t sum = 0;
    for (const std::uint32_t count : layout.sms[level]) sum += count;
    if (sum != layout.sm_count() || layout.sms[level].size() > layout.sm_count())
      return value.error(fmt::format("its domains have {} SMs, the machine has {}", sum, layout.sm_count()));
  }
  return {};
}

Result<History> read_header(const JsonValue& line) {
  TRY(line.has_only({"raddle", "version", "shape", "policy", "unit", "levels"}));
  History history;
  TRY_ASSIGN(const JsonValue what, line.member("raddle"));
  TRY_ASSIGN(const std::string kind, what.text());
  if (kind != "decisions") return what.error(fmt::format("is '{}', must be 'decisions'", kind));
  TRY_ASSIGN(const JsonValue version, line.member("version"));
  TRY(version.whole(1, 1));
  TRY_ASSIGN(const JsonValue shape, line.member("shape"));
  TRY_ASSIGN(history.layout.name, shape.text());
  TRY_ASSIGN(const JsonValue policy, line.member("policy"));
  TRY_ASSIGN(history.policy, policy.text());
  TRY_ASSIGN(const JsonValue unit, line.member("unit"));
  TRY_ASSIGN(history.unit, unit.text());
  TRY_ASSIGN(const JsonValue levels, line.member("levels"));
  TRY(read_layout(levels, history.layout));
  return history;
}

Result<void> read_extent(const JsonValue& object, std::uint32_t* extent) {
  TRY_ASSIGN(const JsonValue value, object.member("extent"));
  TRY_ASSIGN(const std::vector<JsonValue> list, value.elements(3, 3));
  for (unsigned i = 0; i < 3; ++i) {
    TRY_ASSIGN(const std::uint64_t size, list[i].whole(1, 0x7fffffff));
    extent[i] = static_cast<std::uint32_t>(size);
  }
  return {};
}

Result<GridInfo> read_grid(const JsonValue& line) {
  TRY(line.has_only({"grid", "name", "time", "extent", "slots", "clusters", "mode"}));
  GridInfo grid;
  TRY(read_whole(line, "grid", true, kAny, grid.id));
  TRY_ASSIGN(const JsonValue name, line.member("name"));
  TRY_ASSIGN(grid.name, name.text());
  TRY(read_whole(line, "time", true, kAny, grid.arrival));
  TRY(read_extent(line, grid.extent.data()));
  TRY(read_whole(line, "slots", true, UINT32_MAX, grid.slots));
  if (line.find("mode")) grid.kind.mode = machine::DistributionMode::multicast;
  const auto clusters = line.find("clusters");
  if (!clusters) return grid;
  TRY_ASSIGN(const std::vector<JsonValue> list, clusters->elements(1, machine::kLevels));
  double ctas = 1;
  for (const JsonValue& item : list) {
    machine::ClusterLevel& level = grid.kind.levels[grid.kind.depth++];
    TRY_ASSIGN(level.domain, read_recorded_level(item));
    TRY(read_extent(item, level.extent));
    ctas *= static_cast<double>(level.extent[0]) * level.extent[1] * level.extent[2];
    if (ctas > 1e12) return item.error("its clusters have more than 1e12 CTAs");
  }
  return grid;
}

Result<machine::Candidate> read_candidate(const JsonValue& value, const Layout& layout) {
  TRY(value.has_only({"level", "domain", "speed", "load", "chosen"}));
  machine::Candidate candidate;
  TRY_ASSIGN(candidate.level, read_recorded_level(value));
  TRY(read_whole(value, "domain", true, layout.sms[static_cast<unsigned>(candidate.level)].size() - 1,
                 candidate.domain));
  if (value.find("speed")) {
    std::uint32_t speed = 0;
    TRY(read_whole(value, "speed", true, UINT32_MAX, speed));
    candidate.speed = speed;
  }
  TRY(read_whole(value, "load", true, kAny, candidate.load));
  TRY_ASSIGN(const JsonValue chosen, value.member("chosen"));
  TRY_ASSIGN(candidate.chosen, chosen.flag());
  return candidate;
}

Result<Step> read_step(const JsonValue& line, const Layout& layout) {
  TRY(line.has_only({"step", "time", "sequence", "grid", "first", "cluster", "level", "round", "candidates",
                     "sms", "free", "live", "ctas"}));
  Step step;
  Decision& decision = step.decision;
  TRY_ASSIGN(const JsonValue kind, line.member("step"));
  TRY_ASSIGN(const std::string name, kind.text());
  unsigned number = 0;
  while (number < kKinds && kind_name(Decision::Kind(number)) != name) ++number;
  if (number == kKinds) return kind.error(fmt::format("no step is called '{}'", name));
  decision.kind = Decision::Kind(number);
  TRY(read_whole(line, "time", true, kAny, decision.time));
  TRY(read_whole(line, "sequence", true, kAny, decision.sequence));
  TRY(read_whole(line, "grid", true, kAny, decision.grid));
  TRY(read_whole(line, "first", true, kAny, decision.first));
  TRY(read_whole(line, "cluster", true, kAny, decision.cluster));
  TRY(read_whole(line, "level", false, machine::kLevels, decision.level));
  TRY(read_whole(line, "round", false, UINT32_MAX, decision.round));
  if (const auto candidates = line.find("candidates")) {
    TRY_ASSIGN(const std::vector<JsonValue> list, candidates->elements(0, kMostSms));
    for (const JsonValue& item : list) {
      TRY_ASSIGN(const machine::Candidate candidate, read_candidate(item, layout));
      decision.candidates.push_back(candidate);
    }
  }
  const std::uint32_t sms = layout.sm_count();
  TRY_ASSIGN(decision.sms, read_numbers<std::uint32_t>(line, "sms", 0, 1u << 24, sms - 1));
  TRY_ASSIGN(decision.free, read_numbers<std::uint32_t>(line, "free", sms, sms, UINT32_MAX));
  TRY_ASSIGN(decision.live, read_numbers<std::uint32_t>(line, "live", sms, sms, UINT32_MAX));
  TRY_ASSIGN(step.ctas,
             read_numbers<std::uint64_t>(line, "ctas", decision.sms.size(), decision.sms.size(), kAny));
  return step;
}

Result<void> read_line(const JsonValue& line, std::vector<History>& histories) {
  if (line.find("raddle")) {
    TRY_ASSIGN(History history, read_header(line));
    histories.push_back(std::move(history));
    return {};
  }
  if (histories.empty()) return line.error("the first line must say \"raddle\": \"decisions\"");
  History& history = histories.back();
  if (!line.find("step")) {
    TRY_ASSIGN(GridInfo grid, read_grid(line));
    history.grids.push_back(std::move(grid));
    return {};
  }
  TRY_ASSIGN(Step step, read_step(line, history.layout));
  if (history.grid_of(step.decision) == nullptr)
    return line.error(fmt::format("no grid {} has arrived", step.decision.grid));
  history.steps.push_back(std::move(step));
  return {};
}

}  // namespace

Result<std::vector<History>> parse_histories(std::string_view text, const std::string& name) {
  std::vector<History> histories;
  for (unsigned number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    Result<nlohmann::json> document = parse_json(line, name);
    if (!document) {
      document.error().where = {name, number, document.error().where.column};
      return std::move(document.error());
    }
    Result<void> read = read_line(JsonValue(*document), histories);
    if (read) continue;
    read.error().where = {name, number, 0};
    return std::move(read.error());
  }
  if (histories.empty()) return Error{ErrorCode::invalid, "no decisions in it", {name}};
  return histories;
}

}  // namespace raddle::distribute
