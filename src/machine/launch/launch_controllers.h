// The launch controllers: start on each SM what the work distributor launched there. Every SM has a queue of
// resident CTAs that have not started; the worker that owns the SM takes runs of them. Workers learn what to
// run from these grants only, and report here what has ended; both under one lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/spinning_mutex.h"
#include "exec/routing.h"
#include "machine/cluster/barrier_slots.h"
#include "machine/cluster/cluster.h"
#include "machine/distributor/distributor.h"
#include "machine/launch/recorder.h"
#include "machine/launch/sm_owners.h"
#include "machine/shape/machine_shape.h"
#include "machine/sm/sm.h"
#include "machine/tasks/task.h"

namespace raddle::machine {

/// CTAs of a task: the i-th has launch index first + i * index_step and runs on SM sm + i * sm_step.
struct CtaRun {
  Task* task = nullptr;
  Cluster* cluster = nullptr;       ///< that all of them share memory in; null: none
  std::uint32_t slot = kNoCluster;  ///< the distributor's, of their outermost cluster
  std::uint32_t count = 0;
  std::uint64_t first = 0;
  std::uint32_t index_step = 0;
  std::uint32_t sm = 0;
  std::uint32_t sm_step = 0;
  /// What was before.
  enum class Past : std::uint8_t {
    none,
    queued,   ///< they were parked before they began
    stopped,  ///< they were parked in their middle: their worker has them
  };
  Past past = Past::none;
  bool parks = false;  ///< of a report: they have not ended, they leave their SMs for a while
  CtaStanding standing = CtaStanding::resident;
  std::uint32_t took_ns = 0;  ///< of a report: what each of them took on its worker; 0: not measured

  /// Adds CTAs of the same cluster if they go on with the same steps. @returns whether they did
  bool append(const CtaRun& more);
  /// Takes the first ones off; there were as many.
  void drop(std::uint32_t ctas) {
    first += std::uint64_t{ctas} * index_step, sm += ctas * sm_step, count -= ctas;
  }
  void drop_first() { drop(1); }
};

/// How the distributor is to see a grid.
GridKind kind_of(const GridWork& work);

class LaunchControllers : private LaunchSink {
 public:
  static constexpr std::size_t kGrants = 16;  ///< most runs handed out by one call
  LaunchControllers(const MachineShape& shape, unsigned workers, std::unique_ptr<Policy> policy,
                    DistributorOptions options = {});

  /// What adding a grid has come to.
  struct Added {
    unsigned workers = 0;  ///< that could work on it; 0: it was stopped before and does not run
    bool is_lone = false;  ///< it is one worker's, and nothing else is to be run
  };
  /// A grid is ready to run.
  Added add(Task& task);
  /// All CTAs of a plain grid have ended on one worker, which calls this; the task has been completed. If
  /// the grid was little and alone, and the one of `next`, which is ready, is like it, that takes its place:
  /// the worker has its CTAs, as many in each run as it had of the other.
  /// @param next  null: none is ready
  /// @returns false: that has yet to be added
  bool succeed(std::span<const CtaRun> ended, Task* next);
  /// What following a task's queue has come to.
  struct Followed {
    unsigned workers = 0;  ///< that could work on what is new
    bool is_over = false;  ///< nothing is left to run and no more comes: the caller has to complete the task
  };
  /// The queue of a task has more entries, or was closed, or a child of the task has ended. Harmless if not,
  /// or if the task is not here yet.
  Followed follow(Task& task);
  /// A task's `stop` was set: nothing more of it starts.
  /// @returns whether none of its blocks runs any more, so that the caller has to complete it
  bool stop(Task& task);
  /// What one worker reports and gets, under one lock.
  /// @param finished   CTAs that have exited since the last call, or were dropped as their task was stopped,
  ///                   or are to be parked
  /// @param grants     receives runs, at most kGrants
  /// @param completed  receives tasks of which nothing is left to run; if it gets full, call again
  /// @returns number of grants
  std::size_t exchange(unsigned worker, std::span<const CtaRun> finished, std::span<CtaRun> grants,
                       std::span<Task*> completed, std::size_t& completed_count);
  /// A CTA that has begun waits for children: others may have its place on the SM.
  void suspend(CtaRun& cta);
  /// It wants to go on. @returns false: there is no room yet, ask again
  bool resume(CtaRun& cta);
  /// A run of the first task in the worker's queue that is wanted, however many others stand before it.
  /// @returns false if there is none
  bool take_run(unsigned worker, const std::function<bool(const Task&)>& wanted, CtaRun& grant);
  /// The priority of the worker's next grant; the largest number if there is none. A hint.
  int most_urgent(unsigned worker) const { return owners_[worker].urgent.load(std::memory_order_relaxed); }
  /// Whether there are resident CTAs that no worker has taken. A hint: others may take them meanwhile.
  bool has_more() const { return queued_.load(std::memory_order_relaxed) != 0; }
  /// Whether an exchange may give something to a worker that has nothing to report. A hint: whoever makes it
  /// true rings the doorbell then.
  bool has_news() const {
    return has_more() || changed_.load(std::memory_order_relaxed) || flushes_.load(std::memory_order_relaxed);
  }
  /// Whether CTAs were put into queues, since the last call, that only the owner of their SM can run: it has
  /// parked blocks there, and may sleep.
  bool recalled() { return recalled_.load(std::memory_order_relaxed) && recalled_.exchange(false); }
  WindowPool& windows() { return windows_; }
  const exec::ClusterNetwork& network() const { return network_; }
  const Sm& sm(std::uint32_t number) const { return sms_[number]; }
  Sm& sm(std::uint32_t number) { return sms_[number]; }

