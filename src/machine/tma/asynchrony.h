// When copies land, as text, for command lines and the environment.
#pragma once

#include <string_view>

#include "base/result.h"
#include "raddle/asynchrony.h"

namespace raddle::machine {

/// "eager", "lazy", "random" or "random:SEED"; empty: eager. @errors invalid: says what there is
Result<Asynchrony> parse_asynchrony(std::string_view text);

}  // namespace raddle::machine
