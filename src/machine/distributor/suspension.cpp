// CTAs that wait for their children (A-3e). Such a CTA holds nothing of its SM, and a grid that has nothing
// else holds no slot: so children always find room, however many wait for them (A-3f). It comes back to its
// SM, before anything new is launched there. Its address space goes on counting it there, so that its limit
// of SMs leaves it a place.
#include <utility>

#include "machine/distributor/distributor_state.h"

namespace raddle::machine {

void Distributor::State::leave_sm(const Grid& grid, std::uint32_t sm, std::uint32_t count) {
  table.exited(grid.row, sm, count);
  usage.exit(sm, count, grid.needs, table[grid.row].needs_number);
}

void Distributor::State::forget_suspended(Grid& grid, std::uint32_t sm, std::uint32_t count,
                                          CtaStanding standing) {
  grid.suspended -= count;
  if (standing != CtaStanding::returning) return;
  grid.returning -= count;
  while (count-- != 0) returning.remove(grid, sm);
}

void Distributor::suspend(Grid& grid, std::uint32_t sm, std::uint64_t index) {
  State& state = *state_;
  state.enter_lone();
  state.leave_sm(grid, sm, 1);
  ++grid.suspended;
  ++state.freed;
  if (state.recorder) state.recorder.move(Decision::Kind::park, grid, {.index = index, .sm = sm});
  state.settle(grid);
}

bool Distributor::resume(Grid& grid, std::uint32_t sm, std::uint64_t index, CtaStanding& standing,
                         LaunchSink& sink) {
  State& state = *state_;
  state.enter_lone();
  if (standing == CtaStanding::suspended) {
    standing = CtaStanding::returning;
    ++grid.returning;
    state.returning.add(grid, sm);
  }
  if (grid.turn == Grid::Turn::rests) {
    grid.at_head = true;
    state.slots.enlist(grid);
  }
  state.fill_slots(sink);
  if (!grid.has_slot() || grid.preempted || state.is_held(grid) || state.table.look(grid.row).free[sm] == 0)
    return false;
  state.table.started(grid.row, sm);
  state.usage.start(sm, grid.needs, state.table[grid.row].needs_number);
  state.forget_suspended(grid, sm, 1, std::exchange(standing, CtaStanding::resident));
  ++state.freed;
  if (state.recorder) state.recorder.move(Decision::Kind::resume, grid, {.index = index, .sm = sm});
  return true;
}

}  // namespace raddle::machine
