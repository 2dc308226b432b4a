// Deep placement: the CTAs of one address space use the fewest SMs. An SM that holds some of them is
// used until it can hold no more; only then another one is opened.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "machine/distributor/cluster_policy.h"

namespace raddle::machine {

class Deep final : public ClusterPolicy {
 public:
  std::string_view name() const override { return "deep"; }
  bool refills_by_number() const override { return true; }

 private:
  /// An SM that can take CTAs.
  struct Able {
    std::uint32_t index = 0;  ///< in its domain
    std::uint32_t room = 0;   ///< CTAs of a cluster, or of a plain grid, that it takes
    std::uint32_t free = 0;   ///< CTAs of the grid that fit
    std::uint32_t load = 0;   ///< CTAs resident, of all grids
    std::uint32_t past = 0;   ///< whose CTA it got last: 0 the space's, 1 nobody's, 2 another one's
  };
  /// Where CTAs would go is in `registers_`, by SM of the domain.
  struct Poured {
    std::uint64_t left = 0;     ///< CTAs that do not fit
    std::uint32_t opened = 0;   ///< SMs that hold the first CTA of the space
    bool has_affinity = false;  ///< some SM held one before
  };

  void spread(const DomainView& domain, std::uint64_t ctas, Placement& placement) override;
  Answer ask(const DomainView& domain, std::uint64_t ctas) override;
  void choose(const Candidates& candidates, std::uint64_t left, std::vector<std::uint32_t>& chosen) override;

  Poured pour(const DomainView& domain, std::uint64_t ctas);
  void find_able(const DomainView& domain);
  std::uint64_t fill_evenly(std::uint64_t ctas);

  std::vector<Able> affine_, others_;  // of the domain at hand: SMs with CTAs of the space, and without
  std::vector<std::uint32_t> registers_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_rank_;
};

}  // namespace raddle::machine
