// The barrier slots of the GPCs: each local cluster id has one, and the barrier of a cluster is found by its
// id (W-16).
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "machine/distributor/gpc_manager.h"
#include "machine/shape/machine_shape.h"

namespace raddle::machine {

class BarrierSlots {
 public:
  explicit BarrierSlots(const MachineShape& shape) {
    for (const Domain& gpc : shape.domains(Level::gpc)) gpcs_.emplace_back(local_ids_of(shape, gpc));
  }
  std::atomic<std::uint64_t>& of(std::uint32_t gpc, std::uint32_t local_id) {
    return gpcs_[gpc][local_id].word;
  }

 private:
  struct alignas(64) Slot {  // no two clusters share a cache line
    std::atomic<std::uint64_t> word{0};
  };
  std::vector<std::vector<Slot>> gpcs_;
};

}  // namespace raddle::machine
