// Loops that may wait for another thread: whose exit depends on memory that someone else writes (K-5, K-10).
#pragma once

#include "ptx/cfg.h"

namespace raddle::ptx {

/// True for a read that other threads answer: atomics, and loads with volatile, relaxed, acquire or mmio
/// semantics or past the first-level cache (.cg, .cv). Decided by effects and modifiers.
bool is_waiting_read(const Instruction& instruction);

/// The blocks of a loop, from a back edge: those that reach its source without passing its header.
struct Loop {
  BlockId header = kNone;
  std::vector<BlockId> body;  ///< header included, ascending
};
/// One per retreating edge of a depth-first walk. An entry into the middle makes the body larger, never
/// smaller.
std::vector<Loop> find_loops(const Cfg& cfg);

/// True if leaving the loop depends on a waiting read inside it, through registers or through branches.
/// @param call_waits  what to assume of a call in the loop: that its callee holds a waiting read
bool may_wait(const Function& function, const Cfg& cfg, const Loop& loop, bool call_waits);

}  // namespace raddle::ptx
