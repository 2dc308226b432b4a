// Cuts a failing program down to the statements that matter.
#pragma once

#include <functional>

#include "diff/program.h"

namespace raddle::diff {

/// A smaller program that still fails: runs of statements are dropped, then structures replaced by their
/// parts, until nothing more can go. The result fails when `program` does.
/// @param fails  true if the program still shows the difference; called some hundred times
Program shrink(Program program, const std::function<bool(const Program&)>& fails);

}  // namespace raddle::diff
