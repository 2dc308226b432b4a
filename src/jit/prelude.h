// The part of a kernel before anything that others could see: it only reads memory and computes. CTAs that a
// worker runs one behind the other may go through it side by side, one turn of a loop each: so memory that a
// CTA reads in steps as wide as the grid is read in the order in which it lies (docs/adr/0126). What a CTA
// has read so far waits in its warps' frames until its time comes; should it come elsewhere, nobody missed
// it.
#pragma once

#include <optional>
#include <vector>

#include "jit/function_plan.h"

namespace raddle::jit {

/// Blocks of a kernel's form together (together.h).
struct Prelude {
  std::vector<bool> is_in;    ///< by block
  std::vector<bool> is_turn;  ///< by block: within it, header of a loop, where each CTA takes a turn
  std::vector<bool> is_end;   ///< by block: first behind it

  /// A warp may stop on its way from one block to the other, and go on later.
  bool may_pause(BlockId from, BlockId to) const { return is_in[from] && (is_turn[to] || is_end[to]); }
};

/// Nothing where there is none, or where nothing is gained: a prelude has loops, and each of them walks
/// memory in steps as wide as the grid.
std::optional<Prelude> find_prelude(const FunctionPlan& together);

}  // namespace raddle::jit
