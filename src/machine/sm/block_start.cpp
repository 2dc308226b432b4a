// Giving CTAs to blocks, and the two functions that fibers run: one takes whole blocks, one takes warps. Both
// go on with the next CTA of the run by themselves, so the cost of a small block is a few stores.
#include <algorithm>
#include <bit>
#include <cstring>

#include "exec/cluster.h"
#include "machine/machine.h"
#include "machine/services/services.h"
#include "machine/sm/worker.h"

namespace raddle::machine {
namespace {
constexpr std::size_t kRunnerStack = 8u << 20;  // committed only where touched
constexpr std::size_t kWarpStack = 1u << 20;

bool ensure_fibers(Block& block, const exec::Executable& code, std::uint32_t warps, base::Fiber::Entry runner,
                   base::Fiber::Entry warp) {
  if (block.kind != exec::BlockKind::fibers) {
    if (block.runner_prepared && code.stack_bytes <= kRunnerStack) return true;
    if (!block.runner.allocate(std::max<std::size_t>(kRunnerStack, code.stack_bytes))) return false;
    block.runner.prepare(runner, &block);
    return block.runner_prepared = true;
  }
  for (std::uint32_t i = 0; i < warps; ++i) {
    auto& slot = block.warps[i];
    if (!slot) {
      slot = std::make_unique<Warp>();
      slot->block = &block;
      slot->index = i;
    }
    if (slot->prepared && code.stack_bytes <= kWarpStack) continue;
    if (!slot->fiber.allocate(std::max<std::size_t>(kWarpStack, code.stack_bytes), i)) return false;
    slot->fiber.prepare(warp, slot.get());
    slot->prepared = true;
  }
  return true;
}
}  // namespace

// Everything that is the same for all CTAs of a run.
bool Worker::bind(Block& block, const CtaRun& grant) {
  const GridWork& grid = grant.task->grid;
  const std::uint32_t warps = (grid.threads_per_block + exec::kWarpSize - 1) / exec::kWarpSize;
  if (block.grid_id != grant.task->distribution.id) {
    block.grid_id = grant.task->distribution.id;
    block.rasteriser.reset(grant.task->distribution.kind, grid.context.nctaid);
  }
  block.task = grant.task;
  block.cluster = grant.cluster;
  block.kind = grid.executable->kind;
  if (!bind_memory(block)) return false;
  if (!ensure_fibers(block, *grid.executable, warps, &Worker::runner_main, &Worker::warp_main)) return false;
  exec::CtaContext& cta = block.cta;
  cta.launch = &grid.context;
  cta.services = &services();
  cta.poll = &poll_;
  cta.local = block.memory.local();
  cta.local_stride = grid.local_stride;
  cta.thread_count = grid.threads_per_block;
  cta.warp_count = warps;
  cta.machine = &block;
  return true;
}

/// Local memory is the block's own; shared memory, too, unless the cluster has a window for all its CTAs.
bool Worker::bind_memory(Block& block) {
  const GridWork& grid = block.task->grid;
  const std::uint64_t local = grid.local_stride * grid.threads_per_block;
  exec::CtaContext& cta = block.cta;
  if (block.cluster != nullptr) {
    if (!block.memory.require(0, local) || !block.cluster->open(machine_.launches().windows())) return false;
    cta.cluster = &block.cluster->context;
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
  return true;
}

// Takes the next CTA granted, which is of the run that the block is bound to.
void Worker::take_cta(Block& block) {
  CtaRun& grant = grants_[grant_head_];
  exec::CtaContext& cta = block.cta;
  const CtaPosition& position = block.rasteriser.at(grant.first);
  block.position = &position;
  // One by one: the rasteriser has just stored x alone, and a wider load of it would wait for that store.
  const volatile std::uint32_t* ctaid = position.ctaid;
  for (unsigned axis = 0; axis < 3; ++axis) cta.ctaid[axis] = ctaid[axis];
  block.run = grant;
  block.run.count = 1;
  if (machine_.options().recorder != nullptr) block.began_ns = now_ns();
  turn_began_ = progress_;
  block.status = Block::Status::waiting;
  cta.smid = grant.sm;
  cta.live_threads = cta.thread_count;
  cta.cluster_phase = cta.cluster_arrived = 0;
  cta.running_warp = cta.running_lane = cta.running_line = 0;
  if (block.cluster != nullptr) {
    cta.cluster_rank = position.cluster_rank;
  } else {
    block.alone.live.store(1, std::memory_order_relaxed);
    block.alone.barrier.store(1, std::memory_order_relaxed);
  }
  grant.drop_first();
  if (grant.count == 0) {
    ++grant_head_;
    --grant_count_;
  }
  if (block.task->grid.clears_reserved)
    std::memset(cta.shared + cta.cluster_rank * exec::kSharedWindow, 0, exec::kReservedShared);
  if (block.kind != exec::BlockKind::loops) std::memset(cta.barriers, 0, sizeof cta.barriers);
  if (block.kind == exec::BlockKind::fibers) prepare_warps(block);
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
    if (random_ != 0)
      warp.context.seed =
          static_cast<std::uint32_t>((random_ ^ (block.run.first * 32 + i)) * 0x9e3779b97f4a7c15ull >> 32) |
          1;
  }
  block.unfinished = block.runnable = count == 32 ? ~0u : (1u << count) - 1;
  block.yielded = block.barriers_in_use = 0;
  block.cluster_waiters = block.cluster_phase = 0;
  block.waiters.fill(0);
  block.current = random_ != 0 ? pick(block.runnable, 0) : 0;
}

// After the last thread of a CTA exited: reports it, and takes the next CTA of the same task if this block is
// the only one started (an older one goes first). @returns false if the block is to go back to the scheduler,
// idle
bool Worker::continue_with_next(Block& block) {
  if (block.cta.cluster->cta_count > 1) exec::leave_cluster(block.cta);
  ++progress_;
  counters_.ctas.store(counters_.ctas.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (LaunchRecorder* recorder = machine_.options().recorder)
    recorder->ended(block.task->distribution, block.run.first, block.run.sm, block.began_ns, now_ns());
  report_finished(block.run);
  if (started_.size() > 1 || grant_count_ == 0) return false;
  const CtaRun& grant = grants_[grant_head_];
  if (grant.task != block.task || grant.cluster != block.cluster ||
      block.task->stop.load(std::memory_order_relaxed) != 0)
    return false;
  take_cta(block);
  return true;
}

void Worker::runner_main(void* argument) {
  Block& block = *static_cast<Block*>(argument);
  Worker& worker = *block.worker;
  for (;;) {
    worker.in_kernel_ = true;
    block.task->grid.executable->run_block(block.cta);
    worker.in_kernel_ = false;
    if (!worker.continue_with_next(block))
      worker.leave_to_scheduler(block, block.runner, Block::Status::idle);
  }
}

void Worker::warp_main(void* argument) {
  Warp& warp = *static_cast<Warp*>(argument);
  Block& block = *warp.block;
  Worker& worker = *block.worker;
  for (;;) {
    worker.in_kernel_ = true;
    block.task->grid.executable->run_warp(warp.context);
    worker.in_kernel_ = false;
    worker.finish_warp(warp);
    if (block.unfinished != 0) {
      if (block.runnable == 0) worker.unstick(block);
      const std::uint32_t fresh = block.runnable & ~block.yielded;
      worker.in_kernel_ = true;  // the other warp goes on in it
      worker.switch_warp(block, warp, worker.pick(fresh != 0 ? fresh : block.runnable, warp.index));
    } else if (worker.continue_with_next(block)) {
      worker.switch_warp(block, warp, block.current);
    } else {
      worker.leave_to_scheduler(block, warp.fiber, Block::Status::idle);
    }
  }
}

}  // namespace raddle::machine
