// The table of resident clusters: what each outermost cluster holds besides its CTAs' resources, until it is
// complete and flushed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "machine/distributor/grid.h"

namespace raddle::machine {

struct ResidentCluster {
  Grid* grid = nullptr;         ///< null: the slot is free
  std::uint64_t number = 0;     ///< among the outermost clusters of its grid
  std::uint64_t ctas = 0;       ///< not yet complete
  std::uint64_t unstarted = 0;  ///< of them: not yet started
  std::uint32_t first_sm = 0;   ///< of its first CTA
  std::uint32_t memory = ~0u;   ///< slot of cluster-wide memory (W-24)
  /// By innermost cluster, where these lie inside a GPC: local cluster id, and its GPC.
  std::vector<std::uint32_t> ids, gpcs;
  std::uint64_t ctas_per_id = 0;
  std::uint64_t unflushed = 0;       ///< CTAs whose memory others may be writing to, or have been
  std::vector<std::uint32_t> slots;  ///< an SM for each cluster slot it holds

  /// The innermost cluster of a CTA. @param number  in launch order
  std::size_t inner_of(std::uint64_t number) const { return number / ctas_per_id; }
};

class ResidentClusters {
 public:
  std::uint32_t take() {
    if (free_.empty())
      free_.push_back(static_cast<std::uint32_t>(clusters_.size())), clusters_.emplace_back();
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(std::uint32_t slot) {
    ResidentCluster& cluster = clusters_[slot];
    cluster.grid = nullptr, cluster.memory = ~0u;
    cluster.ids.clear(), cluster.gpcs.clear(), cluster.slots.clear();
    free_.push_back(slot);
  }
  ResidentCluster& operator[](std::uint32_t slot) {
    RADDLE_ASSERT(slot < clusters_.size(), "no such cluster");
    return clusters_[slot];
  }
  std::size_t count() const { return clusters_.size() - free_.size(); }  ///< resident

 private:
  std::vector<ResidentCluster> clusters_;
  std::vector<std::uint32_t> free_;
};

}  // namespace raddle::machine
