// Grants are pulled: a worker that has nothing started, or only blocks that wait, asks and gets runs for its
// SMs. The first tasks by priority and age are served first; a run shrinks as the grid nears its end, so that
// no worker is left with a long tail while another idles.
#include "machine/launch/launch_controllers.h"

#include <algorithm>

#include "base/assert.h"

namespace raddle::machine {
namespace {
constexpr std::uint64_t kCtasPerCall = 32;  // enough to spread the cost of the lock, few enough to balance

std::uint32_t warps_of(const Task& task) {
  return (task.grid.threads_per_block + exec::kWarpSize - 1) / exec::kWarpSize;
}
}  // namespace

LaunchControllers::LaunchControllers(const MachineShape& shape, unsigned workers, std::uint64_t run_limit)
    : limits_(shape.sm), run_limit_(run_limit), workers_(workers), sms_(shape.sm_count()), cursor_(workers) {
  for (std::uint32_t sm = 0; sm < sms_.size(); ++sm) sms_[sm].owner = sm % workers;
  for (unsigned worker = 0; worker < workers; ++worker)
    cursor_[worker] = worker % static_cast<std::uint32_t>(sms_.size());
  tasks_.reserve(1024);
}

unsigned LaunchControllers::add(Task& task) {
  std::lock_guard lock(mutex_);
  task.distribution = {0, 0, machine::slots_per_sm(limits_, needs_of(task.grid, limits_)), ++sequence_};
  RADDLE_ASSERT(task.distribution.slots_per_sm > 0, "a grid that fits no SM was submitted");
  const auto place = std::upper_bound(tasks_.begin(), tasks_.end(), &task, [](const Task* a, const Task* b) {
    return a->priority != b->priority ? a->priority < b->priority
                                      : a->distribution.sequence < b->distribution.sequence;
  });
  tasks_.insert(place, &task);
  waiting_.store(tasks_.size(), std::memory_order_relaxed);
  return static_cast<unsigned>(std::min<std::uint64_t>(task.grid.blocks, workers_));
}

std::uint64_t LaunchControllers::free_slots(const Sm& sm, const Task& task) const {
  if (sm.ctas == 0) return task.distribution.slots_per_sm;
  const GridWork& grid = task.grid;
  std::uint64_t slots = std::min<std::uint64_t>({limits_.cta_slots - sm.ctas,
                                                 (limits_.threads - sm.threads) / grid.threads_per_block,
                                                 (limits_.warps - sm.warps) / warps_of(task)});
  if (grid.shared_model_bytes != 0)
    slots = std::min(slots, (limits_.shared_bytes - sm.shared) / grid.shared_model_bytes);
  if (const std::uint64_t registers = needs_of(grid, limits_).registers; registers != 0)
    slots = std::min(slots, (limits_.registers - sm.registers) / registers);
  return slots;
}

void LaunchControllers::occupy(Sm& sm, const Task& task, std::uint64_t count, bool take) {
  const auto n = static_cast<std::uint32_t>(count);
  const std::uint32_t sign = take ? 1 : ~0u;  // unsigned arithmetic wraps: adds n or subtracts it
  sm.ctas += sign * n;
  sm.threads += sign * n * task.grid.threads_per_block;
  sm.warps += sign * n * warps_of(task);
  const std::uint64_t wide = take ? 1 : ~0ull;
  sm.shared += wide * count * task.grid.shared_model_bytes;
  sm.registers += wide * count * needs_of(task.grid, limits_).registers;
}

// The worker's own SMs in turn; when all are full, one without CTAs moves here from another worker.
std::int64_t LaunchControllers::pick_sm(unsigned worker, const Task& task, std::uint64_t& slots) {
  const auto count = static_cast<std::uint32_t>(sms_.size());
  std::uint32_t sm = cursor_[worker];
  for (std::uint32_t step = 0; step < count; ++step, sm = sm + 1 == count ? 0 : sm + 1) {
    if (sms_[sm].owner != worker) continue;
    slots = free_slots(sms_[sm], task);
    if (slots == 0) continue;
    cursor_[worker] = (sm + workers_) % count;  // the next of its own, unless some have moved
    return sm;
  }
  for (sm = 0; sm < count; ++sm) {
    if (sms_[sm].ctas != 0) continue;
    sms_[sm].owner = worker;
    slots = task.distribution.slots_per_sm;
    return sm;
  }
  return -1;
}

std::size_t LaunchControllers::grant_from(Task& task, unsigned worker, std::span<Grant> grants) {
  auto& state = task.distribution;
  const std::uint64_t remaining = task.grid.blocks - state.next;
  std::uint64_t budget = std::clamp<std::uint64_t>(remaining / (4ull * workers_), 1, kCtasPerCall);
  if (run_limit_ != 0) budget = std::min(budget, run_limit_);
  std::size_t count = 0;
  while (budget != 0 && count < grants.size()) {
    std::uint64_t slots = 0;
    const std::int64_t sm = pick_sm(worker, task, slots);
    if (sm < 0) break;
    const std::uint64_t n = std::min(slots, budget);
    grants[count++] = {&task, static_cast<std::uint32_t>(sm), {state.next, n}};
    occupy(sms_[static_cast<std::size_t>(sm)], task, n, true);
    state.next += n;
    state.outstanding += n;
    budget -= n;
  }
  return count;
}

void LaunchControllers::forget(std::size_t position) {
  if (gathering_ == tasks_[position]) gathering_ = nullptr;
  tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(position));
  waiting_.store(tasks_.size(), std::memory_order_relaxed);
}

std::size_t LaunchControllers::exchange(unsigned worker, std::span<const Finished> finished,
                                        std::span<Grant> grants, std::span<Task*> completed,
                                        std::size_t& completed_count) {
  completed_count = 0;
  std::lock_guard lock(mutex_);
  for (const Finished& f : finished) {
    occupy(sms_[f.sm], *f.task, f.count, false);
    f.task->distribution.outstanding -= f.count;
    if (finished_all(*f.task)) completed[completed_count++] = f.task;
  }
  for (std::size_t i = 0; i < tasks_.size() && !grants.empty();) {
    Task& task = *tasks_[i];
    if (task.stop.load(std::memory_order_relaxed) != 0) {
      if (completed_count == completed.size()) break;
      forget(i);
      task.distribution.next = task.grid.blocks;
      if (task.distribution.outstanding == 0) completed[completed_count++] = &task;
      continue;
    }
    const std::size_t count = must_wait(task) ? 0 : grant_from(task, worker, grants);
    if (count == 0) {  // no SM has room for it: a later task may fit
      ++i;
      continue;
    }
    if (task.grid.cooperative) gathering_ = &task;
    if (task.distribution.next == task.grid.blocks) forget(i);
    return count;
  }
  return 0;
}

}  // namespace raddle::machine
