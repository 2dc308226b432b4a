// Products of a warp that compiled code makes together: mmas of one spelling behind each other, at the last of
// them (matrix_run.h). Nobody can see the difference: until then nothing reads or writes their matrices.
#pragma once

#include <vector>

#include "ptx/module.h"

namespace raddle::jit {

inline constexpr std::size_t kMostProducts = 16;  ///< of a run, so that its function stays short

/// The instruction is an mma that may be one of several: it adds to a D in registers of its own.
bool may_join_run(const ptx::Function& function, const ptx::Instruction& instruction);

/// The run of an mma of this block, in order; the mma alone where it joins no other.
std::vector<const ptx::Instruction*> mma_run(const ptx::Function& function, const ptx::Block& block,
                                             const ptx::Instruction& mma);

}  // namespace raddle::jit
