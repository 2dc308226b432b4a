// Inside of the distributor: the live model, made of its parts, and the two halves of a decision: service.cpp
// chooses who may launch what, commit.cpp launches it.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "machine/distributor/decision_recorder.h"
#include "machine/distributor/distributor.h"
#include "machine/distributor/fairness.h"
#include "machine/distributor/gpc_manager.h"
#include "machine/distributor/lone_grid.h"
#include "machine/distributor/pools.h"
#include "machine/distributor/resident_clusters.h"
#include "machine/distributor/shares.h"
#include "machine/distributor/sm_usage.h"
#include "machine/distributor/spaces.h"
#include "machine/distributor/task_slots.h"
#include "machine/distributor/task_table.h"

namespace raddle::machine {

struct Distributor::State {
  State(const MachineShape& machine, std::unique_ptr<Policy> chosen, DistributorOptions wanted);

  /// Serves all grids once, or those of one kind of work. @returns whether another pass may launch more
  bool pass(LaunchSink& sink, std::optional<std::uint32_t> kind);
  /// The shares of kinds of work, if they are due.
  void decide_shares();
  /// Whether kinds of work are served apart, each as if the GPCs of its share were a machine.
  bool serves_apart();
  /// What a grid is of the load of its kind of work, after every change of it: what is resident, and unless
  /// its context is held what is left to launch.
  void count_load(Grid& grid) {
    if (!shares.is_on()) return;
    const bool launches = !grid.withdrawn && !is_held(grid);
    const std::uint64_t left = launches ? grid.ctas - grid.next + grid.parked.size() : 0;
    const std::uint64_t before = std::exchange(grid.load, grid.outstanding + left);
    shares.change_load(shares.kind_of(grid.work_kind), before, grid.load);
  }
  /// A grid waits no longer, or waits anew: its kept domain is free for others.
  void got_on(Grid& grid);
  void leave_sm(const Grid& grid, std::uint32_t sm, std::uint32_t count);  ///< CTAs of it
  /// What a lone grid holds is in the live model from now on. Before anything that looks at SMs, or may.
  void enter_lone();
  bool is_all_alone(const Grid& grid) const;
  /// Suspended CTAs are over: their task was stopped.
  void forget_suspended(Grid& grid, std::uint32_t sm, std::uint32_t count, CtaStanding standing);
  void exit(Grid& grid, const SmRun& run, CtaStanding standing);  ///< CTAs of it
  void leave_sms(Grid& grid, const SmRun& run, CtaStanding standing);
  /// A grid has less resident, or launches no more: it gives back what it does not need any more.
  void settle(Grid& grid);
  /// It launches nothing more, for now.
  void stop_serving(Grid& grid);
  /// The machine is another one for all that wait.
  void reconsider();
  /// Gives slots to grids that wait for one, as far as there are.
  void fill_slots(LaunchSink& sink);
  /// One CTA less of a cluster.
  CtaCompletion count_down(ResidentCluster& cluster, std::uint64_t number);

  const MachineShape& shape;
  const std::unique_ptr<Policy> policy;
  const DistributorOptions options;
  SmUsage usage;
  TaskTable table;
  Spaces spaces;
  Shares shares;
  GpcManagers gpcs;
  NumberPool memory;  // slots of cluster-wide memory (W-24)
  std::vector<std::uint32_t>
      waiting;  // by SM: clusters with their first CTA there that are not started whole
  ResidentClusters clusters;
  TaskSlots slots;
  ServiceOrder order;  // of those that have a slot
  Session session;
  Kept kept;
  Returning returning;
  Pools pools;
  DecisionRecorder recorder;
  LoneGrid lone;
  std::uint64_t freed = 1;  // counts events that may make room: completions, returned ids, enabled TPCs
  std::uint64_t grids = 0, sequence = 0;
  std::uint64_t held = 0;        // mask of device contexts
  std::uint32_t first_kind = 0;  // of work, served first in the next session

  bool is_held(const Grid& grid) const { return (held >> grid.context & 1) != 0; }

 private:
  template <class Asked>
  void serve_in_order(LaunchSink& sink, Asked is_asked);
  std::uint64_t serve(Grid& grid, LaunchSink& sink);
  void launch_new(Grid& grid, LaunchSink& sink);
  // lone_grid.cpp
  bool launch_alone(Grid& grid, LaunchSink& sink);
  bool could_be_alone(const Grid& grid) const;
  // preemption.cpp: CTAs that were parked
  bool resume(Grid& grid, LaunchSink& sink);
  bool has_room(const Grid& grid, std::span<const ParkedCta> ctas);
  void put_back(Grid& grid, std::span<const ParkedCta> ctas, LaunchSink& sink);
  std::uint32_t domain_of_parked(const Grid& grid, Level level) const;
  std::uint64_t limit(const Grid& grid) const;
  bool lacks_memory(const Grid& grid) const { return grid.cluster_memory && memory.empty(); }
  Snapshot snapshot(Grid& grid, const TaskTable::Row& row, std::span<const std::uint32_t> clusters,
                    std::uint64_t left);
  std::span<const Domain> domains_of(const Grid& grid) const;
  bool fits(const Snapshot& snapshot) const;
  bool place(Grid& grid, const TaskTable::Row& row, std::uint64_t left);
  void say_refusal(Grid& grid, const TaskTable::Row& row);
  void keep_domain(Grid& grid);
  Domain kept_domain(const Grid& grid) const;
  std::span<const std::uint8_t> usable(Grid& grid);
  std::uint32_t choose_domain(Grid& grid, std::span<const Domain> domains);
  bool fits_nowhere(Grid& grid);
  bool set_hopeless_aside();
  void begin_turn(Grid& grid);
  void admit_kinds();
  bool fits_empty(const Grid& grid, const Domain& domain, std::span<const std::uint8_t> share,
                  bool idle = false);
  std::span<const std::uint8_t> share_of(Grid& grid);

  void commit(Grid& grid, LaunchSink& sink);
  void commit_cluster(Grid& grid, std::span<const SmMask> masks, LaunchSink& sink);
  void start(Grid& grid, std::span<const std::uint32_t> sms);
  void enter(Grid& grid, std::span<const std::uint32_t> sms);
  void hold_inner_clusters(const Grid& grid, ResidentCluster& cluster, std::span<const std::uint32_t> sms);

  const bool has_lone_grids_;  // as far as policy and options go
  Placement placement_;
  bool has_place_ = false;                   // since the pass began: a grid left its places in pools
  std::vector<std::uint32_t> wanted_;        // by SM: slots for the parked CTAs of a cluster
  std::vector<std::uint64_t> last_cluster_;  // by SM: the innermost cluster that got a CTA there last
  std::uint64_t inner_clusters_ = 0;         // launched so far
};

}  // namespace raddle::machine
