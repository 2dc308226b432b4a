// GPC managers: how many more clusters a GPC takes. Each counts the cluster slots of its SMs that are usable
// at once (W-12) and owns the pool of local cluster ids with their barrier slots (W-16). A cluster wholly
// inside a GPC takes an id at launch; it comes back when each of its CTAs is complete and flushed (W-20).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "machine/shape/machine_shape.h"

namespace raddle::machine {

/// Numbers that are taken and come back; the one that came back last is taken first.
class NumberPool {
 public:
  explicit NumberPool(std::uint32_t count);
  bool empty() const { return free_.empty(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(free_.size()); }
  std::uint32_t take();  ///< of a pool that is not empty
  void give_back(std::uint32_t number);

 private:
  std::vector<std::uint32_t> free_;
  std::vector<bool> taken_;
};

/// How many local cluster ids a GPC has.
inline std::uint32_t local_ids_of(const MachineShape& shape, const Domain& gpc) {
  return shape.cluster_ids_per_gpc == 0 ? gpc.sm_count * shape.sm.cluster_slots : shape.cluster_ids_per_gpc;
}

class GpcManagers {
 public:
  explicit GpcManagers(const MachineShape& shape);

  /// By GPC: clusters it can still launch, at most.
  std::span<const std::uint32_t> launchable() const { return launchable_; }
  std::span<const std::uint32_t> launchable_when_empty() const { return capacity_; }
  std::uint32_t take_id(std::uint32_t gpc, std::uint32_t ctas);
  /// A CTA of the id's cluster is complete: its flush is pending. @returns whether all are: they are flushed
  bool cta_complete(std::uint32_t gpc, std::uint32_t id);
  void flush_done(std::uint32_t gpc, std::uint32_t id);  ///< of one of them
  void return_id(std::uint32_t gpc, std::uint32_t id);
  void take_slot(std::uint32_t gpc);  ///< of one of its SMs
  void return_slot(std::uint32_t gpc);
  std::uint32_t slots(std::uint32_t gpc) const { return gpcs_[gpc].slots; }
  std::uint32_t ids(std::uint32_t gpc) const { return gpcs_[gpc].ids.size(); }

 private:
  struct Gpc {
    std::uint32_t slots;  // cluster slots still usable on its SMs
    NumberPool ids;
    struct Ctas {
      std::uint32_t running = 0, flush_pending = 0;
    };
    std::vector<Ctas> ctas;  // by id
  };
  void update(std::uint32_t gpc);

  std::vector<Gpc> gpcs_;
  std::vector<std::uint32_t> launchable_, capacity_;
};

}  // namespace raddle::machine
