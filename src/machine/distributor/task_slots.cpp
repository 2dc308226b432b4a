#include "machine/distributor/task_slots.h"

#include <algorithm>

namespace raddle::machine {

using Turn = Grid::Turn;

void TaskSlots::enlist(Grid& grid) {
  List& list = lists_[grid.priority];
  grid.turn = Turn::listed;
  grid.behind = nullptr;
  *list.end = &grid;
  list.end = &grid.behind;
  ++list.size, ++listed_;
}

void TaskSlots::unlink(List& list, const Grid& grid) {
  Grid** place = &list.first;
  while (*place != &grid) place = &(*place)->behind;
  *place = grid.behind;
  if (list.end == &grid.behind) list.end = place;
  --list.size;
}

Grid* TaskSlots::admit() {
  if (listed_ == 0 || running_.size() >= slots_) return nullptr;
  const auto list = std::ranges::find_if(lists_, [](const auto& entry) { return entry.second.size != 0; });
  Grid* const grid = list->second.first;
  unlink(list->second, *grid);
  --listed_;
  grid->turn = Turn::runs;
  running_.push_back(grid);
  return grid;
}

/// Of the most urgent that wait, at a position among all.
int TaskSlots::priority_of_listed(std::size_t position) const {
  auto list = lists_.begin();
  for (; position >= list->second.size; ++list) position -= list->second.size;
  return list->first;
}

/// Of the lowest priority the one that came last, if it has something left to launch. The first in the lists
/// get the slots of those that leave already.
Grid* TaskSlots::evict() {
  if (leaving_ >= listed_) return nullptr;
  Grid* least = nullptr;
  for (Grid* grid : running_) {
    if (grid->turn == Turn::leaves || grid->all_launched()) continue;
    if (least == nullptr || grid->priority >= least->priority) least = grid;
  }
  if (least == nullptr || least->priority <= priority_of_listed(leaving_)) return nullptr;
  least->turn = Turn::leaves;
  ++leaving_;
  return least;
}

void TaskSlots::give_back(Grid& grid) {
  remove(grid);
  enlist(grid);
}

void TaskSlots::remove(const Grid& grid) {
  if (grid.turn == Turn::listed) {
    unlink(lists_.at(grid.priority), grid);
    --listed_;
    return;
  }
  if (grid.turn == Turn::aside) {
    std::erase(aside_, &grid);
    return;
  }
  leaving_ -= grid.turn == Turn::leaves;
  running_.erase(std::ranges::find(running_, &grid));
}

void TaskSlots::set_aside(Grid& grid) {
  remove(grid);
  grid.turn = Turn::aside;
  aside_.push_back(&grid);
}

void TaskSlots::take_back() {
  for (Grid* grid : aside_) enlist(*grid);
  aside_.clear();
}

}  // namespace raddle::machine
