#include "cli/launch.h"

#include <fmt/format.h>

#include "cli/argument.h"

namespace raddle::cli {

Result<Dim3> parse_dim3(const std::string& text, const char* what) {
  using Extents = std::array<std::uint32_t, 3>;
  TRY_ASSIGN(Extents extents, parse_extents(text, what));
  return Dim3{extents[0], extents[1], extents[2]};
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
