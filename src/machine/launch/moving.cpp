// SMs that move to another worker: one without work takes over those of which nothing has started, or is
// given some of which all has ended.
#include <algorithm>

#include "machine/launch/launch_controllers.h"

namespace raddle::machine {

/// SMs of which nothing has started move with all their CTAs, those that `from` would come to last first.
void LaunchControllers::move_sms(unsigned from, unsigned to, std::uint64_t wanted) {
  Owner& victim = owners_[from];
  const std::span runs(victim.runs.begin() + static_cast<std::ptrdiff_t>(victim.head), victim.runs.end());
  queued_on_.assign(sms_.size(), 0);
  for (CtaRun run : runs)
    for (; run.count != 0; run.drop_first()) ++queued_on_[run.sm];
  std::uint64_t moving = 0;
  for (std::size_t i = runs.size(); i-- > 0 && moving < wanted;) {
    CtaRun run = runs[i];
    run.sm += run.sm_step * run.count;
    while (run.count != 0 && moving < wanted) {
      run.sm -= run.sm_step;
      --run.count;
      if (sm_owners_.of(run.sm) != from || !sm_owners_.can_move(run.sm)) continue;
      sm_owners_.move(run.sm, to);
      moving += queued_on_[run.sm];
    }
  }
  if (moving == 0) return;
  kept_.assign(runs.begin(), runs.end());
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

/// Whether so many CTAs of a task end on one worker within a time. Not known of kernels with loops, whose
/// next launch may take any.
bool LaunchControllers::ends_within(std::uint64_t ns, const Task& task, std::uint64_t ctas) {
  const std::uint64_t block_ns = task.grid().executable->goes_on ? time_of(task).usual_ns : 0;
  return block_ns != 0 && ctas < ns / block_ns;
}

/// What is queued ends so soon that a worker takes all of it.
bool LaunchControllers::is_little(const Owner& owner) {
  return owner.queued == 0 || ends_within(kQuickNs, *owner.runs[owner.head].task, owner.queued);
}

// From the worker with most queued, half; all if that is little.
void LaunchControllers::steal(unsigned worker) {
  const auto victim =
      static_cast<unsigned>(std::ranges::max_element(owners_, {}, &Owner::queued) - owners_.begin());
  if (victim == worker) return;
  const Owner& from = owners_[victim];
  move_sms(victim, worker, is_little(from) ? from.queued : (from.queued + 1) / 2);
  if (owners_[worker].queued == 0 && from.queued != 0 && std::ranges::find(hungry_, worker) == hungry_.end())
    hungry_.push_back(worker);
}

/// A worker that has reported what has ended, and has not taken more, gives its SMs up to those who found
/// none that could move: an SM whose CTAs follow one another would have some taken whenever others come.
/// Whoever gets some is told as for any CTAs that are left.
void LaunchControllers::feed_hungry(unsigned worker) {
  std::erase(hungry_, worker);
  const Owner& from = owners_[worker];
  for (; !hungry_.empty() && !is_little(from); hungry_.pop_back()) {
    const unsigned hungry = hungry_.back();
    if (owners_[hungry].queued == 0) move_sms(worker, hungry, from.queued / (hungry_.size() + 1));
  }
}

}  // namespace raddle::machine
