// A plain grid that was launched whole on the empty machine, and nothing beside it. What its CTAs take of the
// SMs enters the live model only if somebody looks before it ends (State::enter_lone): most small grids of a
// stream come and go without that. And where the next one is the same, its placement is known, as it follows
// from the empty machine alone (Policy::goes_by_free_slots).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "machine/distributor/grid.h"

namespace raddle::machine {

class LoneGrid {
 public:
  /// What its placement follows from.
  struct Question {
    std::uint64_t needs = 0;  ///< TaskTable::Row::needs_number; 0: none
    std::uint64_t ctas = 0;
    std::uint64_t space = 0;           ///< that its SMs have had a CTA of last since
    std::uint64_t enable_changes = 0;  ///< SmUsage::enable_changes
    bool operator==(const Question&) const = default;
  };

  bool is(const Grid& grid) const { return grid_ == &grid; }
  bool any() const { return grid_ != nullptr; }
  /// It is on the machine, by the placement of the question.
  void come(Grid& grid) { grid_ = &grid; }
  void exited(const SmRun& run) { exited_.push_back(run); }
  /// It has ended, or what it holds is in the live model. @returns it
  Grid* leave() {
    exited_.clear();
    return std::exchange(grid_, nullptr);
  }
  const std::vector<SmRun>& exits() const { return exited_; }

  /// The latest placement is that of the question on the empty machine.
  void know(const Question& question) { known_ = question; }
  bool knows(const Question& question) const { return known_ == question; }
  void forget() { known_ = {}; }

 private:
  Grid* grid_ = nullptr;
  std::vector<SmRun> exited_;
  Question known_;
};

}  // namespace raddle::machine
