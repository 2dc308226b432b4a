// Calls replaced by what they call.
#pragma once

#include <functional>

#include "ptx/module.h"

namespace raddle::ptx {

/// Puts the bodies of functions in the place of their calls, in a kernel and all that it calls.
/// @param wanted  whether a function's calls are to be replaced; asked once for each, after it was done for
///                its own calls
/// @returns whether none of the wanted ones is left: calls of itself and through pointers stay, and so does
///          what would make a function larger than any that people write
bool inline_calls(Module& module, FunctionId kernel, const std::function<bool(FunctionId)>& wanted);

}  // namespace raddle::ptx
