#include <fmt/format.h>

#include <cmath>

#include "base/file.h"
#include "base/json.h"
#include "graph/resources/ranges.h"
#include "raddle/graph/feedback.h"

namespace raddle::graph {
namespace {

/// FNV-1a: the same in every run, since keys are kept in files.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char each : text) value_ = (value_ ^ static_cast<unsigned char>(each)) * kPrime;
    add(std::uint64_t{text.size()});
  }
  void add(std::uint64_t number) {
    value_ = (value_ ^ number) * kPrime;
    value_ ^= value_ >> 29;
  }
  std::uint64_t value() const { return value_; }

 private:
  static constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t value_ = 0xcbf29ce484222325;
};

const SourceLine& place_of(const PassInfo& pass) {
  return pass.definition.line != 0 ? pass.definition : pass.line;
}

/// The numbers that say how large a pass is.
template <class Function>
void each_extent(const Graph& graph, const PassInfo& pass, Function&& function) {
  for (const Access& access : pass.accesses) {
    const ResourceInfo& info = graph.info(access.view.resource);
    function(info.is_image ? view_bytes(info, access.view) : resolved(info, access.view).bytes);
  }
  for (const Command& command : pass.commands) {
    const auto* dispatch = std::get_if<Dispatch>(&command);
    if (dispatch == nullptr) continue;
    const LaunchConfig& config = dispatch->config;
    for (const Dim3& extent : {config.launched(), config.block})
      for (const std::uint32_t each : {extent.x, extent.y, extent.z}) function(each);
    function(config.shared_bytes);
  }
}

constexpr double kWeight = 0.25;  // of a new measurement in a mean

void blend(double& mean, double value, bool is_first) {
  mean = is_first ? value : mean + kWeight * (value - mean);
}

}  // namespace

std::uint64_t History::key(const Graph& graph, const PassInfo& pass) {
  Hash hash;
  hash.add(pass.name);
  hash.add(std::string_view(place_of(pass).file));
  hash.add(std::uint64_t{place_of(pass).line});
  for (const Command& command : pass.commands) hash.add(std::uint64_t{command.index()});
  each_extent(graph, pass, [&](std::uint64_t extent) { hash.add(extent); });
  return hash.value();
}

std::string History::describe(const Graph& graph, const PassInfo& pass) {
  std::string text = fmt::format("{} ({})", pass.name, place_of(pass).text());
  each_extent(graph, pass, [&](std::uint64_t extent) { text += fmt::format(" {}", extent); });
  return text;
}

void History::record(std::uint64_t key, const std::string& what, const Measurement& measurement) {
  std::lock_guard lock(mutex_);
  Estimate& estimate = estimates_[key];
  const bool is_first = estimate.runs == 0;
  const double before = estimate.nanoseconds;
  if (is_first) estimate.what = what;
  blend(estimate.nanoseconds, measurement.nanoseconds, is_first);
  estimate.occupancy = std::max(estimate.occupancy, measurement.occupancy);
  blend(estimate.bytes_per_nanosecond, measurement.bytes_per_nanosecond, is_first);
  ++estimate.runs;
  best_bandwidth_ = std::max(best_bandwidth_, measurement.bytes_per_nanosecond);
  if (is_first || std::abs(estimate.nanoseconds - before) > before / 8) ++changes_;
}

void History::record(const RunScore& score) {
  std::lock_guard lock(mutex_);
  const bool is_first = !busy_;
  if (is_first) busy_.emplace();
  for (unsigned kind = 0; kind < Needs::kCount; ++kind) blend((*busy_)[kind], score.busy[kind], is_first);
}

std::optional<BusyShares> History::busy() const {
  std::lock_guard lock(mutex_);
  return busy_;
}

std::optional<Estimate> History::find(std::uint64_t key) const {
  std::lock_guard lock(mutex_);
  const auto found = estimates_.find(key);
  if (found == estimates_.end()) return std::nullopt;
  return found->second;
}

std::size_t History::size() const {
  std::lock_guard lock(mutex_);
  return estimates_.size();
}

std::uint64_t History::changes() const {
  std::lock_guard lock(mutex_);
  return changes_;
}

double History::best_bandwidth() const {
  std::lock_guard lock(mutex_);
  return best_bandwidth_;
}

