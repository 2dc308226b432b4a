// CTAs per SM are decided first; the masks follow from them.
#include "machine/distributor/first_fit.h"

#include <algorithm>

#include "machine/distributor/lake.h"

namespace raddle::machine {

void FirstFit::spread(const DomainView& domain, std::uint64_t ctas, Placement& placement) {
  registers_.clear();
  for (std::size_t i = 0; ctas != 0 && i < domain.free.size(); ++i) {
    ++placement.steps;
    const std::uint64_t taken = std::min<std::uint64_t>(ctas, most_of_one_cluster(domain, i));
    registers_.push_back(static_cast<std::uint32_t>(taken));
    ctas -= taken;
  }
  append_registers(registers_, domain.first, placement);
}

void FirstFit::choose(const Candidates& candidates, std::uint64_t, std::vector<std::uint32_t>& chosen) {
  chosen.clear();
  for (std::uint32_t i = 0; chosen.empty() && i < candidates.answers.size(); ++i)
    if (!candidates.answers[i].failed()) chosen.push_back(i);
}

}  // namespace raddle::machine
