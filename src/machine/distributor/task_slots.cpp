#include "machine/distributor/task_slots.h"

#include <algorithm>
#include <utility>

namespace raddle::machine {

using Turn = Grid::Turn;

void TaskSlots::enlist(Grid& grid) {
  List& list = lists_[grid.priority];
  grid.turn = Turn::listed;
  rank(grid);
  const bool at_head = std::exchange(grid.at_head, false);
  if (at_head) grid.rank = -grid.rank;
  Grid** const place = at_head ? &list.first : list.end;
  grid.behind = *place;
  *place = &grid;
  if (list.end == place) list.end = &grid.behind;
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
  if (listed_ == 0 || running_.size() - extra_ >= slots_) return nullptr;
  const auto list = std::ranges::find_if(lists_, [](const auto& entry) { return entry.second.size != 0; });
  return admit(list->second, *list->second.first);
}

Grid* TaskSlots::admit(List& list, Grid& grid) {
  unlink(list, grid);
  --listed_;
  grid.turn = Turn::runs;
  grid.turn_began = grid.next;
  grid.preempted = false;
  running_.push_back(&grid);
  return &grid;
}

/// Of the most urgent that wait, at a position among all.
int TaskSlots::priority_of_listed(std::size_t position) const {
  auto list = lists_.begin();
  for (; position >= list->second.size; ++list) position -= list->second.size;
  return list->first;
}

/// Of the lowest priority the one that came last, if it has something left to launch or could stop before its
/// end; of equals whose turn is over the one that came first. The first in the lists get the slots of those
/// that leave already.
Grid* TaskSlots::evict() {
  if (leaving_ >= listed_) return nullptr;
  const int wanted = priority_of_listed(leaving_);
  Grid *least = nullptr, *equal = nullptr;
  for (Grid* grid : running_) {
    if (grid->turn == Turn::leaves || (grid->none_left() && !could_stop(*grid)) || grid->has_extra_slot)
      continue;
    if (least == nullptr || grid->priority >= least->priority) least = grid;
    if (equal == nullptr && grid->priority == wanted && !grid->none_left() && turn_is_over(*grid))
      equal = grid;
  }
  Grid* const leaving = least != nullptr && least->priority > wanted ? least : equal;
  if (leaving == nullptr) return nullptr;
  leaving->turn = Turn::leaves;
  ++leaving_;
  return leaving;
}

std::size_t TaskSlots::more_urgent_than(const Grid& grid) const {
  std::size_t count = 0;
  for (auto list = lists_.begin(); list != lists_.end() && list->first < grid.priority; ++list)
    count += list->second.size;
  return count;
}

/// The least urgent, as far as more wait that are more urgent than it than have been given a slot in this
/// way. One may also have begun to leave for an equal.
Grid* TaskSlots::preempt() {
  if (!preemptive_ || leaving_ == 0) return nullptr;
  Grid* least = nullptr;
  std::size_t preempted = 0;
  for (Grid* grid : running_) {
    if (grid->turn != Turn::leaves) continue;
    preempted += grid->preempted;
    if (!grid->preempted && could_stop(*grid) && (least == nullptr || grid->priority > least->priority))
      least = grid;
  }
  if (least == nullptr || more_urgent_than(*least) <= preempted) return nullptr;
  least->preempted = true;
  return least;
}

void TaskSlots::give_back(Grid& grid) {
  remove(grid);
  enlist(grid);
}

void TaskSlots::rest(Grid& grid) {
  remove(grid);
  grid.turn = Turn::rests;
}

void TaskSlots::remove(Grid& grid) {
  if (grid.turn == Turn::rests) return;
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
  extra_ -= std::exchange(grid.has_extra_slot, false);
  running_.erase(std::ranges::find(running_, &grid));
}

void TaskSlots::hand_on(Grid& grid, Grid& next) {
  *std::ranges::find(running_, &grid) = &next;
  rank(next);
  next.turn = std::exchange(grid.turn, Turn::rests);
  next.turn_began = 0;
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
