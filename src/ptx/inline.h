// Replaces calls by the bodies of what they call.
#pragma once

#include <functional>

#include "ptx/module.h"

namespace raddle::ptx {

/// Replaces calls in a kernel and in all that it calls.
/// @param wanted  says whether the calls of a function are to be replaced; asked once per function, after the
///                calls inside it were replaced
/// @returns whether no wanted call is left. Recursive calls and calls through pointers stay, and so do calls
///          whose replacement would make a function larger than any that people write
bool inline_calls(Module& module, FunctionId kernel, const std::function<bool(FunctionId)>& wanted);

}  // namespace raddle::ptx
