// How people name ContextMode.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "raddle/contexts.h"

namespace raddle::machine {

std::string_view name_of(ContextMode mode);

/// "queued", "concurrent"; "": none. @errors not_found: names them
Result<std::optional<ContextMode>> parse_contexts(std::string_view text);

}  // namespace raddle::machine
