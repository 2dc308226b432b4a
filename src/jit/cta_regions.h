// How a worker runs a CTA whose kernel's kind is regions.
#pragma once

#include <algorithm>

#include "jit/executable.h"

namespace raddle::jit {

/// The code of a kernel: from the first of the warps that run, their frames and state, to their next state.
using RegionEntry = std::uint32_t(exec::WarpContext*, std::byte*, std::uint32_t);

/// State of a warp that has not begun.
inline constexpr std::uint32_t kNotBegun = ~0u;

/// What the warps of one CTA keep between regions. Taken from a list per worker thread: a block that is
/// preempted keeps its own, and after the first launch nothing is allocated. A faulted block's memory is not
/// returned.
struct RegionMemory {
  std::byte* bytes = nullptr;
  std::size_t size = 0;
};
RegionMemory take_region_memory(std::size_t size);
void return_region_memory(RegionMemory memory);

/// More than one fiber takes warps from it once some of them were suspended.
struct JitExecutable::Regions {
  exec::WarpContext warps[exec::kMaxWarps];  // at the begin: any of them leads here
  std::uint32_t states[exec::kMaxWarps];     // where each goes on, 0: nowhere, it has ended
  std::byte* frames;
  unsigned next;          // warp to be taken next, in this region
  unsigned over;          // warps that are at the region's end, or have ended
  std::uint32_t come_to;  // all of their states in one word; 0: all warps have ended
};

inline std::size_t JitExecutable::frame_size() const {
  constexpr std::uint32_t kSmallest = 64;  // bytes
  return std::max(frame_bytes, kSmallest);
}

}  // namespace raddle::jit
