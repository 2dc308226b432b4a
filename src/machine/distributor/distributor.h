// The work distributor: decides which SM runs which CTA. It keeps the live model of the machine (what every
// SM holds), takes grids in, asks its policy where their CTAs go, and hears of completions. Deterministic,
// without locks, threads or time: the machine runs it under one lock (launch/), `raddle distribute` alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "machine/distributor/decision_log.h"
#include "machine/distributor/grid.h"
#include "machine/distributor/options.h"
#include "machine/distributor/policy.h"

namespace raddle::machine {

/// CTAs that start together, as broadcast to the SMs: the i-th SM gets the i-th of the grid's next launch
/// indices, which everyone who hears the masks counts (W-11, W-14).
struct LaunchMask {
  Grid* grid = nullptr;
  std::span<const std::uint32_t> sms;
  std::uint32_t cluster = kNoCluster;  ///< slot in the table of resident outermost clusters
  std::uint64_t sequence = 0;          ///< of that cluster; masks of two clusters never interleave
  bool end = true;                     ///< last mask of the cluster
  std::uint32_t cluster_memory = ~0u;  ///< slot of cluster-wide memory (W-24)
  /// Null: new CTAs. Else the one CTA of the mask, which was parked, goes on where it was.
  const ParkedCta* back = nullptr;
};

/// What the completion of a cluster's CTA brings about.
struct CtaCompletion {
  bool flush = false;  ///< the GPC manager orders the SMs of its innermost cluster to flush
  bool last = false;   ///< it was the last of its outermost cluster
};

/// Where a CTA is that was launched and is not complete.
enum class CtaStanding : std::uint8_t {
  resident,
  suspended,  ///< it waits for children: nothing of its SM is its own (A-3f)
  returning,  ///< it waits for room on its SM
};

/// What is resident at a moment.
struct Activity {
  struct OfSpace {
    std::uint64_t id = 0;
    std::uint32_t sms = 0, grids = 0;  ///< that hold its CTAs; that have some
  };
  std::vector<std::uint32_t> ctas = {};  ///< by SM
  std::vector<OfSpace> spaces = {};      ///< those that have something
  std::uint64_t parked = 0;              ///< CTAs that left their SMs before their end
};

/// What the grids of a device context want.
struct ContextLoad {
  bool is_resident = false;  ///< something of one is
  bool is_waiting = false;   ///< one has something left to launch
};

class LaunchSink {
 public:
  virtual ~LaunchSink() = default;
  virtual void launch(const LaunchMask& mask) = 0;
  /// The grid's CTAs shall stop in their middle, each as soon as it can: then it is parked. The order stands
  /// until something of the grid is launched.
  virtual void preempt(Grid&) {}
  /// Whether all that is resident of the grid can only wait for something else.
  virtual bool idles(const Grid&) const { return false; }
};

class Distributor {
 public:
  /// @param shape  outlives the distributor
  Distributor(const MachineShape& shape, std::unique_ptr<Policy> policy, DistributorOptions options = {});
  ~Distributor();

  /// Takes a grid in; it stays the caller's and must live until it is finished. One that is open may be
  /// empty. A grid of which not even one cluster fits the empty machine (most_active is 0) waits forever,
  /// without holding others back.
  void add(Grid& grid);
  /// More CTAs of a grid that is open. Without any left to launch or resident it has no slot meanwhile.
  void grow(Grid& grid, std::uint64_t ctas);
  /// No more will come: it is finished with those that it has.
  void close(Grid& grid);
  /// Stops launching the grid; resident CTAs stay until they complete, parked ones until they are dropped.
  void withdraw(Grid& grid);
  /// Launches what fits now, by priority and age and the fairness rule.
  /// @returns CTAs launched
  std::uint64_t distribute(LaunchSink& sink);