Result<void> History::save(const std::string& path) const {
  nlohmann::ordered_json passes = nlohmann::ordered_json::array(), busy = nlohmann::ordered_json::object();
  {
    std::lock_guard lock(mutex_);
    for (const auto& [key, estimate] : estimates_)
      passes.push_back({{"key", fmt::format("{:016x}", key)},
                        {"what", estimate.what},
                        {"runs", estimate.runs},
                        {"nanoseconds", estimate.nanoseconds},
                        {"occupancy", estimate.occupancy},
                        {"bytes_per_nanosecond", estimate.bytes_per_nanosecond}});
    for (unsigned kind = 0; busy_ && kind < Needs::kCount; ++kind) busy[need_name(kind)] = (*busy_)[kind];
  }
  const nlohmann::ordered_json document = {{"version", 1}, {"passes", passes}, {"busy", busy}};
  return write_file(path,
                    document.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

namespace {
Result<std::pair<std::uint64_t, Estimate>> read_estimate(const JsonValue& value) {
  TRY(value.has_only({"key", "what", "runs", "nanoseconds", "occupancy", "bytes_per_nanosecond"}));
  std::pair<std::uint64_t, Estimate> result;
  auto& [key, estimate] = result;
  TRY_ASSIGN(const JsonValue key_value, value.member("key"));
  TRY_ASSIGN(const std::string text, key_value.text());
  if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return key_value.error("no key of 16 hexadecimal digits");
  key = std::strtoull(text.c_str(), nullptr, 16);
  TRY_ASSIGN(const JsonValue what, value.member("what"));
  TRY_ASSIGN(estimate.what, what.text());
  TRY_ASSIGN(const JsonValue runs, value.member("runs"));
  TRY_ASSIGN(estimate.runs, runs.whole(1, ~0ull >> 1));
  const std::pair<const char*, double*> numbers[] = {
      {"nanoseconds", &estimate.nanoseconds},
      {"occupancy", &estimate.occupancy},
      {"bytes_per_nanosecond", &estimate.bytes_per_nanosecond}};
  for (const auto& [name, number] : numbers) {
    TRY_ASSIGN(const JsonValue member, value.member(name));
    TRY_ASSIGN(*number, member.number(0, 1e18));
  }
  return result;
}

/// @returns none: no graph has run
Result<std::optional<BusyShares>> read_busy(const JsonValue& root) {
  const std::optional<JsonValue> value = root.find("busy");
  if (!value || value->raw().empty()) return std::optional<BusyShares>();
  std::vector<std::string_view> names;
  for (unsigned kind = 0; kind < Needs::kCount; ++kind) names.push_back(need_name(kind));
  TRY(value->has_only(names));
  BusyShares busy{};
  for (unsigned kind = 0; kind < Needs::kCount; ++kind) {
    TRY_ASSIGN(const JsonValue member, value->member(names[kind]));
    TRY_ASSIGN(busy[kind], member.number(0, 1));
  }
  return std::optional(busy);
}
}  // namespace

Result<void> History::load(const std::string& path) {
  TRY_ASSIGN(const std::string text, read_file(path));
  TRY_ASSIGN(const nlohmann::json document, parse_json(text, path));
  const JsonValue root(document);
  TRY(root.has_only({"version", "passes", "busy"}));
  TRY_ASSIGN(const JsonValue version, root.member("version"));
  TRY(version.whole(1, 1));
  TRY_ASSIGN(const JsonValue passes, root.member("passes"));
  TRY_ASSIGN(const std::vector<JsonValue> elements, passes.elements(0, 1 << 24));
  std::vector<std::pair<std::uint64_t, Estimate>> estimates;
  for (const JsonValue& element : elements) {
    TRY_ASSIGN(auto estimate, read_estimate(element));
    estimates.push_back(std::move(estimate));
  }
  TRY_ASSIGN(const std::optional<BusyShares> busy, read_busy(root));
  std::lock_guard lock(mutex_);
  if (busy) busy_ = busy;
  for (auto& [key, estimate] : estimates) {
    best_bandwidth_ = std::max(best_bandwidth_, estimate.bytes_per_nanosecond);
    estimates_.insert_or_assign(key, std::move(estimate));
  }
  ++changes_;
  return {};
}

}  // namespace raddle::graph
