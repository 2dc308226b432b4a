// Writes decisions into a log (W-21). It stands between policy and log: a policy reports its questions and
// placements, counted from the start of its placement; the recorder adds grid, time and number.
#pragma once

#include <vector>

#include "machine/distributor/decision_log.h"
#include "machine/distributor/grid.h"

namespace raddle::machine {

class DecisionRecorder final : public DecisionLog {
 public:
  /// @param load  of the live model, by SM: CTAs resident
  explicit DecisionRecorder(const std::vector<std::uint32_t>& load) : load_(load) {}
  explicit operator bool() const { return log_ != nullptr; }
  void observe(DecisionLog* log) { log_ = log; }

  /// The next records are about the clusters of this grid from Grid::next on.
  void begin(const Grid& grid);
  /// From the policy. Keeps the failure of a cluster until `refuse`, which knows whether the cluster lacked
  /// room.
  void record(const Decision& decision) override;
  /// The next cluster of a grid did not get onto the machine.
  /// @param kind  fail or stall
  void refuse(const Grid& grid, Decision::Kind kind);
  void complete(const Grid& grid, std::uint32_t sm, std::uint32_t count, std::uint64_t cluster);
  /// In a full machine (Distributor::succeed): CTAs of a grid have exited, its next CTAs took their slots.
  void succeed(const Grid& grid, const SmRun& exited);
  void cluster_complete(const Grid& grid, std::uint64_t cluster);
  /// A CTA was suspended, or resumed.
  void move(const Grid& grid, Decision::Kind kind, std::uint32_t sm, std::uint64_t index);
  /// The grid's next CTA has to wait until it has another slot.
  void evict(const Grid& grid);

 private:
  void decide(Decision& decision, const Grid& grid);
  void write(Decision& decision, const Grid& grid);

  const std::vector<std::uint32_t>& load_;
  DecisionLog* log_ = nullptr;
  std::uint64_t sequence_ = 0;
  const Grid* grid_ = nullptr;  // whose clusters are being placed,
  std::uint64_t next_ = 0;      // and the launch index of the first
  Decision failure_;
};

}  // namespace raddle::machine
