// Giving CTAs to blocks, and the two functions that fibers run: one takes whole blocks, one takes warps. Both
// go on with the next CTA of the run by themselves, so the cost of a small block is a few stores.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "exec/cluster.h"
#include "machine/address_space.h"
#include "machine/services/services.h"
#include "machine/sm/worker.h"
#include "machine/tasks/task_queue.h"

namespace raddle::machine {
namespace {
constexpr std::size_t kRunnerStack = 8u << 20;  // committed only where touched
constexpr std::size_t kWarpStack = 1u << 20;

/// Makes a strand's fiber ready, with a stack of the kind's usual size or larger.
bool provide(Strand& strand, std::size_t usual, std::uint64_t wanted, base::Fiber::Entry entry,
             void* argument) {
  if (strand.prepared && wanted <= usual) return true;
  if (!strand.fiber.allocate(std::max<std::size_t>(usual, wanted), strand.index)) return false;
  strand.fiber.prepare(entry, argument);
  return strand.prepared = true;
}

template <class Kind>
Kind& made(Block& block, std::unique_ptr<Kind>& slot, std::uint32_t index) {
  if (!slot) {
    slot = std::make_unique<Kind>();
    slot->block = &block;
    slot->index = index;
  }
  return *slot;
}

/// Entries of a queue may be more than a grid's blocks: then %ctaid.x starts again at 0.
std::uint64_t index_in_grid(const CtaRun& run) {
  const GridWork& grid = run.task->grid();
  return grid.queue == nullptr ? run.first : run.first % grid.extent()[0];
}

/// Of a large grid, touches of a part of the blocks are counted, and in each launch of other ones.
bool is_counted(const CtaRun& run) {
  constexpr std::uint64_t kOneIn = 16;
  const GridWork& grid = run.task->grid();
  return run.task->counts_touches &&
         (grid.blocks <= kOneIn || (run.first + grid.context.grid_id) % kOneIn == 0);
}
}  // namespace

bool Worker::provide_runner(Block& block, std::uint32_t index) {
  Runner& runner = made(block, block.runners[index], index);
  return provide(runner, kRunnerStack, block.task->grid().executable->stack_bytes, &Worker::runner_main,
                 &runner);
}

bool Worker::provide_strands(Block& block) {
  if (block.kind != exec::BlockKind::fibers) return provide_runner(block, 0);
  for (std::uint32_t i = 0; i < block.cta.warp_count; ++i) {
    Warp& warp = made(block, block.warps[i], i);
    if (!provide(warp, kWarpStack, block.task->grid().executable->stack_bytes, &Worker::warp_main, &warp))
      return false;
  }
  return true;
}

// Everything that is the same for all CTAs of a run.
bool Worker::bind(Block& block, const CtaRun& grant) {
  const GridWork& grid = grant.task->grid();
  const std::uint32_t warps = (grid.threads_per_block + exec::kWarpSize - 1) / exec::kWarpSize;
  if (block.grid_id != grant.task->distribution.id) {
    block.grid_id = grant.task->distribution.id;
    block.rasteriser.reset(grant.task->distribution.kind, grid.extent(), index_in_grid(grant));
  }
  if (auto& started = grant.task->started_ns; started.load(std::memory_order_relaxed) == 0) {
    std::uint64_t unset = 0;
    started.compare_exchange_strong(unset, now_ns(), std::memory_order_relaxed);
  }
  block.task = grant.task;
  block.cluster = grant.cluster;
  block.kind = grid.executable->kind;
  exec::CtaContext& cta = block.cta;
  cta.warp_count = warps;
  if (!bind_memory(block) || !provide_strands(block)) return false;
  cta.services = &services();
  cta.poll = &poll_;
  cta.local = block.memory.local();
  cta.local_stride = grid.local_stride;
  cta.thread_count = grid.threads_per_block;
  cta.machine = &block;
  return true;
}

/// Local memory is the block's own; shared memory, too, unless the cluster has a window for all its CTAs.
bool Worker::bind_memory(Block& block) {
  const GridWork& grid = block.task->grid();
  const std::uint64_t local = grid.local_stride * grid.threads_per_block;
  exec::CtaContext& cta = block.cta;
  const std::uint64_t space = grid.space->id();
  block.memory.hand_to(space);
  if (block.cluster != nullptr) {
    if (!block.memory.require(0, local) || !block.cluster->open(machine_.launches().windows(), space))
      return false;
    cta.cluster = &block.cluster->context;
    cta.network = &machine_.launches().network();
    cta.shared = block.cluster->context.window;
    return true;
  }
  if (!block.memory.require(grid.shared_bytes, local)) return false;
  cta.cluster = &block.alone;
  cta.cluster_rank = 0;
  cta.shared = block.memory.shared();
  block.alone.window = cta.shared;
  block.alone.shared_bytes = static_cast<std::uint32_t>(grid.shared_bytes);
  block.alone.cta_count = 1;
  block.alone.barrier = &block.barrier_alone;
  return true;
}

/// The block gets the entry of the run's next CTA, if that is of a queue task.
/// @returns false: a child was launched instead of the CTA, which is over with that
bool Worker::take_entry(Block& block, CtaRun& grant) {
  const GridWork& grid = grant.task->grid();
  if (grid.queue == nullptr) return true;
  const std::uint64_t child = grid.queue->take(grant.first, block.entry.data());
  if (child == 0) return true;
  if (KernelCalls* const client = grid.space->options().kernel_calls)
    client->launch_child(*grant.task, child);
  CtaRun one = grant;
  one.count = 1;
  grants_.drop_ctas(grant);
  if (LaunchRecorder* recorder = machine_.options().recorder) {
    const std::uint64_t now = now_ns();
    recorder->ended(one.task->distribution, one.first, one.sm, {now, now});
  }
  report_finished(one);
  ++progress_;
  return false;
}

/// How many of the run's other CTAs lie behind the block's along x, where nothing has to happen when one of
/// them begins or ends.
std::uint32_t Worker::row_of(const Block& block, const CtaRun& run) const {
  const GridWork& grid = block.task->grid();
  if (run.count == 1 || run.index_step != 1 || run.past != CtaRun::Past::none || block.cluster != nullptr ||
      grid.queue != nullptr || !run.task->distribution.kind.is_plain() || grid.counts_triggers ||
      grid.triggers_at_start || grid.counts_begins || grid.clears_reserved || block.task->counts_touches ||
      adversary_ || deterministic_ || machine_.options().recorder != nullptr)
    return 0;
  return std::min(run.count - 1, grid.extent()[0] - 1 - block.position->ctaid[0]);
}

/// Takes a CTA off a run, and says how many others of it follow: the code goes on with them by itself or
/// begins ahead, or the worker steps from one to the next.
void Worker::drop_with_followers(Block& block, CtaRun& grant) {
  const exec::Executable& code = *block.task->grid().executable;
  const std::uint32_t row = row_of(block, grant);
  block.followers = block.cta.following = code.goes_on || code.begins_ahead ? row : 0;
  block.row = code.goes_on ? 0 : row;
  block.cta.smid_step = grant.sm_step;
  block.grant = &grant;
  grants_.drop_ctas(grant);
}

/// Those that the code has gone on with have ended with the block's CTA.
void Worker::count_followers(Block& block) {
  const std::uint32_t ended = block.followers - block.cta.following;
  block.followers = 0;
  block.run.count += ended;
  if (ended != 0) grants_.drop_ctas(*block.grant, ended);
}

// Takes the next CTA of a run, which is of the task and the cluster that the block is bound to.
void Worker::take_cta(Block& block, CtaRun& grant) {
  exec::CtaContext& cta = block.cta;
  const CtaPosition& position = block.rasteriser.at(index_in_grid(grant));
  block.position = &position;
  // One by one: the rasteriser has just stored x alone, and a wider load of it would wait for that store.
  const volatile std::uint32_t* ctaid = position.ctaid;
  const std::uint32_t* const first = grant.task->grid().first;
  for (unsigned axis = 0; axis < 3; ++axis) cta.ctaid[axis] = first[axis] + ctaid[axis];
  block.run = grant;
  block.run.count = 1;
  block.run.past = CtaRun::Past::none;
  if (machine_.options().recorder != nullptr) block.began_ns = now_ns(), block.parked_ns = 0;
  cta.launch = is_counted(block.run) ? block.task->counting.get() : &block.task->grid().context;
  cta.smid = grant.sm;
  cta.cluster_phase = cta.cluster_arrived = 0;
  if (block.cluster != nullptr) {
    cta.cluster_rank = position.cluster_rank;
    cta.warp_slots = block.cluster->warp_slots(cta.cluster_rank, *cta.network);
  }
  drop_with_followers(block, grant);
  if (block.task->grid().clears_reserved) std::memset(exec::own_memory(cta), 0, exec::kReservedShared);
  if (adversary_) begin_copies(block);
  bump(counters_.ctas_taken);
  begin_cta(block);
  if (block.task->grid().triggers_at_start) trigger(block);
  if (block.task->grid().counts_begins) count_begin(*block.task);
}

/// What every CTA finds, wherever it lies.
void Worker::begin_cta(Block& block) {
  exec::CtaContext& cta = block.cta;
  turn_began_ = progress_;
  block.status = Block::Status::waiting;
  cta.live_threads = cta.thread_count;
  cta.running_warp = cta.running_lane = cta.running_line = 0;
  if (block.cluster == nullptr) {
    block.alone.live.store(1, std::memory_order_relaxed);
    block.barrier_alone.store(1, std::memory_order_relaxed);
  }
  block.wgmma_operands.clear();
  block.turns = block.yielded = block.current = 0;
  block.triggered = block.meets_cluster = block.idles = false;
  block.grid_waits = 0;
  block.word_waits = 0;
  block.children = nullptr;
  if (block.kind == exec::BlockKind::fibers) {
    prepare_warps(block);
  } else {
    block.unfinished = block.runnable = 1;
    block.runners[0]->suspended = nullptr;
  }
}

void Worker::prepare_warps(Block& block) {
  const std::uint32_t count = block.cta.warp_count;
  for (std::uint32_t i = 0; i < count; ++i) {
    Warp& warp = *block.warps[i];
    const std::uint32_t threads = std::min(block.cta.thread_count - i * exec::kWarpSize, exec::kWarpSize);
    const std::uint32_t lanes = threads == exec::kWarpSize ? ~0u : (1u << threads) - 1;
    warp.counted = lanes;
    warp.context = {};
    warp.context.cta = &block.cta;
    warp.context.warp_id = i;
    warp.context.initial_lanes = warp.context.live_lanes = lanes;
    warp.context.machine = &warp;
    warp.wgmmas.clear();
    if (random_ != 0)
      warp.context.seed =
          static_cast<std::uint32_t>((random_ ^ (block.run.first * 32 + i)) * 0x9e3779b97f4a7c15ull >> 32) |
          1;
  }
  block.unfinished = block.runnable = count == 32 ? ~0u : (1u << count) - 1;
  std::memset(block.cta.barriers, 0, sizeof block.cta.barriers);  // other kinds have none
  block.barriers_in_use = 0;
  block.waiters.fill(0);
  if (random_ != 0) block.current = pick(block.runnable, 0);
}

// A run of block after block has no back-edge that polls.
bool Worker::slice_ends(const Task& task) {
  if (deterministic_ ? ++polls_ % kPollsPerSlice != 0 : poll_.load(std::memory_order_relaxed) == 0)
    return false;
  if (!deterministic_) poll_.exchange(0, std::memory_order_seq_cst);
  served_ = &task;
  return slice_over_ = true;
}

// The run with which a block goes on in its task; null if the scheduler has to choose: an older block of the
// task goes first, and so does more urgent work.
CtaRun* Worker::next_of_task(Block& block) {
  CtaRun* next = grants_.empty() ? nullptr : &grants_.front();
  if (started_.size() > 1) {
    if (std::ranges::count(started_, block.task, &Block::task) > 1) return nullptr;
    next = grants_.of(*block.task);
    if (next == nullptr && machine_.launches().has_more())
      next = take_run([&](const Task& task) { return &task == block.task; });
  }
  if (next == nullptr || next->task != block.task || next->cluster != block.cluster ||
      next->past == CtaRun::Past::stopped || block.task->stop.load(std::memory_order_relaxed) != 0 ||
      block.task->preempted.load(std::memory_order_relaxed) || more_urgent_than(*block.task))
    return nullptr;
  return next;
}

/// After a CTA of a row, where the worker has nothing else to look at: goes on with the one behind it. What
/// a CTA's place decides is asked once a row, as a small block takes no longer than the questions.
bool Worker::step(Block& block) {
  const Task& task = *block.task;
  if (block.row == 0 || grants_.empty() || started_.size() != 1 || poll_.load(std::memory_order_relaxed) != 0)
    return false;
  CtaRun& grant = grants_.front();
  if (&grant != block.grant || grant.task != &task || grant.first != block.run.first + 1 ||
      task.stop.load(std::memory_order_relaxed) != 0 || task.preempted.load(std::memory_order_relaxed) ||
      more_urgent_than(task))
    return false;
  ++progress_;
  task.grid().space->block_count(id_).add(1);
  report_finished(block.run);
  if (block.followers != 0) block.cta.following = --block.followers;
  --block.row;
  ++block.cta.ctaid[0];
  block.run.first = grant.first;
  block.cta.smid = block.run.sm = grant.sm;
  grants_.drop_ctas(grant);
  block.cta.cluster_phase = block.cta.cluster_arrived = 0;
  begin_cta(block);
  return true;
}

void Worker::trigger(Block& block) {
  if (std::exchange(block.triggered, true)) return;
  Task& task = *block.task;
  if (task.triggered.fetch_add(1, std::memory_order_acq_rel) + 1 != task.grid().blocks) return;
  const Busy busy(*this);
  task.grid().space->tasks().trigger(task);
}

void Worker::count_begin(Task& task) {
  if (task.begun.fetch_add(1, std::memory_order_acq_rel) + 1 != task.grid().blocks) return;
  const Busy busy(*this);
  task.grid().space->tasks().begun(task);
}

void Worker::leave_cluster(Block& block) {
  order_stores();  // the others may stand at a barrier that it counts for
  block.cluster->leave(block.cta.cluster_rank, *block.cta.network);
  exec::leave_cluster(block.cta);
}

// After the last thread of a CTA exited: reports it, and takes the next CTA of the same task.
// @returns false if the block is to go back to the scheduler, idle
bool Worker::continue_with_next(Block& block) {
  if (step(block)) return true;
  if (block.followers != 0) count_followers(block);
  if (adversary_) finish_copies(block);
  if (block.cluster != nullptr) leave_cluster(block);
  if (block.task->grid().counts_triggers) trigger(block);
  progress_ += block.run.count;
  block.task->grid().space->block_count(id_).add(block.run.count);
  if (LaunchRecorder* recorder = machine_.options().recorder)
    recorder->ended(block.task->distribution, block.run.first, block.run.sm,
                    {block.began_ns, now_ns(), block.parked_ns});
  report_finished(block.run);
  if (slice_ends(*block.task)) return false;
  CtaRun* next;
  do {
    next = next_of_task(block);
  } while (next != nullptr && !take_entry(block, *next));
  if (next != nullptr) take_cta(block, *next);
  return next != nullptr;
}

/// The warps behind one that is suspended get a fiber of their own, so that it can wait for them. Without
/// memory for one they run after it.
void Worker::hand_over(Block& block, exec::WarpContext& warp) {
  const bool is_last = block.kind == exec::BlockKind::loops && warp.warp_id + 1 == block.cta.warp_count;
  if (warp.handed_over != 0 || is_last || block.cta.warp_count == 1 || block.unfinished == ~0u) return;
  const Busy busy(*this);
  const auto free = static_cast<std::uint32_t>(std::countr_one(block.unfinished));
  if (!provide_runner(block, free)) return;
  warp.handed_over = 1;
  block.runners[free]->suspended = &warp;
  block.unfinished |= 1u << free;
  block.runnable |= 1u << free;
  if (block.grid_waits != 0) count_grid_waits(block, 0);
}

/// A fiber has nothing left to run of its CTA: others of the block go on, or the next CTA begins. Returns
/// when there is something for this fiber again.
void Worker::next_strand(Strand& strand) {
  Block& block = *strand.block;
  if (block.unfinished != 0) {
    if (block.runnable == 0) unstick(block);
    const std::uint32_t fresh = block.runnable & ~block.yielded;
    switch_strand(block, strand, pick(fresh != 0 ? fresh : block.runnable, strand.index));
  } else if (continue_with_next(block)) {
    switch_strand(block, strand, block.current);
  } else {
    leave_to_scheduler(block, strand.fiber, Block::Status::idle);
  }
}

void Worker::runner_main(void* argument) {
  Runner& runner = *static_cast<Runner*>(argument);
  Block& block = *runner.block;
  Worker& worker = *block.worker;
  for (;;) {
    exec::Executable& code = *block.task->grid().executable;
    worker.in_kernel_ = true;
    if (runner.suspended == nullptr)
      code.run_block(block.cta);
    else
      code.run_warp(*runner.suspended);
    worker.in_kernel_ = false;
    if (block.cta.launch->outgrows_caches(code.bytes_past_caches)) worker.note_stores_past_caches();
    block.unfinished &= ~(1u << runner.index);
    block.runnable &= ~(1u << runner.index);
    worker.next_strand(runner);
  }
}

void Worker::warp_main(void* argument) {
  Warp& warp = *static_cast<Warp*>(argument);
  Block& block = *warp.block;
  Worker& worker = *block.worker;
  for (;;) {
    worker.in_kernel_ = true;
    block.task->grid().executable->run_warp(warp.context);
    worker.in_kernel_ = false;
    worker.finish_warp(warp);
    worker.next_strand(warp);
  }
}

}  // namespace raddle::machine
