// Logic of clusters on exec::ClusterContext: the barrier of a cluster's CTAs (PTX barrier.cluster), and what
// addresses of other CTAs' shared memory mean. Pure bookkeeping, no waiting: the machine's services put warps
// to sleep, both engines ask about addresses. Where an address leads: routing.h.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "exec/abi.h"
#include "exec/window.h"

namespace raddle::exec {

// ---- the barrier ----
//
// A CTA's threads are counted in its CtaContext, which one host thread owns; the CTA arrives at the cluster
// when all of its live threads have. ClusterContext::barrier packs, for all CTAs: phases completed, CTAs that
// have arrived in this phase, members that have not left. Members are the CTAs, so no phase completes before
// each was launched (W-18), and none waits for those that exited; and each CTA's place in its SM's tables
// (routing.h), which leaves when it is there.
//
// A lane need only remember the parity of the phase it arrived in. While it has arrived and not exited, the
// barrier is in that phase or in the next one: the next cannot complete without this lane, which arrives
// there only after it has waited.

/// Of ClusterContext::barrier: phases completed.
inline constexpr std::uint64_t kClusterPhaseBits = 0xffff'ffff'0000'0000;

/// CTAs per phase, unpacked.
struct ClusterPhase {
  std::uint32_t number = 0;   ///< phases completed
  std::uint32_t arrived = 0;  ///< CTAs in this phase
  std::uint32_t left = 0;     ///< members that have not left

  static ClusterPhase unpack(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word >> 16 & 0xffff),
            static_cast<std::uint32_t>(word & 0xffff)};
  }
  std::uint64_t pack() const { return std::uint64_t{number} << 32 | arrived << 16 | left; }
  /// Ends the phase if every member that is left has arrived.
  void complete_if_all() {
    if (arrived == 0 || arrived != left) return;
    arrived = 0;
    ++number;
  }
};

/// What `barrier` holds when a cluster is launched, none of whose CTAs the tables have.
constexpr std::uint64_t cluster_barrier_start(std::uint32_t ctas) { return 2 * ctas; }

inline std::uint32_t phases_completed(const ClusterContext& cluster) {
  return ClusterPhase::unpack(cluster.barrier->load(std::memory_order_acquire)).number;
}

/// Applies `change` to the barrier; orders what CTAs did before it before what they do after the phase.
template <class Change>
void change_cluster_barrier(ClusterContext& cluster, Change change) {
  std::uint64_t seen = cluster.barrier->load(std::memory_order_relaxed), wanted;
  do {
    ClusterPhase phase = ClusterPhase::unpack(seen);
    change(phase);
    phase.complete_if_all();
    wanted = phase.pack();
  } while (!cluster.barrier->compare_exchange_weak(seen, wanted, std::memory_order_acq_rel,
                                                   std::memory_order_relaxed));
}

/// The CTA arrives once all its live threads have.
inline void arrive_if_all(CtaContext& cta) {
  if (cta.cluster_arrived == 0 || cta.cluster_arrived != cta.live_threads) return;
  cta.cluster_arrived = 0;
  ++cta.cluster_phase;
  change_cluster_barrier(*cta.cluster, [](ClusterPhase& phase) { ++phase.arrived; });
}

/// barrier.cluster.arrive. None of the lanes may have joined a phase that it has not waited for.
inline void arrive_at_cluster(WarpContext& warp, std::uint32_t lanes) {
  CtaContext& cta = *warp.cta;
  warp.cluster_joined |= lanes;
  warp.cluster_parity =
      (cta.cluster_phase & 1) != 0 ? warp.cluster_parity | lanes : warp.cluster_parity & ~lanes;
  cta.cluster_arrived += static_cast<std::uint32_t>(std::popcount(lanes));
  arrive_if_all(cta);
}

/// barrier.cluster.wait: lanes that still wait if `phase` phases are over.
inline std::uint32_t waiting_for_phase(const WarpContext& warp, std::uint32_t lanes, std::uint32_t phase) {
  const std::uint32_t odd = (phase & 1) != 0 ? ~0u : 0;
  return lanes & warp.cluster_joined & ~(warp.cluster_parity ^ odd);
}

/// The lanes that still wait now; the others have waited.
inline std::uint32_t wait_for_cluster(WarpContext& warp, std::uint32_t lanes) {
  const std::uint32_t waiting = waiting_for_phase(warp, lanes, phases_completed(*warp.cta->cluster));
  warp.cluster_joined &= ~lanes | waiting;
  return waiting;
}

/// Why an operation is an illegal_barrier fault.
inline constexpr const char* kArrivedTwice =
    "barrier.cluster.arrive again before barrier.cluster.wait for the phase before";
inline constexpr const char* kNotArrived = "barrier.cluster.wait without barrier.cluster.arrive before it";

/// Lanes exit: stops counting those that have arrived in a phase in which the CTA has not arrived yet.
/// Call arrive_if_all() when CtaContext::live_threads has fallen too.
inline void forget_exiting(WarpContext& warp, std::uint32_t lanes) {
  CtaContext& cta = *warp.cta;
  cta.cluster_arrived -=
      static_cast<std::uint32_t>(std::popcount(waiting_for_phase(warp, lanes, cta.cluster_phase)));
  warp.cluster_joined &= ~lanes;
}

/// So many CTAs are in the tables of their SMs.
inline void tables_are_in_place(ClusterContext& cluster, std::uint32_t ctas) {
  change_cluster_barrier(cluster, [&](ClusterPhase& phase) { phase.left -= ctas; });
}

/// A CTA exits: nobody waits for it.
inline void leave_cluster(CtaContext& cta) {
  change_cluster_barrier(*cta.cluster, [&](ClusterPhase& phase) {
    if (phase.number != cta.cluster_phase) --phase.arrived;  // it has arrived in this phase
    --phase.left;
  });
}

// ---- addresses ----

/// The CTA of a cluster's shared address: its bits above the 16 MiB of a rank.
constexpr std::uint32_t kRankShift = 24;
constexpr std::uint32_t rank_of(std::uint64_t shared_address) {
  return static_cast<std::uint32_t>(shared_address >> kRankShift);
}
constexpr std::uint32_t offset_of(std::uint64_t shared_address) {
  return static_cast<std::uint32_t>(shared_address & (kSharedWindow - 1));
}
/// mapa: the address in another CTA. A rank that no cluster can have stays one that none has, and the address
/// within kWindowReach.
constexpr std::uint32_t kNoRank = 0x7f;
constexpr std::uint32_t map_to_rank(std::uint64_t shared_address, std::uint32_t rank) {
  return std::min(rank, kNoRank) << kRankShift | offset_of(shared_address);
}

/// Host address of the CTA's own shared memory, offset 0.
inline std::byte* own_memory(const CtaContext& cta) {
  return cta.shared + (std::uint64_t{cta.cluster_rank} << kRankShift);
}

/// So far from the start of a window a generic address is a cluster's, or none of anybody's.
constexpr std::uint64_t kWindowReach = 1ull << 31;

inline bool is_in_window(const CtaContext& cta, std::uint64_t generic) {
  return generic - reinterpret_cast<std::uint64_t>(cta.shared) < kWindowReach;
}

/// The shared address of a generic one. @returns nothing where no shared address lies
inline std::optional<std::uint32_t> shared_address_of(const CtaContext& cta, std::uint64_t generic) {
  const std::uint64_t distance = generic - reinterpret_cast<std::uint64_t>(cta.shared);
  if (distance != shared_distance(distance)) return {};
  return static_cast<std::uint32_t>(distance);
}

}  // namespace raddle::exec
