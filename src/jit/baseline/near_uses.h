// What is read in one place only is made there: loads, and what needs no more registers than its result does.
// LLVM's order keeps whatever a program loads first in registers for as long, and there are not that many.
#pragma once

#include <llvm/IR/Function.h>

namespace raddle::jit::baseline {

/// Moves instructions down within their blocks, next to the first of those that read them. Loads pass nothing
/// that may write.
void move_near_uses(llvm::Function& function);

}  // namespace raddle::jit::baseline
