// A modelled SM: what belongs to it whichever worker runs its blocks. The shape has the limits that all SMs
// share (SmLimits); SmUsage is the distributor's account of what an SM holds.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "exec/routing.h"
#include "machine/cluster/remote_errors.h"
#include "machine/shape/machine_shape.h"
#include "machine/tma/thread_copies.h"
#include "machine/tma/tma_unit.h"

namespace raddle::machine {

struct Sm {
  std::uint32_t number = 0;  ///< %smid
  std::uint32_t gpc = 0;

  // The launch controllers', under their lock.
  exec::RoutingTables routing{};

  // The owner's.
  std::unique_ptr<TmaUnit> tma{};            ///< from its first request on
  std::unique_ptr<ThreadCopies> copies{};    ///< where they land late
  std::unique_ptr<AccessHistory> history{};  ///< likewise
};

/// The SMs of a machine.
inline std::vector<Sm> sms_of(const MachineShape& shape) {
  const std::uint32_t count = shape.sm_count();
  std::vector<Sm> sms(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    sms[i] = {.number = i,
              .gpc = shape.domain_of(Level::gpc, i),
              .routing = exec::RoutingTables({shape.sm.warps, shape.sm.cluster_slots, shape.sm.cta_slots})};
  }
  return sms;
}

}  // namespace raddle::machine
