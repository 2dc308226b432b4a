// SMs that move to another worker: one without work takes over those of which nothing has started.
#include <algorithm>

#include "machine/launch/launch_controllers.h"

namespace raddle::machine {

/// SMs of which nothing has started move with all their CTAs, those that `from` would come to last first.
void LaunchControllers::move_sms(unsigned from, unsigned to, std::uint64_t wanted) {
  Owner& victim = owners_[from];
  std::uint64_t moving = 0;
  for (std::size_t i = victim.runs.size(); i-- > victim.head && moving < wanted;) {
    CtaRun run = victim.runs[i];
    run.sm += run.sm_step * run.count;
    while (run.count != 0 && moving < wanted) {
      run.sm -= run.sm_step;
      --run.count;
      if (sm_owners_.of(run.sm) == from && !sm_owners_.can_move(run.sm)) continue;
      sm_owners_.move(run.sm, to);
      ++moving;  // at least: more of its CTAs may be in other runs
    }
  }
  if (moving == 0) return;
  kept_.assign(victim.runs.begin() + static_cast<std::ptrdiff_t>(victim.head), victim.runs.end());
  victim.runs.clear();
  victim.head = victim.queued = 0;
  victim.tell_urgency();
  for (CtaRun run : kept_) {
    for (; run.count != 0; run.drop_first()) {
      CtaRun one = run;
      one.count = 1;
      push(owners_[sm_owners_.of(run.sm)], one);
    }
  }
}

// From the worker with most queued, half.
void LaunchControllers::steal(unsigned worker) {
  const auto victim =
      static_cast<unsigned>(std::ranges::max_element(owners_, {}, &Owner::queued) - owners_.begin());
  if (victim != worker) move_sms(victim, worker, (owners_[victim].queued + 1) / 2);
}

}  // namespace raddle::machine
