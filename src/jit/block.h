// The function around the warps of a block, for the kind of block that needs no help from the machine.
#pragma once

#include <llvm/IR/Module.h>

#include "jit/line_table.h"

namespace raddle::jit {

/// loops: adds `void block(ptr cta, i32 first)`, which runs all warps of a CTA from `first` on, so that it
/// computes invariant values once. It ends early after a warp that was suspended (WarpContext::handed_over).
void emit_block_function(llvm::Module& llvm, DebugLines& debug, llvm::Function* warp_function);

}  // namespace raddle::jit
