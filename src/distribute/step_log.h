// A decision log that also knows the grids by name, and which CTAs a completion is about: what viewers need.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "machine/distributor/decision_log.h"
#include "machine/distributor/grid.h"

namespace raddle::distribute {

struct GridInfo {
  std::uint64_t id = 0;  ///< Decision::grid
  std::string name;
  std::uint64_t arrival = 0;
  std::array<std::uint32_t, 3> extent{1, 1, 1};  ///< CTAs
  machine::GridKind kind;
  std::uint32_t slots = 0;  ///< CTAs of it that an empty SM holds
};

class StepLog : public machine::DecisionLog {
 public:
  virtual void arrived(const GridInfo& grid) = 0;
  /// Launch indices of the CTAs of the next `complete` decision, where they are known (the distributor does
  /// not); else empty.
  std::span<const std::uint64_t> ended;
};

}  // namespace raddle::distribute
