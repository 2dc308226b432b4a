// Names of the ways of translation, as options and environment variables have them.
#pragma once

#include <string_view>

#include "base/result.h"
#include "raddle/translation.h"

namespace raddle::machine {

/// "direct", "windowed", "modelled"; empty: direct. @errors invalid: says what there is
Result<Translation> parse_translation(std::string_view text);

}  // namespace raddle::machine
