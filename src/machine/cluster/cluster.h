// A resident cluster as its kernels see it: at most 16 CTAs that share memory and a barrier. It begins when
// the distributor launches it and ends when all its CTAs have exited and are flushed (W-16, W-20). Its CTAs
// may run on several workers.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <vector>

#include "exec/cluster.h"
#include "exec/routing.h"
#include "machine/cluster/window.h"

namespace raddle::machine {

/// What a cluster is launched with. Its innermost level lies in a GPC.
struct ClusterLaunch {
  std::uint32_t ctas = 0, warps_per_cta = 0;
  std::uint32_t shared_bytes = 0;  ///< of each CTA
  std::uint32_t gpc = 0, local_id = 0;
  std::atomic<std::uint64_t>* barrier = nullptr;  ///< the slot of its local id
};

struct Cluster {
  exec::ClusterContext context{};

  /// Prepares for CTAs that the SMs have not heard of.
  void launch(const ClusterLaunch& launch);
  /// An SM is told that it gets the next CTA. With the last one it is known which SM has which: all SMs of
  /// the cluster bring their tables up to date (W-17).
  void hear(std::uint32_t sm, exec::SmPlace place, const exec::ClusterNetwork& network);
  /// The CTA's warps have exited, but not yet the CTA, whose accesses are in flight: nobody finds its memory.
  void release_memory(std::uint32_t rank, const exec::ClusterNetwork& network) {
    close_memory(rank, exec::MemoryState::released, network);
  }
  /// It exits.
  void leave(std::uint32_t rank, const exec::ClusterNetwork& network) {
    close_memory(rank, exec::MemoryState::absent, network);
  }
  /// The CTA is complete: what it has of its SM's tables is free, its flush is pending (W-20).
  void complete(std::uint32_t rank, const exec::ClusterNetwork& network) {
    network.of(seats_[rank].sm).complete_cta(seats_[rank].entry);
    flush_pending_ |= 1u << rank;
  }
  /// All are complete, and the SMs shall flush. An SM answers for a CTA when nothing it sent is in flight.
  /// @param answer  called with the rank @returns whether all have been answered for
  template <class Answer>
  bool flush(const exec::ClusterNetwork& network, Answer answer);
  /// By warp of the CTA: its slot on its SM.
  const std::uint16_t* warp_slots(std::uint32_t rank, const exec::ClusterNetwork& network) const {
    return network.of(seats_[rank].sm).warp_slots(seats_[rank].entry);
  }
  /// The first CTA to start takes a window for all. @param space  whose grid it is: AddressSpace::id()
  /// @returns false if the host has no memory
  bool open(WindowPool& windows, std::uint64_t space);
  /// Gives its window back; none of its CTAs run.
  void close(WindowPool& windows);
  const SharedWindow* window() const { return window_.get(); }
  /// Another one from the moment when the cluster ends.
  std::uint64_t launch_number() const { return launch_number_.load(std::memory_order_acquire); }

  // Deadlock: no warp of any CTA can run, and only the cluster's CTAs change what they wait for. A CTA sees
  // one moment of its own only; all of them are stuck if each has looked at its waits once more after every
  // one had said that it cannot run, and none has run meanwhile.
  /// A CTA that cannot run asks. @param looks  whether it still cannot
  /// @returns whether nobody in the cluster ever will
  template <class Looks>
  bool is_stuck(std::uint32_t rank, Looks looks);
  /// A CTA that was stuck runs again.
  void runs_again() {
    if ((stuck_.load(std::memory_order_relaxed) & kStuckRanks) != 0) new_stuck_round();
  }

 private:
  // stuck_: a number that changes whenever a CTA runs again << 32 | ranks that have looked << 16 | ranks that
  // cannot run.
  static constexpr std::uint64_t kStuckRanks = 0xffff;
  void new_stuck_round();
  void fill_tables(const exec::ClusterNetwork& network);
  void close_memory(std::uint32_t rank, exec::MemoryState state, const exec::ClusterNetwork& network);

  /// What a CTA has of the tables of its SM.
  struct Seat {
    std::uint32_t sm = 0;
    std::uint16_t cluster_slot = 0, entry = 0;
  };
  std::array<Seat, exec::kMaxClusterSize> seats_{};  // by rank
  exec::ClusterPlaces places_;
  std::uint32_t heard_ = 0;  // CTAs of which SMs were told
  std::uint32_t warps_per_cta_ = 0;
  std::uint32_t flush_pending_ = 0;  // mask of ranks

  std::atomic<std::uint64_t> launch_number_{0};
  std::atomic<std::uint64_t> stuck_{0};
  std::mutex mutex_;  // of open: CTAs of one cluster start on several workers
  std::unique_ptr<SharedWindow> window_;
  std::atomic<bool> open_{false};
};

template <class Looks>
bool Cluster::is_stuck(std::uint32_t rank, Looks looks) {
  std::uint64_t seen = stuck_.load(std::memory_order_acquire);
  const std::uint64_t live = context.live.load(std::memory_order_acquire);
  const bool all_stuck = (live & ~seen & kStuckRanks) == 0;
  // A CTA that exits is dead first, then no longer counted: what it ends may still lie ahead.
  const auto left = exec::ClusterPhase::unpack(context.barrier->load(std::memory_order_acquire)).left;
  if (static_cast<std::uint32_t>(std::popcount(live)) != left || !looks()) return false;
  const std::uint64_t own = std::uint64_t{1} << rank, wanted = seen | own | (all_stuck ? own << 16 : 0);
  if (!stuck_.compare_exchange_strong(seen, wanted, std::memory_order_acq_rel)) return false;
  return (live & ~(wanted >> 16) & kStuckRanks) == 0;
}

template <class Answer>
bool Cluster::flush(const exec::ClusterNetwork& network, Answer answer) {
  for (std::uint32_t rest = flush_pending_; rest != 0; rest &= rest - 1) {
    const auto rank = static_cast<std::uint32_t>(std::countr_zero(rest));
    if (context.traffic[rank].load(std::memory_order_acquire) != 0) continue;
    network.of(seats_[rank].sm).flush_done(seats_[rank].cluster_slot, rank);
    flush_pending_ &= ~(1u << rank);
    answer(rank);
  }
  return flush_pending_ == 0;
}

/// Clusters that are not resident, kept for reuse: a launch allocates nothing once it is warm (K-10).
class ClusterPool {
 public:
  Cluster* take();
  void put(Cluster* cluster) { free_.push_back(cluster); }

 private:
  std::vector<std::unique_ptr<Cluster>> all_;
  std::vector<Cluster*> free_;
};

}  // namespace raddle::machine
