// The pools of each GPC: of the grids that have a slot and something left to launch, a few are active
// there, and launch CTAs; the next ones are pending. The pending ones are the first in the order of service,
// so nobody has to keep them. One that has launched there is active until it has nothing left to launch, or a
// pending one takes its place: because it is more urgent, because all that the active one has resident waits
// for something else, or because the place is kept for it after its patience has ended.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "machine/distributor/grid.h"

namespace raddle::machine {

class LaunchSink;

class Pools {
 public:
  /// @param active, pending  places of each GPC; 0: no limit
  Pools(const MachineShape& shape, std::uint32_t active, std::uint32_t pending);

  bool are_limited() const { return limited_; }
  /// Clusters that span GPCs are launched by no GPC alone: they stand in no pool.
  static bool concern(const Grid& grid) {
    return grid.kind.is_plain() || grid.kind.levels[0].domain >= Level::gpc;
  }
  /// Grids come in the order of service from now on. @param sink  knows which idle
  void begin_pass(const LaunchSink& sink);
  /// The next one: which GPCs does it find closed?
  /// @param usable  by GPC: whether it could launch there if nothing else were there
  /// @param kept    kept for it; empty: nothing
  /// @returns whether it has given up places where it cannot launch any more
  bool come(const Grid& grid, std::span<const std::uint8_t> usable, const Domain& kept);
  bool closes(std::uint32_t gpc) const { return limited_ && closed_[gpc] != 0; }
  /// What it is shown.
  std::span<const std::uint32_t> free(std::span<const std::uint32_t> free);
  std::span<const std::uint32_t> clusters(std::span<const std::uint32_t> clusters);
  /// It has launched a CTA on the SM.
  void launched(Grid& grid, std::uint32_t sm);
  /// It launches nothing more for now. @returns whether it had a place
  bool leave(const Grid& grid);

 private:
  bool has(std::uint32_t gpc, const Grid& grid) const;
  bool has_parked(std::uint32_t gpc, const Grid& grid) const;
  Grid* replaceable(std::uint32_t gpc, const Grid& grid) const;

  const MachineShape& shape_;
  const std::size_t active_, pending_;
  const bool limited_;
  const LaunchSink* sink_ = nullptr;
  Domain kept_{};                            // for the grid that came last
  std::vector<std::vector<Grid*>> actives_;  // by GPC, as they came
  std::vector<Grid*> replaced_;              // by GPC: by the grid that came last, if it launches there
  std::vector<std::size_t> waiting_;         // by GPC: pending ones that have come
  std::vector<std::uint8_t> closed_;         // by GPC: to the grid that came last
  std::vector<std::uint32_t> free_, clusters_;
};

}  // namespace raddle::machine
