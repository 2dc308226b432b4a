// Who is served when: by priority, then age. A grid that finds no room does not block those after it, until
// they have launched `patience` CTAs past it; then nothing after it is launched before it gets on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "machine/distributor/grid.h"

namespace raddle::machine {

/// Grids with something left to launch, in the order in which they are served.
class ServiceOrder {
 public:
  void add(Grid& grid);
  void remove(Grid& grid);
  void remove_at(std::size_t position) {
    grids_.erase(grids_.begin() + static_cast<std::ptrdiff_t>(position));
  }
  std::size_t size() const { return grids_.size(); }
  Grid& operator[](std::size_t position) const { return *grids_[position]; }

 private:
  std::vector<Grid*> grids_;
};

/// One pass over the service order: how many CTAs each grid may launch.
class Session {
 public:
  static constexpr std::uint64_t kUnlimited = ~0ull;
  /// @param credits  most CTAs launched in it; 0: no limit
  void begin(std::uint64_t credits);
  /// Clusters of so many CTAs that may be launched. A cluster larger than the credits goes alone; patience is
  /// never exceeded.
  std::uint64_t clusters(std::uint64_t size) const {
    const std::uint64_t by_credits = launched_ < credits_ ? (credits_ - launched_) / size : 0;
    return std::min((stop_ - launched_) / size, launched_ == 0 && by_credits == 0 ? 1 : by_credits);
  }
  bool exhausted() const { return launched_ >= credits_ || launched_ >= stop_; }
  std::uint64_t launched() const { return launched_; }
  void count(std::uint64_t ctas) { launched_ += ctas; }
  /// A grid stays behind, waiting for room: what is launched from here on goes past it.
  void leave_behind(Grid& grid, std::uint64_t patience);
  /// Tells the grids left behind what went past them.
  void end();

 private:
  struct Behind {
    Grid* grid;
    std::uint64_t launched;  // in the session, before anything went past it
  };
  std::uint64_t credits_ = 0, launched_ = 0;
  std::uint64_t stop_ = kUnlimited;  // value of launched_ at which the patience of a grid left behind ends
  std::vector<Behind> behind_;
};

}  // namespace raddle::machine
