// A distributor alone, as a test drives it: grids, a sink that keeps what is resident, completions by hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "machine/distributor/distributor.h"
#include "machine/shape/even_shape.h"

namespace raddle::machine::testing {

inline constexpr CtaNeeds kQuarter{.threads = 512, .warps = 16};  ///< four to an SM

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

/// Keeps the CTAs that a sink hears of, to complete them one by one.
struct Cta {
  Grid* grid;
  std::uint64_t index;
  std::uint32_t sm, cluster;
};

class KeepingSink final : public LaunchSink {
 public:
  std::deque<Cta> ctas;
  std::vector<LaunchMask> masks;               // without their SMs
  std::map<const Grid*, std::uint64_t> heard;  // CTAs of its masks
  std::vector<Cta> back;                       // those that were parked and came back
  std::vector<Grid*> preempted;
  std::set<const Grid*> idle;  // those that say they are
  bool idles(const Grid& grid) const override { return idle.contains(&grid); }
  void preempt(Grid& grid) override { preempted.push_back(&grid); }
  void launch(const LaunchMask& mask) override {
    if (mask.back != nullptr) {
      back.push_back({mask.grid, mask.back->index, mask.sms[0], mask.cluster});
      ctas.push_back(back.back());
      return;
    }
    for (const std::uint32_t sm : mask.sms) ctas.push_back({mask.grid, heard[mask.grid]++, sm, mask.cluster});
    masks.push_back(mask);
    masks.back().sms = {};
  }
};

class DistributorTest : public ::testing::Test {
 protected:
  void make(MachineShape shape, DistributorOptions options = {}) {
    shape_ = std::move(shape);
    distributor_ = std::make_unique<Distributor>(shape_, std::move(*make_policy("lake")), options);
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
  /// Completes the oldest resident CTA of a grid. @returns whether it was the last of its cluster
  bool exit_one(Grid& grid) {
    const auto oldest =
        std::find_if(sink_.ctas.begin(), sink_.ctas.end(), [&](const Cta& cta) { return cta.grid == &grid; });
    if (oldest == sink_.ctas.end()) {
      ADD_FAILURE() << "nothing of the grid is resident";
      return false;
    }
    const Cta cta = *oldest;
    sink_.ctas.erase(oldest);
    const std::uint64_t number = cta.index % grid.kind.ctas_per_cluster();
    if (cta.cluster != kNoCluster)
      return distributor_->complete_in_cluster(grid, cta.sm, cta.cluster, number).last;
    distributor_->complete(grid, cta.sm, 1);
    return false;
  }
  /// The same, with the flush done at once.
  void complete_one(Grid& grid) {
    const std::uint32_t cluster = oldest_cluster(grid);
    if (!exit_one(grid)) return;
    distributor_->flush_all(cluster);
    distributor_->cluster_complete(grid, cluster);
  }
  std::uint32_t oldest_cluster(const Grid& grid) const {
    for (const Cta& cta : sink_.ctas)
      if (cta.grid == &grid) return cta.cluster;
    return kNoCluster;
  }
  /// All of its resident CTAs stop in their middle.
  void park_all(Grid& grid) {
    const std::deque<Cta> resident = sink_.ctas;
    std::erase_if(sink_.ctas, [&](const Cta& cta) { return cta.grid == &grid; });
    for (const Cta& cta : resident)
      if (cta.grid == &grid) distributor_->park(grid, {cta.index, cta.sm, cta.cluster, true});
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
