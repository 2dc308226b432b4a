// How the warps of a block are run: decided from the kernel's code before launch.
#pragma once

#include "exec/executable.h"
#include "jit/codegen.h"
#include "ptx/module.h"

namespace raddle::jit {

struct BlockChoice {
  exec::BlockKind kind = exec::BlockKind::loops;
  bool functions_exit = false;  ///< some device function that the kernel calls ends threads
};

/// The kind that fits the kernel and the functions it calls (K-4, K-5): loops without barriers, regions
/// between plain barriers, fibers for everything else. `part_lanes`: lanes of a SIMD part of the host.
BlockChoice choose_block_kind(const ptx::Module& module, ptx::FunctionId kernel,
                              const ptx::KernelNeeds& needs, LayoutClass layout, unsigned part_lanes);

/// loops: adds `void block(ptr cta, i32 first)`, which runs all warps of a CTA from `first` on, so that what
/// does not change is computed once. It ends early after a warp that was suspended
/// (WarpContext::handed_over).
void emit_block_function(llvm::Module& llvm, DebugLines& debug, llvm::Function* warp_function);

}  // namespace raddle::jit
