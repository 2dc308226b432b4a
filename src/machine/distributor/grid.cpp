// How many CTAs fit an SM: the least of what each of its resources allows.
#include "machine/distributor/grid.h"

#include <algorithm>

namespace raddle::machine {

std::uint32_t slots_per_sm(const SmLimits& sm, const CtaNeeds& needs) {
  std::uint64_t slots = sm.cta_slots;
  const auto limit = [&slots](std::uint64_t has, std::uint64_t need) {
    if (need != 0) slots = std::min(slots, has / need);
  };
  limit(sm.threads, needs.threads);
  limit(sm.warps, needs.warps);
  limit(sm.barriers, needs.barriers);
  limit(sm.registers, needs.registers);
  limit(sm.shared_bytes, needs.shared_bytes);
  return static_cast<std::uint32_t>(slots);
}

}  // namespace raddle::machine
