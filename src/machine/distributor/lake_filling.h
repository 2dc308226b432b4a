// The lake-filling distributor, the default: load stays balanced over the SMs of a domain (W-5, W-6) and over
// domains (W-7).
#pragma once

#include <utility>
#include <vector>

#include "machine/distributor/cluster_policy.h"
#include "machine/distributor/multicast.h"

namespace raddle::machine {

class LakeFilling final : public ClusterPolicy {
 public:
  std::string_view name() const override { return "lake"; }
  bool refills_by_number() const override { return true; }
  bool goes_by_free_slots() const override { return true; }

 private:
  void spread(const DomainView& domain, std::uint64_t ctas, Placement& placement) override;
  Answer ask(const DomainView& domain, std::uint64_t ctas) override;
  void choose(const Candidates& candidates, std::uint64_t left, std::vector<std::uint32_t>& chosen) override;

  Multicast multicast_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_rank_;
};

}  // namespace raddle::machine
