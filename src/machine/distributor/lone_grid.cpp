// When a grid is alone on the machine, and what happens when somebody looks at the SMs meanwhile.
#include "machine/distributor/lone_grid.h"

#include "machine/distributor/distributor_state.h"

namespace raddle::machine {

/// Nothing else holds anything, waits for room or may come back to its SM; and nothing but free slots counts.
bool Distributor::State::could_be_alone(const Grid& grid) const {
  return has_lone_grids_ && !recorder && usage.resident() == 0 && order.size() == 1 && grid.kind.is_plain() &&
         grid.next == 0 && grid.outstanding == 0 && !grid.open && !grid.mode && !grid.cluster_memory &&
         !returning.any() && !kept.any() && spaces.parked() == 0 && !spaces.is_confined(grid.space_row);
}

/// Launches a grid that is alone, and fits whole. @returns false: it is not, or does not
bool Distributor::State::launch_alone(Grid& grid, LaunchSink& sink) {
  if (!could_be_alone(grid)) return false;
  const LoneGrid::Question question{table[grid.row].needs_number, grid.ctas, grid.space,
                                    usage.enable_changes()};
  if (!lone.knows(question)) {
    const TaskTable::Row& row = table.look(grid.row);
    if (row.total < grid.ctas || !place(grid, row, grid.ctas) || placement_.launched != grid.ctas)
      return false;
    spaces.came_last(grid.space_row, placement_.sms);
    lone.know(question);
  }
  lone.come(grid);
  commit(grid, sink);
  return true;
}

/// Whether nothing is in the distributor but a lone grid, of which nothing has been said to have ended.
bool Distributor::State::is_all_alone(const Grid& grid) const {
  return lone.is(grid) && lone.exits().empty() && grid.outstanding == grid.ctas && order.size() == 0 &&
         slots.waiting() == 0 && slots.running().size() == 1 && grid.turn == Grid::Turn::runs &&
         !grid.has_extra_slot && !grid.withdrawn && !recorder;
}

bool Distributor::succeed_alone(Grid& ended, Grid& next) {
  State& state = *state_;
  if (next.cap_per_sm == 0) next.cap_per_sm = state.options.grid_cap_per_sm;
  const LoneGrid::Question question{state.table[ended.row].needs_number, next.ctas, next.space,
                                    state.usage.enable_changes()};
  const bool is_like = next.kind.is_plain() && next.needs == ended.needs &&
                       next.cap_per_sm == ended.cap_per_sm && next.context == ended.context && !next.open &&
                       !next.mode && !next.cluster_memory;
  if (!is_like || !state.is_all_alone(ended) || !state.lone.knows(question)) return false;
  next.row = ended.row;
  next.space_row = ended.space_row;
  next.spaces = ended.spaces;
  next.sequence = state.grids++;
  next.at_head = false;
  next.next = next.ctas;
  next.came(next.ctas);
  ++state.sequence;
  state.slots.hand_on(ended, next);
  ended.outstanding = 0;
  state.lone.come(next);
  return true;
}

void Distributor::State::enter_lone() {
  if (!lone.any()) return;
  const std::vector<SmRun> exits = lone.exits();
  Grid& grid = *lone.leave();
  enter(grid, placement_.sms);
  for (const SmRun& run : exits) leave_sms(grid, run, CtaStanding::resident);
  lone.forget();
}

}  // namespace raddle::machine
