// Logic of named barriers (PTX bar/barrier) on exec::Barrier: pure bookkeeping in threads, no waiting.
// The machine's services call it and put warps to sleep or wake them; see machine/sm/warps.cpp.
#pragma once

#include <bit>
#include <cstdint>

#include "exec/abi.h"

namespace raddle::exec {

/// Threads that one arrival stands for.
struct Arrival {
  std::uint32_t threads = 0;     ///< expected by the instruction; 0: all live threads of the CTA
  std::uint32_t lanes = 0;       ///< mask of arriving lanes
  std::uint32_t predicates = 0;  ///< bar.red: mask of lanes whose predicate holds
};

/// Ends the phase: the next arrival starts a new one.
inline void complete_phase(Barrier& barrier) {
  barrier.result_count = barrier.predicate_count;
  barrier.result_arrived = barrier.arrived;
  barrier.arrived = barrier.expected = barrier.predicate_count = 0;
  ++barrier.generation;
}

/// Counts an arrival.
/// @param live_lanes    lanes of the arriving warp that have not exited
/// @param live_threads  threads of the CTA that have not exited
/// @returns true when this arrival completed the phase
/// @source PTX ISA "bar, barrier": an aligned barrier counts whole warps, so a warp that arrives with all of
///         its live lanes stands for 32 threads of an explicit count; a part of a warp (barrier.sync in
///         divergent code) for its lanes.
inline bool arrive(Barrier& barrier, const Arrival& arrival, std::uint32_t live_lanes,
                   std::uint32_t live_threads) {
  if (barrier.arrived == 0) barrier.expected = arrival.threads;
  const auto count = static_cast<std::uint32_t>(std::popcount(arrival.lanes));
  barrier.arrived += count;
  barrier.predicate_count += static_cast<std::uint32_t>(std::popcount(arrival.predicates & arrival.lanes));
  if (barrier.expected == 0) {
    if (barrier.arrived < live_threads) return false;
  } else {
    // The lanes that a whole warp lacks will never come: expect fewer threads, so that `arrived` stays the
    // true number of threads.
    if (arrival.lanes == live_lanes) {
      const std::uint32_t missing = kWarpSize - count;
      barrier.expected = barrier.expected > missing ? barrier.expected - missing : 1;
    }
    if (barrier.arrived < barrier.expected) return false;
  }
  complete_phase(barrier);
  return true;
}

/// After threads exited: completes a phase that waits for all live threads and now has them (K-6).
inline bool complete_after_exit(Barrier& barrier, std::uint32_t live_threads) {
  if (barrier.arrived == 0 || barrier.expected != 0 || barrier.arrived < live_threads) return false;
  complete_phase(barrier);
  return true;
}

/// When nothing else of the CTA can run: completes a phase with an explicit count that only lacks exited
/// threads (K-6).
inline bool complete_counting_exited(Barrier& barrier, std::uint32_t exited_threads) {
  if (barrier.arrived == 0 || barrier.expected == 0 || barrier.arrived + exited_threads < barrier.expected)
    return false;
  complete_phase(barrier);
  return true;
}

}  // namespace raddle::exec