  /// CTAs of these needs that an empty SM may hold, caps included. Any thread.
  std::uint32_t most_per_sm(const CtaNeeds& needs) const { return distributor_.most_per_sm(needs); }
  /// Outermost clusters (CTAs of a plain grid) that the empty machine runs at once (W-13). Any thread.
  /// @param space  whose limit counts
  std::uint64_t most_active(const GridKind& kind, const CtaNeeds& needs, std::uint64_t space);
  /// As Distributor::confine; the caller rings the doorbell.
  void confine(std::uint64_t space, const SmLimit& limit);
  /// As Distributor::hold; the caller rings the doorbell.
  void hold(std::uint32_t context, bool on);
  /// As Distributor::load_of.
  ContextLoad load_of(std::uint32_t context);
  /// All that is resident of a grid idles, which counts where GPCs have pools.
  void idles();
  /// As Distributor::activity.
  Activity activity();
  /// Null: nobody. Before the first grid is added.
  void record(LaunchRecorder* recorder);

 private:
  /// CTAs that one call hands out at most: more of them spread the cost of the lock and walk memory for
  /// longer, but taken CTAs cannot move. The second: of CTAs known to be short, which end in about so long.
  static constexpr std::uint32_t kCtasPerCall = 32, kShortCtasPerCall = 1024;
  static constexpr std::uint64_t kShortNs = 500'000;
  /// Of CTAs so quick that they end in about this time, all are handed out at once.
  static constexpr std::uint64_t kQuickNs = 16000;
  /// CTAs that end in about this time are one worker's: another would come when they are over.
  static constexpr std::uint64_t kTinyNs = 6000;
  /// A worker's CTAs that have not started, on the SMs it owns: the most urgent first, else as launched.
  struct alignas(64) Owner {
    std::vector<CtaRun> runs;  // those before `head` have been taken
    std::size_t head = 0;
    std::uint64_t queued = 0;                                  // CTAs
    std::atomic<int> urgent{std::numeric_limits<int>::max()};  // priority of runs[head]

    void tell_urgency() {
      const bool none = head == runs.size();
      urgent.store(none ? std::numeric_limits<int>::max() : runs[head].task->priority,
                   std::memory_order_relaxed);
    }
  };
  /// A resident outermost cluster, by the distributor's slot: the clusters in it that share memory.
  struct Outermost {
    std::vector<Cluster*> clusters;
  };

