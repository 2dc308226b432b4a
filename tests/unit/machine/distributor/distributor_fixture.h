// A distributor alone, as a test drives it: grids, a sink that keeps what is resident, completions by hand.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "machine/distributor/distributor.h"
#include "machine/shape/even_shape.h"

namespace raddle::machine::testing {

/// A machine of equal GPCs: TPCs per GPC, SMs per TPC; one CPC each.
inline MachineShape grid_of_gpcs(std::uint32_t gpcs, std::uint32_t tpcs, std::uint32_t sms = 2) {
  return machine_of(gpcs, 1, tpcs, sms);
}

/// Clusters of `ctas` in one level.
inline GridKind clusters_of(std::uint32_t ctas, Level domain = Level::gpc) {
  GridKind kind;
  kind.depth = 1;
  kind.levels[0] = {domain, {ctas, 1, 1}};
  return kind;
}

/// First domain with room, its SMs in order: one level of clusters, no nesting.
class FirstRoom final : public Policy {
 public:
  std::string_view name() const override { return "first room"; }
  void place(const Snapshot& snapshot, Placement& placement, DecisionLog*) override {
    free_.assign(snapshot.free.begin(), snapshot.free.end());
    ids_.assign(snapshot.clusters.begin(), snapshot.clusters.end());
    const Level level = snapshot.kind.is_plain() ? Level::sm : snapshot.kind.levels[0].domain;
    while (placement.launched < snapshot.left && place_one(snapshot, level, placement)) ++placement.launched;
    placement.failed = placement.launched < snapshot.left;
  }

 private:
  bool place_one(const Snapshot& snapshot, Level level, Placement& placement) {
    const std::uint64_t ctas = snapshot.kind.ctas_per_cluster();
    for (const Domain& domain : snapshot.shape.domains(level)) {
      std::uint32_t& ids = ids_[snapshot.shape.domain_of(Level::gpc, domain.first_sm)];
      std::uint64_t room = 0;
      for (std::uint32_t i = 0; i < domain.sm_count; ++i) room += free_[domain.first_sm + i];
      if (room < ctas || (snapshot.kind.has_local_ids() && ids == 0)) continue;
      if (snapshot.kind.has_local_ids()) --ids;
      std::uint64_t left = ctas;
      for (std::uint32_t sm = domain.first_sm; left != 0; ++sm)
        for (; free_[sm] != 0 && left != 0; --free_[sm], --left) {
          placement.masks.push_back(
              {static_cast<std::uint32_t>(placement.sms.size()), 1, placement.launched, left == 1});
          placement.sms.push_back(sm);
        }
      return true;
    }
    return false;
  }
  std::vector<std::uint32_t> free_, ids_;
};

/// What a sink hears, as CTAs that can be completed one by one.
struct Cta {
  Grid* grid;
  std::uint64_t index;
  std::uint32_t sm, cluster;
};

class KeepingSink final : public LaunchSink {
 public:
  std::deque<Cta> ctas;
  std::vector<LaunchMask> masks;  // without their SMs
  void launch(const LaunchMask& mask) override {
    for (std::size_t i = 0; i < mask.sms.size(); ++i)
      ctas.push_back({mask.grid, mask.first + i, mask.sms[i], mask.cluster});
    masks.push_back(mask);
    masks.back().sms = {};
  }
};

class DistributorTest : public ::testing::Test {
 protected:
  void make(MachineShape shape, DistributorOptions options = {}) {
    shape_ = std::move(shape);
    distributor_ = std::make_unique<Distributor>(shape_, std::make_unique<FirstRoom>(), options);
  }
  Grid& add(std::uint64_t ctas, CtaNeeds needs, GridKind kind = {}, int priority = 0) {
    return add(Grid{.needs = needs, .kind = kind, .ctas = ctas, .priority = priority});
  }
  Grid& add(const Grid& grid) {
    grids_.push_back(std::make_unique<Grid>(grid));
    grids_.back()->id = grids_.size();
    distributor_->add(*grids_.back());
    return *grids_.back();
  }
  std::uint64_t distribute() { return distributor_->distribute(sink_); }
  /// Completes the oldest resident CTA of a grid; of a cluster, the flush is done at once with the last.
  void complete_one(Grid& grid) {
    for (auto cta = sink_.ctas.begin(); cta != sink_.ctas.end(); ++cta) {
      if (cta->grid != &grid) continue;
      const Cta gone = *cta;
      sink_.ctas.erase(cta);
      if (gone.cluster == kNoCluster) return distributor_->complete(grid, gone.sm, 1);
      if (distributor_->complete_in_cluster(grid, gone.sm, gone.cluster))
        distributor_->cluster_complete(grid, gone.cluster);
      return;
    }
    FAIL() << "nothing of the grid is resident";
  }
  void complete_all(Grid& grid) {
    while (grid.outstanding != 0) complete_one(grid);
  }

  MachineShape shape_;
  KeepingSink sink_;
  std::vector<std::unique_ptr<Grid>> grids_;
  std::unique_ptr<Distributor> distributor_;
};

}  // namespace raddle::machine::testing
