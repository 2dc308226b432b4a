// The preemptive mode: CTAs that leave their SM in the middle, and how they come back. What a started CTA has
// is on its SM, so it goes on there; a cluster's at the same time, as they may wait for one another.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "machine/distributor/distributor_state.h"

namespace raddle::machine {

void Distributor::park(Grid& grid, const ParkedCta& cta) {
  State& state = *state_;
  RADDLE_ASSERT(grid.preempted && grid.can_be_preempted(), "a CTA is parked whose grid was not preempted");
  state.enter_lone();
  state.exit(grid, {cta.sm, 0, 1}, CtaStanding::resident);
  state.spaces.parked(grid.space_row, cta.sm);
  grid.parked.insert(std::ranges::upper_bound(grid.parked, cta.index, {}, &ParkedCta::index), cta);
  state.count_load(grid);
  if (state.recorder) state.recorder.move(Decision::Kind::park, grid, cta);
  state.settle(grid);
}

CtaCompletion Distributor::drop(Grid& grid, std::uint64_t index) {
  State& state = *state_;
  const auto found = std::ranges::lower_bound(grid.parked, index, {}, &ParkedCta::index);
  RADDLE_ASSERT(grid.withdrawn && found != grid.parked.end() && found->index == index,
                "a CTA is dropped that is not parked, or may yet go on");
  const ParkedCta cta = *found;
  grid.parked.erase(found);
  state.spaces.unparked(grid.space_row, cta.sm);
  CtaCompletion completion;
  if (cta.cluster != kNoCluster)
    completion = state.count_down(state.clusters[cta.cluster], index % grid.kind.ctas_per_cluster());
  state.settle(grid);
  return completion;
}

/// Whether each has a slot on its SM. Its space may use the SM, which it has kept.
bool Distributor::State::has_room(const Grid& grid, std::span<const ParkedCta> ctas) {
  table.look(grid.row);
  const std::span<const std::uint32_t> room = table.room(grid.row);
  bool fits = true;
  for (const ParkedCta& cta : ctas)
    fits = fits && !kept.has(cta.sm) && !pools.closes(shape.domain_of(Level::gpc, cta.sm)) &&
           ++wanted_[cta.sm] <= room[cta.sm];
  for (const ParkedCta& cta : ctas) wanted_[cta.sm] = 0;
  return fits;
}

/// As commit_cluster: the live model first.
void Distributor::State::put_back(Grid& grid, std::span<const ParkedCta> ctas, LaunchSink& sink) {
  for (const ParkedCta& cta : ctas) {
    if (recorder) recorder.move(Decision::Kind::resume, grid, cta);
    start(grid, {&cta.sm, 1});
    spaces.unparked(grid.space_row, cta.sm);
  }
  grid.came(ctas.size());
  session.count(ctas.size());
  LaunchMask launch{.grid = &grid, .cluster = ctas[0].cluster, .sequence = sequence++};
  for (const ParkedCta& cta : ctas) {
    launch.sms = {&cta.sm, 1};
    launch.end = &cta == &ctas.back();
    launch.back = &cta;
    sink.launch(launch);
  }
}

/// @returns whether all are back, and new ones may be launched: they could wait for those that are not
bool Distributor::State::resume(Grid& grid, LaunchSink& sink) {
  const std::uint64_t size = grid.kind.ctas_per_cluster();
  std::vector<ParkedCta>& parked = grid.parked;
  for (std::size_t begin = 0; begin != parked.size();) {
    const auto in_other = [&](const ParkedCta& cta) {
      return cta.index / size != parked[begin].index / size;
    };
    const auto first = parked.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = std::find_if(first, parked.end(), in_other);
    const std::span<const ParkedCta> ctas(first, last);
    if (!has_room(grid, ctas)) {
      begin += ctas.size();
    } else if (session.clusters(ctas.size()) != 0) {
      put_back(grid, ctas, sink);
      parked.erase(first, last);
    } else {
      if (session.patience_denies(ctas.size())) session.deny(ctas.size());
      return false;
    }
  }
  if (!parked.empty()) grid.tried = freed;
  return parked.empty();
}

/// Where a grid goes on that waits for room there.
std::uint32_t Distributor::State::domain_of_parked(const Grid& grid, Level level) const {
  const std::uint32_t domain = shape.domain_of(level, grid.parked[0].sm);
  return kept.overlaps(shape.domains(level)[domain]) ? kNothingKept : domain;
}

}  // namespace raddle::machine
