// The distributor run alone (W-22): grids arrive as a load says, CTAs end when their durations have passed.
// Driven by events, deterministic: the same load gives the same decisions and the same figures.
#pragma once

#include <string>

#include "base/result.h"
#include "distribute/load.h"
#include "distribute/outcome.h"
#include "distribute/step_log.h"
#include "machine/distributor/distributor.h"

namespace raddle::distribute {

/// Hears what happens to each CTA; tests compare it with a ground truth of their own.
class SimulationObserver {
 public:
  virtual ~SimulationObserver() = default;
  /// @param grid  its number in the load
  virtual void started(std::uint64_t grid, std::uint64_t cta, std::uint32_t sm, std::uint64_t time,
                       std::uint64_t end) = 0;
  virtual void ended(std::uint64_t grid, std::uint64_t cta, std::uint32_t sm, std::uint64_t time) = 0;
  /// It stopped in its middle; it goes on there with another `started`.
  virtual void parked(std::uint64_t /*grid*/, std::uint64_t /*cta*/, std::uint32_t /*sm*/,
                      std::uint64_t /*time*/) {}
};

struct SimulationOptions {
  std::string policy = "lake";
  machine::DistributorOptions distributor;
  bool rasterise = true;  ///< count how often SMs decompose deltas: costs a little of the speed
  StepLog* log = nullptr;
  SimulationObserver* observer = nullptr;
  /// The distributor hears of arrivals and ends only at multiples of this time, as hardware that looks every
  /// so many cycles: fewer, larger decisions.
  std::uint64_t tick = 1;
  std::optional<machine::PlacementMode> placement = {};  ///< of all grids, instead of the load's
};

/// @errors not_found: no such policy. invalid: a CTA of a grid fits no SM of this shape
Result<Outcome> simulate(const machine::MachineShape& shape, const Load& load,
                         const SimulationOptions& options);

}  // namespace raddle::distribute
