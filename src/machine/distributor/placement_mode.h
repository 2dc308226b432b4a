// Names of the placement modes, as options, environment variables and loads have them.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "raddle/placement.h"

namespace raddle::machine {

using raddle::PlacementMode;
using raddle::SmLimit;

std::string_view placement_name(PlacementMode mode);
/// @errors invalid: says what there is
Result<PlacementMode> find_placement(std::string_view name);
/// The same; empty: none.
Result<std::optional<PlacementMode>> parse_placement(std::string_view text);

}  // namespace raddle::machine
