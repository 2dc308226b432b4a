// The order of service: by priority, then age. A grid that finds no room does not block those after it, until
// they have launched `patience` CTAs past it. Then a domain in which it would fit is kept for it: later grids
// launch nothing there until it gets on, so that the domain empties and it fits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "machine/distributor/grid.h"

namespace raddle::machine {

/// Grids with something left to launch, in the order in which they are served.
class ServiceOrder {
 public:
  void add(Grid& grid);
  void remove(Grid& grid);
  std::size_t size() const { return grids_.size(); }
  Grid& operator[](std::size_t position) const { return *grids_[position]; }

 private:
  std::vector<Grid*> grids_;
};

/// One call of distribute: how many CTAs may still be launched, by credits and by patience. It serves the
/// grids in passes; a pass ends when all are served or a grid's patience ends.
class Session {
 public:
  static constexpr std::uint64_t kUnlimited = ~0ull;
  /// @param credits  most CTAs launched in it; 0: no limit
  void begin(std::uint64_t credits);
  /// Clusters of so many CTAs that may be launched. A cluster larger than the credits goes alone; patience is
  /// never exceeded.
  std::uint64_t clusters(std::uint64_t size) const { return std::min(by_credits(size), by_patience(size)); }
  /// Whether patience alone keeps a cluster of this many CTAs from passing.
  bool patience_denies(std::uint64_t size) const { return by_credits(size) != 0 && by_patience(size) == 0; }
  /// A cluster that would fit may not pass: the waiting grids have too little patience left for it.
  void deny(std::uint64_t size) { denied_ = std::max(denied_, size); }
  bool pass_is_over() const { return launched_ >= credits_ || launched_ >= stop_; }
  std::uint64_t launched() const { return launched_; }
  void count(std::uint64_t ctas) { launched_ += ctas; }
  /// A grid stays behind, waiting for room: later launches go past it.
  void leave_behind(Grid& grid, std::uint64_t patience);
  /// Counts, for the grids left behind, the CTAs that went past them. @returns whether another pass may
  /// launch more
  bool end_pass();

 private:
  struct Behind {
    Grid* grid;
    std::uint64_t patience;  // that remains
    std::uint64_t launched;  // in the session, before anything went past it
  };
  std::uint64_t by_credits(std::uint64_t size) const {
    if (launched_ >= credits_) return 0;
    return launched_ == 0 ? std::max<std::uint64_t>(1, credits_ / size) : (credits_ - launched_) / size;
  }
  std::uint64_t by_patience(std::uint64_t size) const { return (stop_ - launched_) / size; }

  std::uint64_t credits_ = 0, launched_ = 0;
  std::uint64_t stop_ = kUnlimited;  // value of launched_ at which the patience of a grid left behind ends
  std::uint64_t denied_ = 0;         // CTAs of the largest cluster that was not let past
  std::vector<Behind> behind_;
};

/// What is kept for grids left behind, as later grids see it: SMs without free slots, and fewer ids. Filled
/// anew in each pass.
class Kept {
 public:
  explicit Kept(const MachineShape& shape) : shape_(shape), closed_(shape.sm_count(), 0) {}
  void clear();
  bool any() const { return any_; }
  bool overlaps(const Domain& domain) const;
  bool has(std::uint32_t sm) const { return closed_[sm] != 0; }
  /// Keeps a domain for a grid.
  void keep(const Grid& grid, Level level, const Domain& domain);
  /// Keeps an SM for CTAs that come back to it.
  void keep(std::uint32_t sm) { any_ = true, closed_[sm] = 1; }

  std::span<const std::uint32_t> free(std::span<const std::uint32_t> free);
  std::span<const std::uint32_t> clusters(std::span<const std::uint32_t> clusters);

 private:
  const MachineShape& shape_;
  bool any_ = false;
  std::vector<std::uint8_t> closed_;  // by SM
  std::vector<std::uint32_t> ids_;    // kept, by GPC; empty: none
  std::vector<std::uint32_t> free_, clusters_;
};

/// CTAs that were suspended and come back as soon as there is room on their SM: before all that has not
/// begun, if their grids have slots. (Without one they would keep those that have one from getting on.)
class Returning {
 public:
  bool any() const { return !ctas_.empty(); }
  void add(const Grid& grid, std::uint32_t sm) { ctas_.push_back({&grid, sm}); }
  void remove(const Grid& grid, std::uint32_t sm) { ctas_.erase(std::ranges::find(ctas_, Cta{&grid, sm})); }
  /// Their SMs.
  void keep_in(Kept& kept) const {
    for (const Cta& cta : ctas_)
      if (cta.grid->has_slot()) kept.keep(cta.sm);
  }

 private:
  struct Cta {
    const Grid* grid;
    std::uint32_t sm;
    bool operator==(const Cta&) const = default;
  };
  std::vector<Cta> ctas_;
};

}  // namespace raddle::machine
