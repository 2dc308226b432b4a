// Which CTA a launch index is (W-14, W-15). The distributor broadcasts only how many CTAs start; each SM
// counts those that start elsewhere and turns the count into a position only when a CTA starts on it.
#pragma once

#include <cstdint>

#include "machine/distributor/grid.h"

namespace raddle::machine {

/// Where a CTA stands in its grid (W-15).
struct CtaPosition {
  std::uint32_t ctaid[3] = {};
  std::uint32_t cluster_rank = 0;  ///< in its innermost cluster, x fastest; 0 in a plain grid
  /// Its cluster of a level of nesting, GridKind::levels in their order.
  struct Cluster {
    std::uint32_t id[3] = {};  ///< among all clusters of that level in the grid
    std::uint32_t rank = 0;    ///< of the CTA in it, in launch order
  };
  std::array<Cluster, kLevels> clusters{};  ///< GridKind::depth of them
};

/// One SM's view of one grid: its dimensions, the position computed last, and the launches since. Allocates
/// nothing. CTAs launch cluster by cluster; inside, and of a plain grid, x first, then y, then z.
class Rasteriser {
 public:
  /// Launches that are counted before they must be decomposed: few bits, so that dividing is cheap.
  static constexpr unsigned kDeltaBits = 16;

  /// Starts on a grid, or joins one of which `launched` CTAs have been launched. The extents of each level
  /// divide those of the one above, and what is in `grid_ctas`.
  void reset(const GridKind& kind, const std::uint32_t* grid_ctas, std::uint64_t launched = 0);
  /// CTAs started elsewhere.
  void skip(std::uint64_t ctas) {
    if (ctas >> kDeltaBits == 0) {
      delta_ += static_cast<std::uint32_t>(ctas);
      if (delta_ >> kDeltaBits == 0) return;
      ctas = 0;
    }
    overflow(ctas);
  }
  /// The next CTA starts here.
  const CtaPosition& take() {
    const std::uint32_t x = depth_ == 0 ? position_.ctaid[0] : at_[depth_][0];
    if (delta_ == 1 && x + 1 < steps_[depth_].extent[0]) {
      advance_x();
    } else {
      settle();
    }
    delta_ = 1;
    return position_;
  }
  /// The CTA of a launch index; cheap while these increase. skip() and take() go on after it.
  const CtaPosition& at(std::uint64_t launch_index) {
    if (launch_index < index_ + delta_) rewind();
    skip(launch_index - (index_ + delta_));
    return take();
  }

  std::uint64_t decompositions() const { return decompositions_; }  ///< of deltas, into positions (W-22)
  std::uint64_t overflows() const { return overflows_; }            ///< those for lack of bits, of these

 private:
  // Positions of one level, in units of the next, within a cluster of the level above.
  struct Step {
    std::uint32_t extent[3];
    std::uint64_t plane;                                       // extent[0] * extent[1]
    std::uint64_t plane_inverse, row_inverse, column_inverse;  // of plane, extent[0] and extent[2]
    std::uint64_t ctas;                                        // of one unit
  };
  template <bool narrow>
  std::uint64_t add(const Step& step, std::uint32_t* at, std::uint64_t delta);
  template <bool narrow>
  void decompose(std::uint64_t delta);
  void advance_x();
  void overflow(std::uint64_t ctas);
  void settle();
  void publish();
  void divide(const GridKind& kind, const std::uint32_t* grid_ctas);
  void rewind();

  unsigned depth_ = 0;
  std::uint32_t delta_ = 0;                // launches since index_; 0 only before the first CTA
  std::uint64_t index_ = 0;                // launch index of at_
  std::uint64_t ctas_ = 0;                 // of the grid
  std::array<Step, kLevels + 1> steps_{};  // outermost first: the grid in clusters, ..., CTAs
  std::uint32_t at_[kLevels + 1][3] = {};  // by step; a plain grid's only one is position_.ctaid
  CtaPosition position_;
  std::uint64_t decompositions_ = 0, overflows_ = 0;
};

inline void Rasteriser::advance_x() {
  ++index_;
  ++decompositions_;
  ++position_.ctaid[0];
  if (depth_ == 0) return;
  ++at_[depth_][0];
  ++position_.cluster_rank;
  for (unsigned level = 0; level < depth_; ++level) ++position_.clusters[level].rank;
}

}  // namespace raddle::machine
