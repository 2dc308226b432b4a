// Turns inside a domain begin at its first SM with every cluster, so that pass II repeats pass I.
#include "machine/distributor/round_robin.h"

#include <algorithm>

namespace raddle::machine {

void RoundRobin::take_turns(const DomainView& domain, std::uint32_t start, std::uint64_t ctas,
                            Placement& placement) {
  const auto count = static_cast<std::uint32_t>(domain.free.size());
  for (std::uint32_t turn = 1; ctas != 0; ++turn) {
    SmMask mask{.first = static_cast<std::uint32_t>(placement.sms.size())};
    for (std::uint32_t i = 0; ctas != 0 && i < count; ++i) {
      const std::uint32_t sm = start + i < count ? start + i : start + i - count;
      if (most_of_one_cluster(domain, sm) < turn) continue;
      placement.sms.push_back(domain.first + sm);
      ++mask.count, --ctas;
    }
    ++placement.steps;
    if (mask.count == 0) return;
    placement.masks.push_back(mask);
  }
}

void RoundRobin::spread(const DomainView& domain, std::uint64_t ctas, Placement& placement) {
  take_turns(domain, 0, ctas, placement);
}

void RoundRobin::spread_plain(const DomainView& machine, std::uint64_t ctas, Placement& placement) {
  take_turns(machine, turn_of(machine.free.size()), ctas, placement);
}

void RoundRobin::choose(const Candidates& candidates, std::uint64_t left,
                        std::vector<std::uint32_t>& chosen) {
  const auto count = static_cast<std::uint32_t>(candidates.answers.size());
  const std::uint32_t start = candidates.depth == 0 ? turn_of(count) : 0;
  chosen.clear();
  for (std::uint32_t i = 0; i < count && chosen.size() < left; ++i) {
    const std::uint32_t domain = start + i < count ? start + i : start + i - count;
    if (!candidates.answers[domain].failed()) chosen.push_back(domain);
  }
  std::sort(chosen.begin(), chosen.end());
}

}  // namespace raddle::machine
