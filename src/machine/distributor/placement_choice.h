// Which policy places a grid: the machine's own, or deep or wide placement where somebody asked for
// one of them, or has it follow from the address spaces that are scheduled. The only place that decides it.
#pragma once

#include <memory>

#include "machine/distributor/deep.h"
#include "machine/distributor/lake_filling.h"

namespace raddle::machine {

class PlacementChoice final : public Policy {
 public:
  /// @param own  for grids without a placement mode
  explicit PlacementChoice(std::unique_ptr<Policy> own) : own_(std::move(own)) {}
  std::string_view name() const override { return own_->name(); }
  bool refills_by_number() const override { return own_->refills_by_number(); }  // as the other two
  bool goes_by_free_slots() const override { return own_->goes_by_free_slots(); }
  void place(const Snapshot& snapshot, Placement& placement, DecisionLog* log) override {
    chosen(snapshot).place(snapshot, placement, log);
  }

 private:
  Policy& chosen(const Snapshot& snapshot) {
    if (!snapshot.mode) return *own_;
    if (*snapshot.mode == PlacementMode::wide) return wide_;
    if (*snapshot.mode == PlacementMode::deep || snapshot.spaces > 1) return deep_;
    return wide_;
  }

  const std::unique_ptr<Policy> own_;
  LakeFilling wide_;
  Deep deep_;
};

}  // namespace raddle::machine
