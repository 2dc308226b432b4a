// `.entry`, `.func` and `.alias` at module level.
#pragma once

#include "ptx/state.h"

namespace raddle::ptx {

/// The cursor is at `.entry` or `.func`.
bool parse_function(Parser& parser, Linkage linkage);
/// `.alias a, b;`
bool parse_alias(Parser& parser);

}  // namespace raddle::ptx
