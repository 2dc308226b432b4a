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
  std::uint16_t home = 0;    ///< worker that runs its CTAs, if nothing had to move
  std::uint16_t owner = 0;   ///< worker that does now
  std::uint16_t taken = 0;   ///< CTAs that the owner has taken and not reported finished
  std::uint32_t parked = 0;  ///< CTAs parked in their middle: the owner has them, so the SM cannot move
  bool can_move() const { return taken == 0 && parked == 0; }
  exec::RoutingTables routing{};

  // The owner's.
  std::unique_ptr<TmaUnit> tma{};            ///< from its first request on
  std::unique_ptr<ThreadCopies> copies{};    ///< where they land late
  std::unique_ptr<AccessHistory> history{};  ///< likewise
};

/// The SMs of a machine, spread over its workers in runs.
inline std::vector<Sm> sms_of(const MachineShape& shape, unsigned workers) {
  const std::uint32_t count = shape.sm_count();
  std::vector<Sm> sms(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto worker = static_cast<std::uint16_t>(std::uint64_t{i} * workers / count);
    sms[i] = {.number = i,
              .gpc = shape.domain_of(Level::gpc, i),
              .home = worker,
              .owner = worker,
              .routing = exec::RoutingTables({shape.sm.warps, shape.sm.cluster_slots, shape.sm.cta_slots})};
  }
  return sms;
}

}  // namespace raddle::machine
