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

void Distributor::State::enter_lone() {
  if (!lone.any()) return;
  const std::vector<SmRun> exits = lone.exits();
  Grid& grid = *lone.leave();
  enter(grid, placement_.sms);
  for (const SmRun& run : exits) leave_sms(grid, run, CtaStanding::resident);
  lone.forget();
}

}  // namespace raddle::machine
