// Round robin, for comparison: SMs and domains with room take turns, however full they are. Turns of a grid
// go on from placement to placement.
#pragma once

#include <vector>

#include "machine/distributor/cluster_policy.h"

namespace raddle::machine {

class RoundRobin final : public ClusterPolicy {
 public:
  std::string_view name() const override { return "round_robin"; }

 private:
  void spread(const DomainView& domain, std::uint64_t ctas, Placement& placement) override;
  void spread_plain(const DomainView& machine, std::uint64_t ctas, Placement& placement) override;
  Answer ask(const DomainView& domain, std::uint64_t ctas) override { return has_room(domain, ctas); }
  void choose(const Candidates& candidates, std::uint64_t left, std::vector<std::uint32_t>& chosen) override;

  /// Turns of all SMs, from the one at `start` on.
  void take_turns(const DomainView& domain, std::uint32_t start, std::uint64_t ctas, Placement& placement);
};

}  // namespace raddle::machine