  /// CTAs of a plain grid have exited: their slots are free at once.
  void complete(Grid& grid, std::uint32_t sm, std::uint32_t count,
                CtaStanding standing = CtaStanding::resident);
  /// Likewise of a run of CTAs, all of which were resident.
  void complete(Grid& grid, const SmRun& run);
  /// The short way of `complete` and `distribute` in a full machine where only one plain grid waits: its next
  /// CTAs take the slots of those that exited, and the model stays as it is.
  /// @param exited  a run of CTAs, all on one SM or each on another, by number
  /// @returns whether the machine is in that state: then the CTAs from the old grid.next on are launched on
  ///          the same SMs in that order
  bool succeed(Grid& grid, const SmRun& exited);
  /// All CTAs of a grid that is alone on the machine exit, and the next one is one like it: that has them on
  /// the same SMs, as it would get them there on the empty machine. @returns false: it has yet to be added
  bool succeed_alone(Grid& ended, Grid& next);
  /// One CTA of a cluster has exited: its warps, registers and shared memory are free at once (W-4). The GPC
  /// manager hears of it, too (W-20).
  /// @param number  of the CTA in its outermost cluster, in launch order
  CtaCompletion complete_in_cluster(Grid& grid, std::uint32_t sm, std::uint32_t cluster, std::uint64_t number,
                                    CtaStanding standing = CtaStanding::resident);
  /// The SM of such a CTA answers the order to flush. @returns whether the outermost cluster is flushed
  bool flush_done(std::uint32_t cluster, std::uint64_t number);
  /// The same for all its CTAs at once: where no SMs are that could answer.
  void flush_all(std::uint32_t cluster);
  /// A CTA of a grid that is being preempted has stopped, and what it took of its SM is free. It goes on
  /// there when the grid has a slot again.
  void park(Grid& grid, const ParkedCta& cta);
  /// A parked CTA of a grid that was withdrawn is gone. @returns as complete_in_cluster
  CtaCompletion drop(Grid& grid, std::uint64_t index);
  /// The worker of their SM has started CTAs of a cluster: when all have started, the cluster waits no longer
  /// (TieBreak::waiting).
  void started_in_cluster(std::uint32_t cluster, std::uint32_t count);
  /// All CTAs of a cluster are complete and flushed: its ids, barrier and slots return (W-16).
  void cluster_complete(Grid& grid, std::uint32_t cluster);

  /// A resident CTA waits for children, and gives back what it holds of its SM: what was left to launch may
  /// fit now. Until its grid has none such, the grid launches nothing more. Not for CTAs with a local cluster
  /// id.
  /// @param index  the CTA's launch index
  void suspend(Grid& grid, std::uint32_t sm, std::uint64_t index);
  /// It has waited long enough. @returns false: its grid has no slot, or its SM no room, which nobody else
  /// gets in the latter case; the caller asks again
  bool resume(Grid& grid, std::uint32_t sm, std::uint64_t index, CtaStanding& standing, LaunchSink& sink);

  /// LaunchSink::idles says something else than before.
  void look_again();
  /// For who watches: allocates.
  Activity activity() const;
  /// Grids with something left to launch.
  std::size_t waiting() const;
  /// Local cluster ids of a resident outermost cluster: by innermost cluster in it, in launch order.
  std::span<const std::uint32_t> local_ids(std::uint32_t cluster) const;
  void observe(DecisionLog* log);  ///< null: nobody
  /// The enable bit of a TPC (W-2): while it is off, residents stay and nothing more is launched there.
  void enable(std::uint32_t tpc, bool on);

  /// The SMs that an address space may use, from now on: residents stay. None: all of them, again.
  void confine(std::uint64_t space, const SmLimit& limit);
  bool is_confined(std::uint64_t space) const;

  /// Grids of a device context launch nothing while it is held; residents stay.
  void hold(std::uint32_t context, bool on);
  ContextLoad load_of(std::uint32_t context) const;
  /// By kind of work: GPCs that it has.
  std::vector<std::uint32_t> shares() const;

  /// How many CTAs with these needs an empty SM may hold, caps included. Any thread.
  std::uint32_t most_per_sm(const CtaNeeds& needs) const;
  /// Outermost clusters (of a plain grid: CTAs) of this kind that an empty machine runs at once, by the
  /// policy's own rule (W-13).
  /// @param space  whose limit counts
  std::uint64_t most_active(const GridKind& kind, const CtaNeeds& needs,
                            std::uint64_t space = kNoSpace) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace raddle::machine
