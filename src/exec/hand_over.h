// Block kinds loops and regions run a CTA's warps one after the other on one fiber. When the machine suspends
// one (in Services::poll or yield), the warps behind it are handed over: another fiber of the CTA runs them,
// by Executable::run_warp with the context of the suspended one. It runs what is behind that warp as far as
// run_block has not begun it, and returns when none is left to begin.
#pragma once

#include "exec/abi.h"

namespace raddle::exec {

/// A warp of these kinds never blocks in barrier_sync, which leaves the word for that to the machine: not 0
/// once the warps behind this one have been handed over. Whoever runs warps in a loop clears it before each
/// and, where the loop's next warp is its own business, ends after one that has it set.
inline constexpr std::size_t kHandedOver = offsetof(WarpContext, wait_barrier);
inline std::uint32_t& handed_over(WarpContext& warp) { return warp.wait_barrier; }

}  // namespace raddle::exec
