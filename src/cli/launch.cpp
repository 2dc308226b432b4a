#include "cli/launch.h"

#include <fmt/format.h>

#include "cli/argument.h"
#include "machine/shape/machine_shape.h"

namespace raddle::cli {

Result<Dim3> parse_dim3(const std::string& text, const char* what) {
  using Extents = std::array<std::uint32_t, 3>;
  TRY_ASSIGN(Extents extents, parse_extents(text, what));
  return Dim3{extents[0], extents[1], extents[2]};
}

namespace {

Result<Level> parse_level(std::string_view name) {
  for (unsigned i = 0; i < machine::kLevels; ++i)
    if (machine::level_name(Level(i)) == name) return Level(i);
  return Error::invalid("no level '{}' of a machine; there are set, gpu, ugpu, gpc, cpc, tpc, sm", name);
}

}  // namespace

Result<void> parse_clusters(const std::vector<std::string>& texts, LaunchConfig& config) {
  config.allow_non_portable_cluster = true;  // who writes the number down wants it
  for (const std::string& text : texts) {
    const std::size_t colon = text.find(':');
    const std::string extents = colon == std::string::npos ? text : text.substr(colon + 1);
    TRY_ASSIGN(const Dim3 blocks, parse_dim3(extents, "cluster"));
    if (colon == std::string::npos && texts.size() == 1) {
      config.cluster = blocks;
      return {};
    }
    if (colon == std::string::npos)
      return Error::invalid("cluster '{}': of several levels each is named, as in gpc:{}", text, extents);
    TRY_ASSIGN(const Level level, parse_level(std::string_view(text).substr(0, colon)));
    config.clusters.push_back({level, {blocks.x, blocks.y, blocks.z}});
  }
  return {};
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} s", seconds);
}

std::string code_origin(const LaunchReport& report) {
  if (report.from_cache) return " (from the code cache)";
  return report.is_quick ? " (quick tier)" : "";
}

}  // namespace raddle::cli
