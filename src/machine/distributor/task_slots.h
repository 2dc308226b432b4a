// The slots of the machine in which tasks run, and the lists in which they wait for one: a list for
// each priority, first in, first out. Where all slots are taken, a waiting grid of higher priority makes one
// of lower priority leave, or one of its own priority whose turn is over: that launches nothing more, and
// when none of its CTAs is resident it is listed again, with its progress. In the preemptive mode what it has
// resident stops in the middle for a more urgent one.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "machine/distributor/grid.h"

namespace raddle::machine {

class TaskSlots {
 public:
  /// @param slots  0: as many as are wanted
  /// @param turn   CTAs that a grid launches before one of equal priority may have its slot; 0: all it has
  explicit TaskSlots(std::uint32_t slots, std::uint64_t turn = 0, bool preemptive = false)
      : slots_(slots == 0 ? ~std::size_t{0} : slots),
        turn_(turn == 0 ? ~std::uint64_t{0} : turn),
        preemptive_(preemptive) {}

  /// At the end of the list of its priority; at the head, the first time, if it wants that.
  void enlist(Grid& grid);
  /// It waits from now on, behind all that wait already.
  void rank(Grid& grid) { grid.rank = ++ranks_; }
  /// The next of the lists gets a free slot. @returns null: none is free, or nobody waits
  Grid* admit();
  /// The first in the lists that is wanted gets a slot beyond their number, and keeps it.
  /// @param is_wanted  (const Grid&)
  template <class Wanted>
  Grid* admit_first(Wanted is_wanted) {
    for (auto& [priority, list] : lists_)
      for (Grid* grid = list.first; grid != nullptr; grid = grid->behind)
        if (is_wanted(*grid)) {
          grid->has_extra_slot = true;
          ++extra_;
          return admit(list, *grid);
        }
    return nullptr;
  }
  /// A grid that leaves from now on for one that waits. @returns null: nobody has to
  Grid* evict();
  /// Of those that leave, one that is to stop in the middle from now on. @returns null: nobody has to
  Grid* preempt();
  /// One that leaves has nothing resident any more: it gives its slot back, and waits for another turn.
  void give_back(Grid& grid);
  /// It has nothing to launch now, and nothing resident: it gives its slot back, and waits for none.
  void rest(Grid& grid);
  /// It is finished, or will not run.
  void remove(Grid& grid);
  /// It is finished, and the next one, which has not been here, has its slot.
  void hand_on(Grid& grid, Grid& next);
  /// A running grid that can never launch anything gives its slot to others, until take_back().
  void set_aside(Grid& grid);
  void take_back();

  /// All that have something to launch, or something resident. @param look  (Grid&)
  template <class Look>
  void for_each(Look look) const {
    for (const auto& [priority, list] : lists_)
      for (Grid* grid = list.first; grid != nullptr; grid = grid->behind) look(*grid);
    for (Grid* grid : aside_) look(*grid);
    for (Grid* grid : running_) look(*grid);
  }

  std::size_t listed() const { return listed_; }
  std::size_t waiting() const { return listed_ + aside_.size(); }
  /// By admission; those that leave, too.
  std::span<Grid* const> running() const { return running_; }

 private:
  /// Linked by Grid::behind: a launch allocates nothing (K-10).
  struct List {
    Grid* first = nullptr;
    Grid** end = &first;
    std::size_t size = 0;
  };
  static void unlink(List& list, const Grid& grid);
  Grid* admit(List& list, Grid& grid);
  int priority_of_listed(std::size_t position) const;
  std::size_t more_urgent_than(const Grid& grid) const;
  bool could_stop(const Grid& grid) const {
    return preemptive_ && !grid.withdrawn && grid.outstanding != grid.suspended && grid.can_be_preempted();
  }
  bool turn_is_over(const Grid& grid) const { return grid.next - grid.turn_began >= turn_; }

  const std::size_t slots_;
  const std::uint64_t turn_;
  const bool preemptive_;
  std::map<int, List> lists_;  // by priority
  std::vector<Grid*> aside_;
  std::vector<Grid*> running_;
  std::size_t listed_ = 0, leaving_ = 0, extra_ = 0;
  std::int64_t ranks_ = 0;
};

}  // namespace raddle::machine
