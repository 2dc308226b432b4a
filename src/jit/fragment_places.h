// Where matrices lie that live within a block: one lies where another did that nobody reads any more.
// Compilers give each product's sums registers of their own, so that an unrolled loop over tiles has
// thousands.
#pragma once

#include <vector>

#include "jit/function_plan.h"

namespace raddle::jit {

/// A number for each matrix: that of the first one that lies in the same place. All in a place are as large.
/// @param matrices  the registers of each; none is of two
std::vector<std::size_t> fragment_places(const FunctionPlan& plan, const ptx::Function& function,
                                         const std::vector<std::vector<ptx::RegisterId>>& matrices);

}  // namespace raddle::jit
