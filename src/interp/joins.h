// Where the sides of a divergent branch meet again: the immediate post-dominator of its block.
#pragma once

#include "interp/code.h"

namespace raddle::interp {
/// Sets InstructionCode::join and is_join. Only a hint to the scheduler: results never depend on it.
void place_joins(FunctionCode& code);
}  // namespace raddle::interp
