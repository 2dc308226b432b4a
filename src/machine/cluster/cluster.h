// A resident cluster as its kernels see it: at most 16 CTAs that share memory and a barrier. It begins when
// the distributor launches it and ends when all its CTAs have exited and its traffic has drained (W-16,
// W-20). Its CTAs may run on several workers.
#pragma once

#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <vector>

#include "exec/cluster.h"
#include "machine/cluster/window.h"

namespace raddle::machine {

struct Cluster {
  exec::ClusterContext context{};

  /// Prepares for `ctas` CTAs with `shared_bytes` each, none of which has started.
  void launch(std::uint32_t ctas, std::uint64_t shared_bytes, std::uint32_t gpc, std::uint32_t local_id);
  /// The first CTA to start takes a window for all. @param space  whose grid it is: AddressSpace::id()
  /// @returns false if the host has no memory
  bool open(WindowPool& windows, std::uint64_t space);
  /// Whether no remote access is in flight.
  bool drained() const { return context.traffic.load(std::memory_order_acquire) == 0; }
  /// Gives its window back; none of its CTAs run.
  void close(WindowPool& windows);
  const SharedWindow* window() const { return window_.get(); }

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
  const auto left = exec::ClusterPhase::unpack(context.barrier.load(std::memory_order_acquire)).left;
  if (static_cast<std::uint32_t>(std::popcount(live)) != left || !looks()) return false;
  const std::uint64_t own = std::uint64_t{1} << rank, wanted = seen | own | (all_stuck ? own << 16 : 0);
  if (!stuck_.compare_exchange_strong(seen, wanted, std::memory_order_acq_rel)) return false;
  return (live & ~(wanted >> 16) & kStuckRanks) == 0;
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
