// Launch after launch of a stream: a worker that has run a whole little grid completes its task before it
// reports, and the next grid takes the place of that one, instead of being added, placed and taken anew.
#include <utility>

#include "machine/address_space.h"
#include "machine/sm/worker.h"

namespace raddle::machine {

namespace {
/// Whether a grid waits for the task's end, at most behind a few events. The task is not complete, so that
/// nothing of what waits for it is.
bool leads_to_grid(const Task& task) {
  constexpr int kMost = 4;
  const Task* next = &task;
  for (int i = 0; i < kMost; ++i) {
    next = next->awaited_by.load(std::memory_order_acquire);
    if (next == nullptr || next->is_grid()) return next != nullptr;
    if (!std::holds_alternative<MarkerWork>(next->work)) return false;
  }
  return false;
}
}  // namespace

/// Whether all that has finished here is one whole plain grid, for whose end another one waits, and the
/// worker has nothing else.
bool Worker::may_hand_on() {
  constexpr std::uint64_t kMost = 256;  // CTAs of it
  if (finished_count_ == 0 || !unoccupied() || deterministic_ || machine_.contexts().queues()) return false;
  const Task& task = *finished_[0].task;
  const GridWork& grid = task.grid();
  // A part of a graph may be launched again as soon as it is complete.
  if (grid.blocks > kMost || grid.queue != nullptr || !grid.executable->goes_on || task.parent != nullptr ||
      task.family_if_any() != nullptr || task.unfinished.load(std::memory_order_acquire) != 1 ||
      task.stop.load(std::memory_order_relaxed) != 0 || !leads_to_grid(task))
    return false;
  std::uint64_t ctas = 0;
  for (const CtaRun& run : std::span(finished_).first(finished_count_)) {
    if (run.task != &task || run.slot != kNoCluster || run.past != CtaRun::Past::none || run.parks ||
        run.standing != CtaStanding::resident)
      return false;
    ctas += run.count;
  }
  return ctas == grid.blocks;
}

bool Worker::take_over(Task& task) {
  if (!std::exchange(hands_on_, false)) return false;
  const std::span<const CtaRun> ended(finished_.data(), std::exchange(finished_count_, 0));
  if (!machine_.launches().succeed(ended, &task)) return false;
  // The one before is just complete. If nobody asks when it ended, nobody asks when this one began.
  const Task& before = *finished_[0].task;
  task.started_ns.store(
      before.finished_ns != 0 ? before.finished_ns : before.started_ns.load(std::memory_order_relaxed),
      std::memory_order_relaxed);
  grants_.repeat(ended, task);
  return true;
}

/// Completes the task, whose end the launch controllers hear of from what is ready then, or from nobody.
/// @returns whether the worker has CTAs of the next one
bool Worker::go_on_with_next() {
  Task& task = *finished_[0].task;
  TaskScheduler& tasks = task.grid().space->tasks();
  completes_.store(true, std::memory_order_relaxed);  // seen by who sees that a task is complete
  hands_on_ = true;
  tasks.complete_and_keep(task);
  if (std::exchange(hands_on_, false))
    machine_.launches().succeed({finished_.data(), std::exchange(finished_count_, 0)}, nullptr);
  tasks.release(&task);
  completes_.store(false, std::memory_order_release);
  if (grants_.empty()) return false;
  counters_.grants.store(counters_.grants.load(std::memory_order_relaxed) + grants_.all().size(),
                         std::memory_order_relaxed);
  grants_.front().task->fetch_awaiting();
  begin_measurement();
  return true;
}

}  // namespace raddle::machine
