// Lanes that go the same way together: a second form of a kernel for as long as all lanes of one or more
// warps of a block take the same way at each branch. It needs no masks, and each instruction is written
// once for each of the warps, one behind the other: so they walk memory side by side, more loads are under
// way, and what is equal for all of them is computed, or loaded, once. Where lanes part, each warp goes on
// by itself in the form by lanes (docs/adr/0099).
#pragma once

#include "jit/function_plan.h"

namespace raddle::jit {

/// How many warps of a kernel are worth running together, and fit the host's registers: a power of two; 0
/// where nothing is gained.
/// @param together  for as many as the block's shape allows
/// @param vector_registers  of the host
unsigned worth_running_together(const FunctionPlan& together, unsigned vector_registers);

/// Whether a kernel has such a form: nothing in it waits for memory, or for other lanes but at barriers and
/// in collectives, and what it holds in registers can be handed over.
bool may_run_together(const FunctionPlan& alone, const FunctionPlan& together);

/// Whether a loop that nothing loops within only reads memory, which lies side by side for a warp's lanes and
/// which a warp walks in steps that only the launch knows.
/// @param loop  index in order.loops
bool walks_by_launch(const FunctionPlan& together, std::uint32_t loop);

/// Plain loads and stores: weak, no operation on what is there.
bool is_plain_access(const ptx::Instruction& i);

}  // namespace raddle::jit
