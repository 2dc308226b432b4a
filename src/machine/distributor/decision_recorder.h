// Writes the distributor's decisions into a log (W-21). It stands between policy and log: a policy says which
// candidates it asked for which cluster, the distributor which SMs got it, and one entry holds both.
#pragma once

#include <span>
#include <vector>

#include "machine/distributor/decision_log.h"
#include "machine/distributor/grid.h"
#include "machine/distributor/policy.h"

namespace raddle::machine {

class DecisionRecorder final : public DecisionLog {
 public:
  explicit operator bool() const { return log_ != nullptr; }
  void observe(DecisionLog* log) { log_ = log; }

  /// What `record` hears next is about this grid.
  void begin() { choices_.clear(); }
  void record(const Decision& choice) override;  ///< from the policy
  /// @param placed  number of the cluster in the placement
  /// @param free    slots left for the grid, by SM
  void launch(const Grid& grid, std::uint64_t first, std::uint64_t placed, std::span<const std::uint32_t> sms,
              std::span<const std::uint32_t> free);
  /// The next cluster of a grid, or the rest of a plain grid, did not get onto the machine.
  void refuse(const Grid& grid, Decision::Kind kind, std::uint64_t placed);
  void complete(const Grid& grid, std::uint32_t sm, std::uint32_t count, std::uint64_t cluster);
  void cluster_complete(const Grid& grid, std::uint64_t cluster);

 private:
  void say(Decision decision, Decision::Kind kind, const Grid& grid, std::uint64_t first);

  DecisionLog* log_ = nullptr;
  std::uint64_t sequence_ = 0;
  std::vector<Decision> choices_;  // of the placement at hand
};

}  // namespace raddle::machine
