// How many CTAs fit an SM: the minimum over its resources.
#include "machine/distributor/grid.h"

#include <algorithm>

namespace raddle::machine {

std::array<SlotLimit, 6> slot_limits(const SmLimits& sm, const CtaNeeds& needs) {
  const auto fit = [&sm](std::uint64_t has, std::uint64_t need) {
    return need == 0 ? sm.cta_slots : has / need;
  };
  return {{{"block slots", sm.cta_slots},
           {"threads", fit(sm.threads, needs.threads)},
           {"warps", fit(sm.warps, needs.warps)},
           {"barriers", fit(sm.barriers, needs.barriers)},
           {"registers", fit(sm.registers, needs.registers)},
           {"shared memory", fit(sm.shared_bytes, needs.shared_bytes)}}};
}

std::uint32_t slots_per_sm(const SmLimits& sm, const CtaNeeds& needs) {
  const auto limits = slot_limits(sm, needs);
  const auto least = std::ranges::min_element(limits, {}, &SlotLimit::slots);
  return static_cast<std::uint32_t>(least->slots);
}

bool fits_empty_sm(const SmLimits& sm, const CtaNeeds& needs) {
  return sm.cta_slots != 0 && needs.threads <= sm.threads && needs.warps <= sm.warps &&
         needs.barriers <= sm.barriers && needs.registers <= sm.registers &&
         needs.shared_bytes <= sm.shared_bytes;
}

}  // namespace raddle::machine
