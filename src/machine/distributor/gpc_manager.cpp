// The counters and pools of the GPCs.
#include "machine/distributor/gpc_manager.h"

#include <algorithm>

#include "base/assert.h"

namespace raddle::machine {

NumberPool::NumberPool(std::uint32_t count) : free_(count), taken_(count, false) {
  for (std::uint32_t i = 0; i < count; ++i) free_[i] = count - 1 - i;
}

std::uint32_t NumberPool::take() {
  RADDLE_ASSERT(!free_.empty(), "a number was taken from an empty pool");
  const std::uint32_t number = free_.back();
  free_.pop_back();
  taken_[number] = true;
  return number;
}

void NumberPool::give_back(std::uint32_t number) {
  RADDLE_ASSERT(taken_[number], "a number came back twice");
  taken_[number] = false;
  free_.push_back(number);
}

GpcManagers::GpcManagers(const MachineShape& shape) {
  for (const Domain& gpc : shape.domains(Level::gpc)) {
    const std::uint32_t slots = gpc.sm_count * shape.sm.cluster_slots, ids = local_ids_of(shape, gpc);
    gpcs_.push_back({slots, NumberPool(ids), std::vector<Gpc::Ctas>(ids)});
    launchable_.push_back(std::min(slots, ids));
  }
  capacity_ = launchable_;
}

void GpcManagers::update(std::uint32_t gpc) {
  launchable_[gpc] = std::min(gpcs_[gpc].slots, gpcs_[gpc].ids.size());
}

std::uint32_t GpcManagers::take_id(std::uint32_t gpc, std::uint32_t ctas) {
  const std::uint32_t id = gpcs_[gpc].ids.take();
  gpcs_[gpc].ctas[id].running = ctas;
  update(gpc);
  return id;
}

bool GpcManagers::cta_complete(std::uint32_t gpc, std::uint32_t id) {
  Gpc::Ctas& ctas = gpcs_[gpc].ctas[id];
  RADDLE_ASSERT(ctas.running != 0, "a CTA of a cluster was complete twice");
  ++ctas.flush_pending;
  return --ctas.running == 0;
}

void GpcManagers::flush_done(std::uint32_t gpc, std::uint32_t id) {
  Gpc::Ctas& ctas = gpcs_[gpc].ctas[id];
  RADDLE_ASSERT(ctas.running == 0 && ctas.flush_pending != 0, "a flush was done that nobody ordered");
  --ctas.flush_pending;
}

void GpcManagers::return_id(std::uint32_t gpc, std::uint32_t id) {
  const Gpc::Ctas& ctas = gpcs_[gpc].ctas[id];
  RADDLE_ASSERT(ctas.running == 0 && ctas.flush_pending == 0,
                "an id came back before its cluster was flushed");
  gpcs_[gpc].ids.give_back(id);
  update(gpc);
}

void GpcManagers::take_slot(std::uint32_t gpc) {
  --gpcs_[gpc].slots;
  update(gpc);
}

void GpcManagers::return_slot(std::uint32_t gpc) {
  ++gpcs_[gpc].slots;
  update(gpc);
}

}  // namespace raddle::machine
