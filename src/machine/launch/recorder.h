// Hears what a live machine launches: grids as they arrive, CTAs as they end, and the distributor's
// decisions. distribute/live_recorder.h makes a load of them, which can be run again without the kernels.
// Costs nothing if nobody listens.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "machine/distributor/decision_log.h"
#include "machine/distributor/grid.h"

namespace raddle::machine {

class Mmu;

/// When a CTA ran, in ns as now_ns(). Where it waited for others, their time counts, too.
struct CtaTime {
  std::uint64_t start = 0, end = 0;
  std::uint64_t parked = 0;  ///< so long it was away from its SM meanwhile
  std::uint64_t duration() const { return end - start - parked; }
};

class LaunchRecorder {
 public:
  virtual ~LaunchRecorder() = default;
  /// A grid has come to the distributor; no block is launched yet. One call at a time.
  /// @param extent  CTAs in x, y, z
  /// @param now     ns, as now_ns(); likewise below
  virtual void added(const Grid& grid, const std::uint32_t* extent, std::string_view kernel,
                     std::uint64_t now) = 0;
  /// The grid is open, and so many more CTAs of it have come. One call at a time.
  virtual void grew(const Grid&, std::uint64_t /*ctas*/, std::uint64_t /*now*/) {}
  /// A CTA has run on a worker. Any worker, at any time between the grid's `added` and its end.
  virtual void ended(const Grid& grid, std::uint64_t cta, std::uint32_t sm, const CtaTime& time) = 0;
  /// Hears every decision; null: not wanted. Called under the launch lock.
  virtual DecisionLog* decisions() = 0;
  /// The machine has its first modelled space: who counts their accesses from now on, and may be asked also
  /// when the machine is gone.
  virtual void translates(std::shared_ptr<const Mmu>) {}
};

}  // namespace raddle::machine
