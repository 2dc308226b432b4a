// Short ways around which lanes branch become instructions with a guard, in kernels whose warps run together
// (together.h): there lanes would part at the branch, and each warp go on by itself up to the next barrier,
// although they only store a sum, or load one where there is one.
#pragma once

#include <optional>

#include "jit/function_plan.h"

namespace raddle::jit {

/// The function with a guard on each instruction of such ways in place of the branch around them; nothing if
/// there are none. A way is a few instructions that compute, or reach the block's own memory.
std::optional<ptx::Function> guard_short_ways(const FunctionPlan& together);

}  // namespace raddle::jit
