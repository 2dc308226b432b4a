// Atomics of shared memory behind each other that compiled code makes in one loop over lanes, at the last of
// them: addresses that lie in memory by then are read faster, and processors learn better which loads wait
// for which stores. Nobody can see the difference: they make the same of every word in whatever order.
#pragma once

#include <vector>

#include "jit/function_plan.h"

namespace raddle::jit {

inline constexpr std::size_t kMostAtomics = 8;  ///< of a run: each keeps its addresses in memory

/// The run of an atom or red of the plan's block b, in order; the instruction alone where it joins no other.
std::vector<const ptx::Instruction*> atomic_run(const FunctionPlan& plan, BlockId b,
                                                const ptx::Instruction& atomic);

/// What an instruction of block b writes to its destination k is read by somebody.
bool is_read(const FunctionPlan& plan, BlockId b, const ptx::Instruction& instruction, unsigned k);

}  // namespace raddle::jit
