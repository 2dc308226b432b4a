// The address spaces whose grids are in the distributor, the SMs that hold their CTAs, which is what deep
// placement and its choice go by, and the SMs that they may use.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "machine/shape/machine_shape.h"
#include "raddle/placement.h"

namespace raddle::machine {

inline constexpr std::uint64_t kNoSpace = ~0ull;

class Spaces {
 public:
  explicit Spaces(std::uint32_t sms) : last_(sms, kNoSpace), empty_(sms, 0) {}

  /// A grid of the space comes. @returns the space's row, which stays its own until its last grid has gone
  std::uint32_t acquire(std::uint64_t id);
  void release(std::uint32_t row);
  /// CTAs of one of its grids, by SM.
  void started(std::uint32_t row, std::span<const std::uint32_t> sms) {
    std::uint32_t* const ctas = rows_[row].ctas.data();
    std::uint64_t* const last = last_.data();
    const std::uint64_t id = rows_[row].id;
    for (const std::uint32_t sm : sms) ++ctas[sm], last[sm] = id;
  }
  /// The same for what is `last` alone: it is over at once.
  void came_last(std::uint32_t row, std::span<const std::uint32_t> sms) {
    for (const std::uint32_t sm : sms) last_[sm] = rows_[row].id;
  }
  void exited(std::uint32_t row, std::uint32_t sm, std::uint32_t count) { rows_[row].ctas[sm] -= count; }

  /// A CTA of it is parked: the SM stays one of those that hold its CTAs, so that it can go on there.
  void parked(std::uint32_t row, std::uint32_t sm) { ++rows_[row].parked[sm], ++parked_; }
  /// It is back, or will not come.
  void unparked(std::uint32_t row, std::uint32_t sm) { --rows_[row].parked[sm], --parked_; }
  std::uint64_t parked() const { return parked_; }  ///< CTAs of all

  std::uint32_t scheduled() const { return scheduled_; }  ///< spaces that have grids here
  std::uint32_t sms_with_ctas(std::uint32_t row) const { return sms_with_ctas(rows_[row]); }
  /// By SM: CTAs of the space that are resident.
  std::span<const std::uint32_t> ctas(std::uint32_t row) const { return rows_[row].ctas; }
  /// By SM: the space whose CTA it got last; kNoSpace: none yet.
  std::span<const std::uint64_t> last() const { return last_; }

  /// From now on; CTAs that are resident stay. Holds without grids, too, until the limit is none.
  void confine(std::uint64_t id, const SmLimit& limit);
  SmLimit limit_of(std::uint64_t id) const;
  bool is_confined(std::uint32_t row) const { return !rows_[row].limit.is_none(); }
  /// Whether the space has as many SMs as it may: then it waits for itself, not for others.
  bool is_at_limit(std::uint32_t row) const;
  /// Of `clusters` of `size` CTAs, those that may be launched at once: CTAs open no more SMs than they are.
  std::uint64_t within_limit(std::uint32_t row, std::uint64_t clusters, std::uint64_t size) const;
  /// Free slots as a grid of the space sees them: none where a cluster of `size` CTAs may not go.
  /// @param domains   of its outermost clusters; for a plain grid, any
  /// @param share     by SM, whether its kind of work may go there, too; empty: everywhere
  /// @param is_empty  whether to take the machine for empty
  std::span<const std::uint32_t> visible(std::uint32_t row, std::span<const std::uint32_t> free,
                                         std::uint64_t size, std::span<const Domain> domains,
                                         std::span<const std::uint8_t> share, bool is_empty = false);

 private:
  struct Row {
    std::uint64_t id = kNoSpace;
    std::uint32_t grids = 0;
    std::vector<std::uint32_t> ctas, parked;
    SmLimit limit = {};
    bool is_free() const { return grids == 0 && limit.is_none(); }
    bool holds(std::uint32_t sm) const { return ctas[sm] != 0 || parked[sm] != 0; }
  };
  Row& row_of(std::uint64_t id);
  static std::uint32_t sms_with_ctas(const Row& row);
  static std::uint32_t sms_held(const Row& row);
  static std::uint32_t openable(const Row& row, bool is_empty);
  template <class Rank>
  void hide_all_but(std::uint32_t count, const Domain& domain, Rank rank);

  std::vector<Row> rows_;
  std::vector<std::uint64_t> last_;
  std::uint32_t scheduled_ = 0;
  std::uint64_t parked_ = 0;
  std::vector<std::uint32_t> visible_, empty_;                    // of the latest question; all 0
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_rank_;  // SMs
};

}  // namespace raddle::machine
