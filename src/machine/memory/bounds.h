// Names of what lies behind allocations, as options and environment variables have them.
#pragma once

#include <string_view>

#include "base/result.h"
#include "raddle/bounds.h"

namespace raddle::machine {

/// "exact", "hardware". @errors invalid: says what there is
inline Result<Bounds> parse_bounds(std::string_view text) {
  if (text == "exact") return Bounds::exact;
  if (text == "hardware") return Bounds::hardware;
  return Error::invalid("no bounds '{}'; there are exact, hardware", text);
}

}  // namespace raddle::machine
