// What a task that was stopped leaves: CTAs in queues, CTAs that are parked. Those that a worker has, it
// gives up itself.
#include <algorithm>

#include "machine/launch/launch_controllers.h"

namespace raddle::machine {

/// Drops what no worker has taken.
void LaunchControllers::purge(Task& task) {
  for (Owner& owner : owners_) {
    std::erase_if(owner.runs, [&](const CtaRun& run) {
      if (&run - owner.runs.data() < static_cast<std::ptrdiff_t>(owner.head) || run.task != &task)
        return false;
      if (run.past == CtaRun::Past::stopped) return false;  // its worker has what is to be given up
      for (CtaRun rest = run; rest.count != 0; rest.drop_first()) end_cta(rest);
      owner.queued -= run.count;
      queued_.fetch_sub(run.count, std::memory_order_relaxed);
      return true;
    });
    owner.tell_urgency();
  }
}

/// What has begun goes to its worker, to be given up there.
void LaunchControllers::drop_parked(Task& task) {
  const std::vector<ParkedCta> parked = task.distribution.parked;
  for (const ParkedCta& cta : parked) {
    if (cta.began)
      recall(task, cta);
    else
      drop(run_of(task, cta));
  }
}

/// @returns false: the CTA is not parked
bool LaunchControllers::drop(const CtaRun& run) {
  Task::Distribution& grid = run.task->distribution;
  if (!grid.withdrawn || !std::ranges::binary_search(grid.parked, run.first, {}, &ParkedCta::index))
    return false;
  const CtaCompletion completion = distributor_.drop(grid, run.first);
  if (run.slot != kNoCluster) after_cta(run, completion);
  return true;
}

bool LaunchControllers::stop(Task& task) {
  const std::lock_guard lock(mutex_);
  Task::Distribution& grid = task.distribution;
  tell_time();
  if (grid.task == nullptr || grid.finished()) return false;  // not here yet, or already reported
  if (!grid.all_launched()) unlaunched_ -= grid.ctas - grid.next + grid.parked.size();
  distributor_.withdraw(grid);
  purge(task);
  drop_parked(task);
  flush();
  std::erase(flushed_, &task);
  change();  // there is room for others
  return grid.finished();
}

}  // namespace raddle::machine
