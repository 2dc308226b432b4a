// How many CTAs still fit an SM: the minimum over what is left of its resources.
#include "machine/distributor/sm_usage.h"

#include <algorithm>

#include "base/assert.h"

namespace raddle::machine {

SmUsage::SmUsage(const MachineShape& shape, std::uint32_t cap_per_sm)
    : shape_(shape),
      ctas_per_sm_(cap_per_sm == 0 ? shape.sm.cta_slots : std::min(cap_per_sm, shape.sm.cta_slots)),
      load_(shape.sm_count()),
      cluster_slots_(shape.sm_count(), shape.sm.cluster_slots),
      used_(shape.sm_count(), CtaNeeds{0, 0, 0, 0, 0}),
      enabled_(shape.sm_count(), 1),
      journal_{} {}

void SmUsage::take_cluster_slot(std::uint32_t sm) {
  RADDLE_ASSERT(cluster_slots_[sm] != 0, "an SM without a free cluster slot got a CTA of a cluster");
  --cluster_slots_[sm];
  note({sm, 0, 0});
}

void SmUsage::return_cluster_slot(std::uint32_t sm) {
  ++cluster_slots_[sm];
  note({sm, 0, 0});
}

void SmUsage::enable(std::uint32_t tpc, bool on) {
  const Domain& domain = shape_.domains(Level::tpc)[tpc];
  std::fill_n(enabled_.begin() + domain.first_sm, domain.sm_count, static_cast<std::uint8_t>(on));
  ++enable_changes_;
}

std::uint32_t SmUsage::fit_empty(const CtaNeeds& needs) const {
  return std::min(ctas_per_sm_, slots_per_sm(shape_.sm, needs));
}

std::uint32_t SmUsage::fit(std::uint32_t sm, const CtaNeeds& needs) const {
  const CtaNeeds& used = used_[sm];
  SmLimits left = shape_.sm;
  left.cta_slots = ctas_per_sm_ - load_[sm];
  left.threads -= used.threads, left.warps -= used.warps, left.barriers -= used.barriers;
  left.registers -= static_cast<std::uint32_t>(used.registers);
  left.shared_bytes -= static_cast<std::uint32_t>(used.shared_bytes);
  return slots_per_sm(left, needs);
}

}  // namespace raddle::machine
