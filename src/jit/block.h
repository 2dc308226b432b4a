// The function around the warps of a block, for those kinds that do not run each on a fiber of its own.
#pragma once

#include <llvm/IR/Module.h>

#include "jit/line_table.h"

namespace raddle::jit {

inline constexpr const char* kRegionName = "region";

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

/// Other regions: adds `void region(ptr cta, ptr regions)` (JitExecutable::Regions), which takes the warps that
/// are left to take, one after the other, and runs each to its next barrier or its end.
void emit_region_loop(llvm::Module& llvm, DebugLines& debug, const WarpFunctions& kernel);
/// Puts the warp's code into that loop, behind all passes: these take what a warp begins with for straight code,
/// and a loop around everything would have them hold for all warps what one of them needs now and then.
void join_region_loop(llvm::Module& module);

/// An empty function that code outside calls.
llvm::Function* function_around(llvm::Module& llvm, DebugLines& debug, const char* name,
                                llvm::FunctionType* type);
/// Nobody but the functions around it calls this one.
void keep_inside(llvm::Function* function, llvm::Attribute::AttrKind inlining);

}  // namespace raddle::jit
