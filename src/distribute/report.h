// Reports of what simulations measured: policies side by side, or JSON.
#pragma once

#include <span>
#include <string>

#include "distribute/outcome.h"

namespace raddle::distribute {

/// The same outcomes give the same text: nothing in it depends on the host.
/// @param unit  of time
std::string report_table(std::span<const Outcome> outcomes, const std::string& unit);
std::string report_json(std::span<const Outcome> outcomes, const std::string& unit);

}  // namespace raddle::distribute
