// GPCs set aside per kind of work: each kind that has some has GPCs of its own, in shares that
// follow how much it has. Pure arithmetic, on counts alone, so that the same load gives the same shares.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "machine/shape/machine_shape.h"

namespace raddle::machine {

class Shares {
 public:
  /// @param kinds  of work; less than 2: nothing is set aside
  Shares(const MachineShape& shape, std::uint32_t kinds);

  std::uint32_t kinds() const { return static_cast<std::uint32_t>(load_.size()); }
  bool is_on() const { return kinds() > 1; }
  /// The kind of a grid that says so.
  std::uint32_t kind_of(std::uint32_t work_kind) const { return work_kind < kinds() ? work_kind : 0; }

  /// A part of what a kind has waiting or running was `before` CTAs, and is `now`.
  void change_load(std::uint32_t kind, std::uint64_t before, std::uint64_t now);
  /// CTAs were launched: after so many the shares are due.
  void count_launched(std::uint64_t ctas, std::uint64_t every) {
    if ((launched_ += ctas) >= every) is_due_ = true;
  }
  /// What fits where is another question now.
  void machine_changed() { ++version_; }
  /// Decides anew, if that is due: some kind has got or lost all its work, or much was launched.
  /// @returns whether GPCs have changed hands
  bool decide_if_due();

  /// By kind: its GPCs; all where nobody else has work, none without work.
  const std::vector<std::vector<std::uint32_t>>& gpcs() const { return gpcs_; }
  /// By SM: 1 if a kind may launch there. Empty: everywhere.
  std::span<const std::uint8_t> mask(std::uint32_t kind) const { return masks_[kind]; }
  bool is_split() const { return active_ > 1; }       ///< whether several kinds have work
  std::uint64_t version() const { return version_; }  ///< changes with the masks

 private:
  void deal(const std::vector<std::uint32_t>& counts);

  const MachineShape& shape_;
  std::vector<std::uint32_t> usable_;  // GPCs that have SMs
  std::vector<std::uint64_t> load_;    // by kind
  std::vector<std::vector<std::uint32_t>> gpcs_;
  std::vector<std::vector<std::uint8_t>> masks_;
  std::uint32_t active_ = 0;  // kinds that had work at the last decision
  std::uint64_t launched_ = 0, version_ = 1;
  bool is_due_ = false;
};

/// Divides GPCs among kinds by their loads: one for each that has any, the others where a GPC has most to do.
/// More such kinds than GPCs: each has one, in turn.
std::vector<std::uint32_t> divide_gpcs(std::uint32_t gpcs, std::span<const std::uint64_t> loads);

}  // namespace raddle::machine
