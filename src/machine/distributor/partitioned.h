// Partitioned, for comparison: the GPCs are dealt out to a few shares, and a grid is kept to the share that
// its number gives. Within it the lake is filled.
#pragma once

#include <vector>

#include "machine/distributor/lake_filling.h"

namespace raddle::machine {

class Partitioned final : public Policy {
 public:
  static constexpr std::uint32_t kShares = 4;  ///< fewer on a machine of fewer GPCs

  std::string_view name() const override { return "partitioned"; }
  /// What does not fit its share although nothing is resident there may go anywhere: it would wait for ever.
  void place(const Snapshot& snapshot, Placement& placement, DecisionLog* log) override;

 private:
  LakeFilling lake_;
  std::vector<std::uint32_t> free_;
};

}  // namespace raddle::machine
