// The preemptive mode: a block of a task that is preempted leaves its SM between two turns, at a loop's poll
// or while it waits. It keeps memory and fibers; the worker, to which they belong, gets it back with a grant.
#include <algorithm>

#include "base/assert.h"
#include "machine/machine.h"
#include "machine/sm/worker.h"

namespace raddle::machine {

/// A copy that a block asked for may be on its way to another's memory, and somebody counts what arrives: the
/// block leaves when all have arrived (T-12).
bool Worker::has_landed(Block& block) {
  return !adversary_ || tma_of(block).outstanding(&block.cta) + copies_of(block).outstanding(block.cta) == 0;
}

void Worker::land_all(Block& block) {
  while (!has_landed(block)) land_one(block);
}

bool Worker::must_park(Block& block) {
  const Task& task = *block.task;
  const bool holds_its_sm = block.children == nullptr;
  return task.preempted.load(std::memory_order_relaxed) && block.status == Block::Status::waiting &&
         holds_its_sm && task.stop.load(std::memory_order_relaxed) == 0 && has_landed(block);
}

void Worker::park(std::size_t position) {
  Block& block = *started_[position];
  started_.erase(started_.begin() + static_cast<std::ptrdiff_t>(position));
  leave_share(block);
  parked_.push_back(&block);
  if (machine_.options().recorder != nullptr) block.parked_at_ns = now_ns();
  CtaRun run = block.run;
  run.past = CtaRun::Past::stopped;
  run.parks = true;
  report_finished(run);
}

/// Takes a block out of those that are parked.
Block* Worker::parked_block(const Task& task, std::uint64_t cta) {
  const auto found = std::ranges::find_if(
      parked_, [&](const Block* block) { return block->task == &task && block->run.first == cta; });
  RADDLE_ASSERT(found != parked_.end(), "a CTA comes back that this worker has not parked");
  Block* const block = *found;
  parked_.erase(found);
  return block;
}

bool Worker::unpark(CtaRun& grant) {
  Block& block = *parked_block(*grant.task, grant.first);
  grants_.drop_ctas(grant);
  if (machine_.options().recorder != nullptr) block.parked_ns += now_ns() - block.parked_at_ns;
  block.turns = 0;
  started(block);
  return true;
}

/// Their task was stopped.
void Worker::give_up_parked(const CtaRun& run) {
  for (CtaRun rest = run; rest.count != 0; rest.drop_first()) {
    Block& block = *parked_block(*rest.task, rest.first);
    locate_stop(block, nullptr);
    clear(block);
    block.status = Block::Status::idle;
    free_blocks_.push_back(&block);
  }
}

/// What its CTA was doing is lost: its fibers stand somewhere.
void Worker::clear(Block& block) {
  for (auto& warp : block.warps)
    if (warp) warp->prepared = false;
  for (auto& runner : block.runners)
    if (runner) runner->prepared = false;
  forget_copies(block);
}

}  // namespace raddle::machine