  void launch(const LaunchMask& mask) override;
  void preempt(Grid& grid) override;
  bool idles(const Grid& grid) const override;
  void describe(Task& task);
  bool is_all_there_is(std::span<const CtaRun> runs) const;
  bool may_succeed(std::span<const CtaRun> ended, const Task& next);
  Cluster* cluster_of(const LaunchMask& mask, std::uint64_t index, std::uint32_t sm);
  void broadcast(Cluster& cluster, const CtaRun& run);
  void push(Owner& owner, const CtaRun& run);
  std::size_t take(unsigned worker, std::span<CtaRun> grants);
  CtaRun cut(CtaRun& run, std::uint64_t most);
  bool ends_within(std::uint64_t ns, const Task& task, std::uint64_t ctas);
  std::uint64_t share_of(const Owner& owner, const Task& task);
  void took(Owner& owner, std::uint32_t ctas);
  struct KernelTime {
    const exec::Executable* code = nullptr;  // may be gone: it is a name
    std::uint32_t block_ns = 0;              // of a block, the longest lately; 0: unknown
    std::uint32_t usual_ns = 0;              // likewise, as long as every other one takes
  };
  KernelTime& time_of(const Task& task);
  void learn_time(const CtaRun& run);
  bool is_little(const Owner& owner);
  void steal(unsigned worker);
  void feed_hungry(unsigned worker);
  void move_sms(unsigned from, unsigned to, std::uint64_t wanted);
  Followed follow_locked(Task& task);
  void finish(const CtaRun& run);
  // parked.cpp: CTAs that leave their SMs before their end
  static CtaRun run_of(Task& task, const ParkedCta& cta);
  void put_back(Task& task, const LaunchMask& mask);
  void distribute();
  void park_queued();
  void park(const CtaRun& run);
  void park_one(const CtaRun& run);
  void recall(Task& task, const ParkedCta& cta);
  void after_cta(const CtaRun& run, const CtaCompletion& completion);
  bool refill(const CtaRun& finished);
  void end_cta(const CtaRun& run);
  void flush();
  void change() { changed_.store(true, std::memory_order_relaxed); }
  void end_cluster(Task& task, std::uint32_t slot);
  void purge(Task& task);
  void drop_parked(Task& task);
  bool drop(const CtaRun& run);
  void tell_time();

  const MachineShape& shape_;
  const bool has_pools_;
  Distributor distributor_;
  std::vector<Sm> sms_;
  const exec::ClusterNetwork network_;  // of their tables
  // Launches that look at the above do not need the lock's cache line.
  alignas(64) base::SpinningMutex mutex_;
  ClusterPool clusters_;
  WindowPool windows_;
  BarrierSlots barriers_;
  SmOwners sm_owners_;
  std::vector<Owner> owners_;             // by worker
  std::vector<CtaRun> kept_;              // scratch of move_sms
  std::vector<std::uint32_t> queued_on_;  // its, too: CTAs by SM
  std::vector<unsigned> hungry_;          // workers that found CTAs, but only on SMs of which others run some
  std::array<KernelTime, 64> times_{};    // by a hash of `code`, the latest one of each
  std::vector<Outermost> outermost_;      // by slot
  struct Flush {
    Task* task;
    std::uint32_t slot;
    Cluster* cluster;
    std::uint64_t first;  // number of its first CTA in the outermost cluster
  };
  std::vector<Flush> flushing_;       // clusters whose CTAs are complete, until all have been flushed
  std::atomic<bool> flushes_{false};  // as the latest exchange left it: some of these, or of flushed_
  std::vector<Task*> flushed_;        // tasks of clusters that have ended, not yet looked at
  std::atomic<std::uint64_t> queued_{0};
  std::atomic<bool> recalled_{false};
  std::uint64_t resident_ = 0, unlaunched_ = 0;  // CTAs; of the grids that were added
  bool preempts_ = false;                        // grids were told to leave in the middle of their CTAs
  std::atomic<bool> changed_{false};  // grids were added or slots freed since the distributor last looked
  LaunchRecorder* recorder_ = nullptr;
  DecisionLog* log_ = nullptr;  // the recorder's
  std::uint64_t grids_ = 0;
  unsigned latest_ = 0;  // worker that took CTAs
  struct Active {
    GridKind kind;
    CtaNeeds needs;
    std::uint64_t space = kNoSpace;  // if it has a limit
    std::uint64_t clusters = 0;
  };
  std::vector<Active> asked_;  // latest answers of most_active: a program asks the same before every launch
};

}  // namespace raddle::machine
