// What decides a branch. `if (x >= width || y >= height) return` is to nvcc one branch by `or.pred`. Where
// lanes have different x and one y, what y says is a scalar, which may decide for all of them; only if it
// does not, lanes go by the rest, which in turn is often the same for all warps of a block.
#pragma once

#include <optional>
#include <vector>

#include "jit/function_plan.h"

namespace raddle::jit {

/// A guard that is an `or.pred` or `and.pred`, or several, of predicates.
struct BranchParts {
  std::vector<ptx::Operand> uniform, by_lane;  ///< neither is empty
  /// What one of them decides alone: `or` if it holds, `and` if it does not.
  bool any_decides;
};

/// Of the conditional branch that ends the block. Nothing where lanes and scalars do not both take part.
std::optional<BranchParts> parts_of_branch(const FunctionPlan& plan, ptx::BlockId block);

}  // namespace raddle::jit
