// Lanes of one warp that wait for each other. Where lanes may run apart (waiting or irreducible loops, warp
// barriers in divergent code), every `.sync` operation becomes a block of its own at which a group is held
// until the lanes that its member mask names have arrived, or have exited.
#pragma once

#include "jit/function_plan.h"

namespace raddle::jit {

/// True for operations at which lanes wait for other lanes of their warp.
bool holds_lanes(const isa::Opcode& opcode);

/// Among those barrier.cluster.wait and griddepcontrol.wait, at which each lane waits by itself, wherever it
/// is.
bool waits_alone(const ptx::Instruction& instruction);

/// The plan shows that lanes may run apart, so that holding is needed.
bool needs_holds(const FunctionPlan& plan);

/// Which of the operations of warps lanes may be at together. The plan holds; nothing but its function, its
/// graph and its constants is read.
InStep lanes_in_step(const FunctionPlan& plan);

/// Other blocks, of those where lanes may wait while b runs, that start with the operation that b starts
/// with: lanes there and here wait for each other (same operation and members), or are at barriers of the
/// block.
std::vector<BlockId> meeting_places(const FunctionPlan& plan, BlockId b);

/// Some of the lanes held at b may go on while the rest stays.
bool may_leave_some(const FunctionPlan& plan, BlockId b);

/// Lanes that wait while b runs may come to an operation or a call at which they would meet lanes that b
/// calls a function for. Those that only leave may not.
bool may_meet_callee(const FunctionPlan& plan, BlockId b);

/// Lanes of one warp may be at barriers of the block on several paths: their warp must be able to wait.
/// @param plan  as the function is compiled: holding where that is needed
bool barriers_apart(const FunctionPlan& plan);

/// b begins with a barrier of the block at which lanes wait until all that have not left are there: none is
/// elsewhere when b ends.
bool gathers_all(const FunctionPlan& plan, BlockId b);

/// The function with a block boundary before every operation that holds lanes, and behind every barrier of
/// the block, where none is elsewhere; but not within a run of wgmmas, at whose first all lanes were.
ptx::Function split_at_holds(const ptx::Function& function);

}  // namespace raddle::jit
