// The task table (W-2): for the grids in the distributor, how many of their CTAs each SM still takes. All SMs
// are looked at when a row starts; afterwards only those that changed. Grids with equal needs share a row,
// and a row outlives its grids for a while: a stream of equal launches computes nothing anew.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "machine/distributor/sm_usage.h"

namespace raddle::machine {

class TaskTable {
 public:
  static constexpr std::size_t kRows = 16;  ///< rows kept; more only while more are in use

  struct Row {
    CtaNeeds needs;
    std::uint32_t cap = 0;  ///< most CTAs of the grid on one SM; 0: none. With a cap: one grid's own
    bool takes_cluster_slots = false;
    std::uint64_t needs_number = 0;   ///< names the needs in SmUsage's journal; a new row, a new number
    std::vector<std::uint32_t> free;  ///< by SM: slots left, as policies see them
    std::uint64_t total = 0;          ///< sum of `free`

    /// Whether some SM would hold more CTAs than it offers. It offers one CTA per free cluster slot, as every
    /// CTA may need one of its own; where CTAs of a cluster then share one, it has more to offer.
    bool withholds() const { return takes_cluster_slots && fit != free; }

   private:
    friend class TaskTable;
    std::uint32_t users = 0;                  // grids in the distributor
    std::uint64_t released = 0;               // when the last user went, in calls of release
    std::uint64_t seen = 0, enable_seen = 0;  // changes of SmUsage that `free` holds
    std::vector<std::uint32_t> fit;           // `free` without cluster slots and enable bits
    std::vector<std::uint32_t> resident;      // by SM; of rows with a cap
  };

  explicit TaskTable(const SmUsage& usage) : usage_(usage), stamp_(usage.count()) {}

  /// The row of a grid's needs, kept until `release`. @returns its index
  std::uint32_t acquire(const Grid& grid, bool takes_cluster_slots);
  void release(std::uint32_t row);
  /// The row, brought up to date.
  const Row& look(std::uint32_t row);
  const Row& operator[](std::uint32_t row) const { return *rows_[row]; }
  /// By SM, as of the last look: CTAs that it has room for, if cluster slots and enable bits are no matter.
  std::span<const std::uint32_t> room(std::uint32_t row) const { return rows_[row]->fit; }
  void started(std::uint32_t row,
               std::uint32_t sm);  ///< a CTA of one of its grids; before SmUsage hears of it
  void exited(std::uint32_t row, std::uint32_t sm, std::uint32_t count);

 private:
  Row& unused_row(std::uint32_t& index);
  void compute(Row& row);
  void follow(Row& row);
  std::uint32_t fit(const Row& row, std::uint32_t sm) const;
  std::uint32_t present(const Row& row, std::uint32_t sm) const;
  void set(Row& row, std::uint32_t sm, std::uint32_t fit);

  const SmUsage& usage_;
  std::vector<std::unique_ptr<Row>> rows_;
  std::vector<std::uint64_t> stamp_;  // by SM: the round of `follow` in which its fit was computed anew
  std::uint64_t round_ = 0, releases_ = 0, needs_numbers_ = 0;
};

inline void TaskTable::started(std::uint32_t row, std::uint32_t sm) {
  if (rows_[row]->cap != 0) ++rows_[row]->resident[sm];
}

inline void TaskTable::exited(std::uint32_t row, std::uint32_t sm, std::uint32_t count) {
  if (rows_[row]->cap != 0) rows_[row]->resident[sm] -= count;
}

}  // namespace raddle::machine
