// CTAs that leave their SMs before their end. In the distributor's preemptive mode those that no worker has
// taken are parked here; a worker parks what it has taken, and keeps what has begun. Its SM stays its own
// meanwhile, so that it gets those back. Parents that wait for their children are suspended.
#include <algorithm>
#include <utility>

#include "machine/launch/launch_controllers.h"

namespace raddle::machine {

CtaRun LaunchControllers::run_of(Task& task, const ParkedCta& cta) {
  return {.task = &task,
          .slot = cta.cluster,
          .count = 1,
          .first = cta.index,
          .index_step = 1,
          .sm = cta.sm,
          .sm_step = 1,
          .past = cta.began ? CtaRun::Past::stopped : CtaRun::Past::queued};
}

void LaunchControllers::preempt(Grid& grid) {
  static_cast<Task::Distribution&>(grid).task->preempted.store(true, std::memory_order_relaxed);
  preempts_ = true;
}

void LaunchControllers::put_back(Task& task, const LaunchMask& mask) {
  ++resident_;
  --unlaunched_;
  recall(task, *mask.back);
}

/// Into the queue of the SM's owner; what has begun, only that can run.
void LaunchControllers::recall(Task& task, const ParkedCta& cta) {
  push(owners_[sm_owners_.of(cta.sm)], run_of(task, cta));
  queued_.store(queued_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// What no worker has taken of the tasks that are preempted.
void LaunchControllers::park_queued() {
  if (!std::exchange(preempts_, false)) return;
  std::vector<CtaRun> leaving;
  for (Owner& owner : owners_) {
    std::uint32_t ctas = 0;
    owner.runs.erase(owner.runs.begin(), owner.runs.begin() + static_cast<std::ptrdiff_t>(owner.head));
    owner.head = 0;
    std::erase_if(owner.runs, [&](const CtaRun& run) {
      if (!run.task->preempted.load(std::memory_order_relaxed)) return false;
      leaving.push_back(run);
      ctas += run.count;
      return true;
    });
    took(owner, ctas);
  }
  for (CtaRun run : leaving) {
    // A cluster waits no longer for CTAs that are parked to be started.
    if (run.slot != kNoCluster && run.past == CtaRun::Past::none)
      distributor_.started_in_cluster(run.slot, run.count);
    for (; run.count != 0; run.drop_first()) park_one(run);
  }
}

/// What a worker had taken.
void LaunchControllers::park(const CtaRun& run) {
  for (CtaRun rest = run; rest.count != 0; rest.drop_first()) {
    sm_owners_.leave(rest.sm, 0, 1);
    if (rest.past == CtaRun::Past::stopped) sm_owners_.park(rest.sm);
    park_one(rest);
  }
}

void LaunchControllers::park_one(const CtaRun& run) {
  Task::Distribution& grid = run.task->distribution;
  const ParkedCta cta{
      .index = run.first, .sm = run.sm, .cluster = run.slot, .began = run.past == CtaRun::Past::stopped};
  change();
  if (grid.withdrawn && !cta.began) return end_cta(run);
  --resident_;
  distributor_.park(grid, cta);
  if (grid.withdrawn)
    recall(*run.task, cta);  // to be given up
  else
    ++unlaunched_;
}

void LaunchControllers::suspend(CtaRun& cta) {
  const std::lock_guard lock(mutex_);
  tell_time();
  distributor_.suspend(cta.task->distribution, cta.sm, cta.first);
  cta.standing = CtaStanding::suspended;
  change();
}

bool LaunchControllers::resume(CtaRun& cta) {
  const std::lock_guard lock(mutex_);
  tell_time();
  const CtaStanding before = cta.standing;
  const bool resumed = distributor_.resume(cta.task->distribution, cta.sm, cta.first, cta.standing, *this);
  if (resumed) cta.task->preempted.store(false, std::memory_order_relaxed);
  if (before != cta.standing) change();
  return resumed;
}

}  // namespace raddle::machine
