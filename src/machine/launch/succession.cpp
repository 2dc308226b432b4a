// Launch after launch of a stream on one worker: a little grid that is alone on the machine hands its place
// on the SMs to the next one.
#include "machine/launch/launch_controllers.h"

namespace raddle::machine {

/// Whether nothing but these CTAs is resident or waits, and nobody looks.
bool LaunchControllers::is_all_there_is(std::span<const CtaRun> runs) const {
  std::uint64_t ctas = 0;
  for (const CtaRun& run : runs) ctas += run.count;
  return ctas == resident_ && unlaunched_ == 0 && queued_.load(std::memory_order_relaxed) == 0 &&
         !changed_.load(std::memory_order_relaxed) && recorder_ == nullptr && hungry_.empty() &&
         flushing_.empty() && flushed_.empty();
}

bool LaunchControllers::may_succeed(std::span<const CtaRun> ended, const Task& next) {
  const GridWork& work = next.grid();
  return is_all_there_is(ended) && work.queue == nullptr && ends_within(kTinyNs, next, work.blocks) &&
         next.stop.load(std::memory_order_acquire) == 0;
}

bool LaunchControllers::succeed(std::span<const CtaRun> ended, Task* next) {
  const std::lock_guard lock(mutex_);
  tell_time();
  if (ended[0].took_ns != 0) learn_time(ended[0]);
  if (next != nullptr && may_succeed(ended, *next)) {
    describe(*next);
    Task::Distribution& grid = next->distribution;
    grid.heard = grid.ctas;
    if (distributor_.succeed_alone(ended[0].task->distribution, grid)) return true;
    grid = {};
  }
  for (const CtaRun& run : ended) finish(run);
  return false;
}

}  // namespace raddle::machine
