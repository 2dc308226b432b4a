// A resident cluster as its kernels see it: at most 16 CTAs that share memory and a barrier. It begins when
// the distributor launches it and ends when all its CTAs have exited and its traffic has drained (W-16,
// W-20). Its CTAs may run on several workers.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "exec/abi.h"
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

 private:
  std::mutex mutex_;  // of open: CTAs of one cluster start on several workers
  std::unique_ptr<SharedWindow> window_;
  std::atomic<bool> open_{false};
};

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
