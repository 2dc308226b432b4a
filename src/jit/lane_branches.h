// Scatters of hosts that have no instruction for them: one store behind the other where all lanes take
// part, else a loop over those that do. LLVM makes a branch and a store for each lane, and begins behind each
// at the function's start again: of attention's code, which has a thousand, a third of the time it took.
#pragma once

#include <llvm/IR/Module.h>

namespace raddle::jit {

/// Of all scatters whose masks are not constant; LLVM makes stores alone of the others.
void branch_per_lane(llvm::Module& module);

}  // namespace raddle::jit
