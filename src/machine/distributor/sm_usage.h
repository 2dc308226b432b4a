// What every SM holds (W-2), the live model's lowest layer: CTAs and what they take, cluster slots, an enable
// bit per TPC. Each change is noted in a journal, from which the rows of the task table are brought up to
// date by looking only at the SMs that changed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "machine/distributor/grid.h"

namespace raddle::machine {

/// A change of one SM. Rows with the same needs as `needs` only add `ctas`: one CTA more or less of equal
/// needs changes what fits by exactly one, whatever else the SM holds.
struct SmChange {
  std::uint32_t sm = 0;
  std::int32_t ctas = 0;    ///< that exited (positive) or started (negative); 0: its cluster slots changed
  std::uint64_t needs = 0;  ///< number of the needs, see TaskTable::Row::needs_number
};

class SmUsage {
 public:
  /// @param cap_per_sm  most CTAs on one SM (W-23); 0: its CTA slots
  SmUsage(const MachineShape& shape, std::uint32_t cap_per_sm);

  void start(std::uint32_t sm, const CtaNeeds& needs, std::uint64_t needs_number);
  void exit(std::uint32_t sm, std::uint32_t count, const CtaNeeds& needs, std::uint64_t needs_number);
  void take_cluster_slot(std::uint32_t sm);
  void return_cluster_slot(std::uint32_t sm);
  void enable(std::uint32_t tpc, bool on);  ///< off: residents stay, nothing more is launched there

  /// CTAs that still fit an SM, cluster slots and the enable bit left aside.
  std::uint32_t fit(std::uint32_t sm, const CtaNeeds& needs) const;
  std::uint32_t fit_empty(const CtaNeeds& needs) const;
  std::uint32_t cluster_slots(std::uint32_t sm) const { return cluster_slots_[sm]; }  ///< free ones
  bool enabled(std::uint32_t sm) const { return enabled_[sm] != 0; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(load_.size()); }
  const std::vector<std::uint32_t>& load() const { return load_; }  ///< CTAs resident, by SM
  std::uint64_t resident() const { return resident_; }              ///< CTAs on all SMs
  const CtaNeeds& used(std::uint32_t sm) const { return used_[sm]; }

  /// Number of changes so far; the last kJournal of them can be read.
  std::uint64_t changes() const { return changes_; }
  const SmChange& change(std::uint64_t number) const { return journal_[number % kJournal]; }
  static constexpr std::uint64_t kJournal = 512;
  std::uint64_t enable_changes() const { return enable_changes_; }

 private:
  void note(SmChange change) { journal_[changes_++ % kJournal] = change; }

  const MachineShape& shape_;
  const std::uint32_t ctas_per_sm_;
  std::vector<std::uint32_t> load_, cluster_slots_;
  std::vector<CtaNeeds> used_;  // sums over the CTAs of an SM
  std::vector<std::uint8_t> enabled_;
  std::uint64_t resident_ = 0, changes_ = 0, enable_changes_ = 0;
  std::array<SmChange, kJournal> journal_;
};

inline void SmUsage::start(std::uint32_t sm, const CtaNeeds& needs, std::uint64_t needs_number) {
  CtaNeeds& used = used_[sm];
  used.threads += needs.threads, used.warps += needs.warps, used.barriers += needs.barriers;
  used.registers += needs.registers, used.shared_bytes += needs.shared_bytes;
  ++load_[sm], ++resident_;
  note({sm, -1, needs_number});
}

inline void SmUsage::exit(std::uint32_t sm, std::uint32_t count, const CtaNeeds& needs,
                          std::uint64_t needs_number) {
  CtaNeeds& used = used_[sm];
  used.threads -= needs.threads * count, used.warps -= needs.warps * count;
  used.barriers -= needs.barriers * count;
  used.registers -= needs.registers * count, used.shared_bytes -= needs.shared_bytes * count;
  load_[sm] -= count, resident_ -= count;
  note({sm, static_cast<std::int32_t>(count), needs_number});
}

}  // namespace raddle::machine
