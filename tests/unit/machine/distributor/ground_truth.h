// The state of the machine, recomputed from the CTAs that are resident: what the distributor's live model has
// to equal after every event. Slow and plain on purpose.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "machine/distributor/distributor.h"

namespace raddle::machine::testing {

/// A cluster, or one CTA of a plain grid, from its launch until the distributor knows that it is complete.
struct TrueCluster {
  Grid* grid = nullptr;
  std::uint64_t sequence = 0;
  std::uint32_t slot = kNoCluster, memory = ~0u;
  std::vector<std::uint32_t> sms;        // by rank
  std::uint64_t first = 0;               // launch index of rank 0
  std::vector<std::uint32_t> running;    // ranks of CTAs on their SMs
  std::map<std::uint32_t, bool> parked;  // ranks of CTAs that left them before their end: whether they began
  std::vector<std::uint32_t> local_ids;  // by innermost cluster
  bool waits = false;                    // not all of its CTAs have started

  /// SM of the first CTA of an innermost cluster.
  std::uint32_t sm_of_inner(std::size_t inner) const {
    return sms[inner * grid->kind.ctas_per_cluster(grid->kind.depth - 1)];
  }
};

struct GroundTruth {
  struct Sums {
    std::uint64_t ctas = 0, threads = 0, warps = 0, barriers = 0, registers = 0, shared = 0, of_grid = 0;
    void add(const CtaNeeds& needs) {
      ++ctas;
      threads += needs.threads, warps += needs.warps, barriers += needs.barriers;
      registers += needs.registers, shared += needs.shared_bytes;
    }
    bool within(const SmLimits& sm) const {
      return ctas <= sm.cta_slots && threads <= sm.threads && warps <= sm.warps && barriers <= sm.barriers &&
             registers <= sm.registers && shared <= sm.shared_bytes;
    }
  };

  MachineShape shape;
  DistributorOptions options;
  std::vector<TrueCluster> clusters;
  std::set<std::uint32_t> disabled;  // TPCs

  /// By SM, the resources that its CTAs take together.
  std::vector<Sums> sums(const Grid* grid = nullptr) const {
    std::vector<Sums> sums(shape.sm_count());
    for (const TrueCluster& cluster : clusters)
      for (const std::uint32_t rank : cluster.running) {
        Sums& sum = sums[cluster.sms[rank]];
        sum.add(cluster.grid->needs);
        sum.of_grid += cluster.grid == grid;
      }
    return sums;
  }

  std::vector<std::uint32_t> load() const {
    std::vector<std::uint32_t> load;
    for (const Sums& sum : sums()) load.push_back(static_cast<std::uint32_t>(sum.ctas));
    return load;
  }

  /// By SM, CTAs of a space's grids.
  std::vector<std::uint32_t> load_of(std::uint64_t space) const {
    std::vector<std::uint32_t> load(shape.sm_count(), 0);
    for (const TrueCluster& cluster : clusters)
      for (const std::uint32_t rank : cluster.running)
        load[cluster.sms[rank]] += cluster.grid->space == space;
    return load;
  }

  /// By SM of their first CTA, clusters that wait for CTAs to be started.
  std::vector<std::uint32_t> waiting() const {
    std::vector<std::uint32_t> waiting(shape.sm_count(), 0);
    for (const TrueCluster& cluster : clusters) waiting[cluster.sms[0]] += cluster.waits;
    return waiting;
  }

  /// By SM, innermost clusters that hold a slot of it: whether or not their CTAs have exited.
  std::vector<std::uint32_t> slots_taken() const {
    std::set<std::pair<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>>> slots;
    for (const TrueCluster& cluster : clusters) {
      const GridKind& kind = cluster.grid->kind;
      if (!kind.has_local_ids()) continue;
      const std::uint64_t size = kind.ctas_per_cluster(kind.depth - 1);
      for (std::size_t rank = 0; rank < cluster.sms.size(); ++rank)
        slots.insert({cluster.sms[rank], {cluster.sequence, rank / size}});
    }
    std::vector<std::uint32_t> taken(shape.sm_count(), 0);
    for (const auto& slot : slots) ++taken[slot.first];
    return taken;
  }

  /// By GPC: what the counter of cluster slots (W-12) and the pool of ids (W-16) leave.
  std::vector<std::uint32_t> launchable() const {
    const std::vector<std::uint32_t> taken = slots_taken();
    std::vector<std::uint32_t> launchable;
    for (const Domain& gpc : shape.domains(Level::gpc)) {
      std::uint32_t slots = gpc.sm_count * shape.sm.cluster_slots;
      std::uint32_t ids = shape.cluster_ids_per_gpc == 0 ? slots : shape.cluster_ids_per_gpc;
      for (std::uint32_t sm = 0; sm < gpc.sm_count; ++sm) slots -= taken[gpc.first_sm + sm];
      for (const TrueCluster& cluster : clusters)
        for (std::size_t inner = 0; inner < cluster.local_ids.size(); ++inner)
          if (cluster.sm_of_inner(inner) - gpc.first_sm < gpc.sm_count) --ids;
      launchable.push_back(std::min(slots, ids));
    }
    return launchable;
  }

  /// By SM: CTAs of a grid that still fit, found by adding one after the other.
  std::vector<std::uint32_t> free(const Grid& grid) const {
    const std::vector<Sums> sums = this->sums(&grid);
    const std::vector<std::uint32_t> taken = slots_taken();
    std::vector<std::uint32_t> free(shape.sm_count(), 0);
    for (std::uint32_t sm = 0; sm < shape.sm_count(); ++sm) {
      if (disabled.contains(shape.domain_of(Level::tpc, sm))) continue;
      for (Sums sum = sums[sm];; ++free[sm]) {
        sum.add(grid.needs), ++sum.of_grid;
        if (!sum.within(shape.sm)) break;
        if (options.cap_per_sm != 0 && sum.ctas > options.cap_per_sm) break;
        if (grid.cap_per_sm != 0 && sum.of_grid > grid.cap_per_sm) break;
      }
      if (grid.kind.has_local_ids()) free[sm] = std::min(free[sm], shape.sm.cluster_slots - taken[sm]);
    }
    return free;
  }

  /// Whether a cluster's parked CTAs have room where they were, with an enable bit or not.
  bool takes_back(const TrueCluster& cluster) const {
    std::vector<Sums> sums = this->sums(cluster.grid);
    for (const auto& [rank, began] : cluster.parked) {
      Sums& sum = sums[cluster.sms[rank]];
      sum.add(cluster.grid->needs), ++sum.of_grid;
      if (!sum.within(shape.sm) || (options.cap_per_sm != 0 && sum.ctas > options.cap_per_sm)) return false;
      if (cluster.grid->cap_per_sm != 0 && sum.of_grid > cluster.grid->cap_per_sm) return false;
    }
    return true;
  }

  bool has_parked(const Grid& grid) const {
    return std::ranges::any_of(clusters, [&](const TrueCluster& cluster) {
      return cluster.grid == &grid && !cluster.parked.empty();
    });
  }

  bool within_capacity() const {
    const std::vector<std::uint32_t> taken = slots_taken();
    const std::vector<Sums> sums = this->sums();
    for (std::size_t sm = 0; sm < sums.size(); ++sm)
      if (!sums[sm].within(shape.sm) || taken[sm] > shape.sm.cluster_slots) return false;
    return true;
  }
};

}  // namespace raddle::machine::testing
