// The function around the warps of a block, for the kind of block that needs no help from the machine.
#pragma once

#include <llvm/IR/Module.h>

#include "jit/line_table.h"

namespace raddle::jit {

/// What a kernel was compiled to.
struct WarpFunctions {
  llvm::Function* by_lanes;
  llvm::Function* together = nullptr;  ///< together.h; null: there is none
  unsigned warps = 1;                  ///< that run together
  std::uint32_t frame_bytes = 0;       ///< of each
  bool goes_on = false;                ///< with the CTAs that follow (exec::Executable::goes_on)
};

/// loops: adds `void block(ptr cta, i32 first)`, which runs all warps of a CTA from `first` on, so that it
/// computes invariant values once; where it goes on, those of the CTAs that follow, too. It ends early after
/// a warp that was suspended (WarpContext::handed_over).
void emit_block_function(llvm::Module& llvm, DebugLines& debug, const WarpFunctions& kernel);

/// regions that warps may run together: adds `i32 region(ptr warp, ptr frame, i32 state)`, which enters the
/// one form or the other, as the state says (kTogether).
void emit_region_function(llvm::Module& llvm, DebugLines& debug, const WarpFunctions& kernel);

}  // namespace raddle::jit
