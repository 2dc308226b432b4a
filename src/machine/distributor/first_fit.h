// Greedy first fit, for comparison: the first SM with room takes CTAs until it is full, the first domain with
// room takes clusters until it is full.
#pragma once

#include <vector>

#include "machine/distributor/cluster_policy.h"

namespace raddle::machine {

class FirstFit final : public ClusterPolicy {
 public:
  std::string_view name() const override { return "first_fit"; }

 private:
  void spread(const DomainView& domain, std::uint64_t ctas, Placement& placement) override;
  Answer ask(const DomainView& domain, std::uint64_t ctas) override { return has_room(domain, ctas); }
  void choose(const Candidates& candidates, std::uint64_t left, std::vector<std::uint32_t>& chosen) override;

  std::vector<std::uint32_t> registers_;
};

}  // namespace raddle::machine
