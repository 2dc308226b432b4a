#include "machine/distributor/placement_mode.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace raddle::machine {
namespace {
constexpr std::string_view kModeNames[] = {"wide", "deep", "auto", "auto_per_task"};  // as PlacementMode
}

std::string_view placement_name(PlacementMode mode) { return kModeNames[static_cast<unsigned>(mode)]; }

Result<PlacementMode> find_placement(std::string_view name) {
  const auto* const found = std::ranges::find(kModeNames, name);
  if (found == std::end(kModeNames))
    return Error::invalid("no placement '{}'; there are {}", name, fmt::join(kModeNames, ", "));
  return PlacementMode(found - kModeNames);
}

Result<std::optional<PlacementMode>> parse_placement(std::string_view text) {
  if (text.empty()) return std::optional<PlacementMode>{};
  TRY_ASSIGN(const PlacementMode mode, find_placement(text));
  return std::optional(mode);
}

}  // namespace raddle::machine
