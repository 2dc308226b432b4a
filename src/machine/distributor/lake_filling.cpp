// Glue: each of the three decisions is one selection algorithm.
#include "machine/distributor/lake_filling.h"

#include <algorithm>

#include "machine/distributor/lake.h"

namespace raddle::machine {

void LakeFilling::spread(const DomainView& domain, std::uint64_t ctas, Placement& placement) {
  if (domain.mode == DistributionMode::multicast) {
    if (!multicast_.choose(domain, ctas).failed()) multicast_.append(domain, placement);
    return;
  }
  const WaterLevel water = find_water_level(domain.free, ctas);
  placement.steps += water.steps;
  append_levels(domain.free, water, domain.first, placement);
}

Answer LakeFilling::ask(const DomainView& domain, std::uint64_t ctas) {
  if (domain.mode == DistributionMode::multicast) return multicast_.choose(domain, ctas);
  const WaterLevel water = find_water_level(domain.free, ctas);
  return water.ctas < ctas ? Answer() : Answer(water.least_left());
}

void LakeFilling::choose(const Candidates& candidates, std::uint64_t left,
                         std::vector<std::uint32_t>& chosen) {
  find_fastest(candidates.answers, chosen);
  if (chosen.size() <= left) return;
  by_rank_.clear();
  for (const std::uint32_t i : chosen)
    by_rank_.emplace_back(tie_rank(candidates.level, candidates.first + i), i);
  keep_first(by_rank_, left, chosen);
}

}  // namespace raddle::machine
