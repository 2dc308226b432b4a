#include "cli/launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/argument.h"
#include "machine/shape/machine_shape.h"

namespace raddle::cli {

Result<Dim3> parse_dim3(const std::string& text, const char* what) {
  using Extents = std::array<std::uint32_t, 3>;
  TRY_ASSIGN(Extents extents, parse_extents(text, what));
  return Dim3{extents[0], extents[1], extents[2]};
}

Result<ClusterLevel> parse_cluster_level(const std::string& text) {
  ClusterLevel level;
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) {
    TRY_ASSIGN(level.domain, machine::find_level(std::string_view(text).substr(0, colon)));
  }
  TRY_ASSIGN(const auto extents,
             parse_extents(text.substr(colon == std::string::npos ? 0 : colon + 1), "cluster"));
  std::ranges::copy(extents, level.extent);
  return level;
}

Result<void> parse_clusters(const std::vector<std::string>& texts, LaunchConfig& config) {
  config.allow_non_portable_cluster = true;  // the user wrote the number on purpose
  for (const std::string& text : texts) {
    const bool is_named = text.find(':') != std::string::npos;
    TRY_ASSIGN(const ClusterLevel level, parse_cluster_level(text));
    if (!is_named && texts.size() == 1) {
      config.cluster = {level.extent[0], level.extent[1], level.extent[2]};
      return {};
    }
    if (!is_named)
      return Error::invalid("cluster '{}': of several levels each is named, as in gpc:{}", text, text);
    config.clusters.push_back(level);
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
