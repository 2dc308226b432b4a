// Products of a warp that compiled code makes together: mmas of one spelling behind each other, at the last
// of them (matrix_run.h), loads of other matrices between them or not. Nobody can see the difference: until
// then nothing reads or writes their matrices.
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

/// An mma of the block before this run has multiplied by the same B in the same spelling, and since then
/// nothing has changed B or left the code.
/// @param first  the run's first
/// @param mma    of the run, whose B it is
const ptx::Instruction* earlier_with_b(const ptx::Function& function, const ptx::Block& block,
                                       const ptx::Instruction& first, const ptx::Instruction& mma);

/// A load that may be made earlier or later: of memory that only barriers give other contents, unguarded.
bool is_plain_load(const ptx::Instruction& instruction);

}  // namespace raddle::jit
