// Threads one by one: another form of a kernel, in which the threads of a warp run one behind the other, each
// to its end, as scalars. Where lanes walk memory each by itself, and leave their loops one after the other,
// the host gathers for lanes that have left as slowly as for all (docs/adr/0109).
#pragma once

#include "jit/function_plan.h"

namespace raddle::jit {

/// Whether a kernel has such a form: a thread of it needs no other to go on, and what is not promised to be
/// seen at once by others may be seen late.
bool may_run_one_by_one(const FunctionPlan& by_lanes);

/// Whether it is faster than vectors, by a rough count of what a warp's turn of each loop costs in either.
bool worth_running_one_by_one(const FunctionPlan& by_lanes);

}  // namespace raddle::jit
