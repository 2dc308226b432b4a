// The ring of a block's fibers: a barrier wait switches straight to the next warp that can run, one switch
// per warp and barrier; only a block in which every warp waits, or whose time slice is over, goes back to the
// worker's scheduler (K-2, K-5, K-7).
#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"
#include "exec/barrier.h"
#include "exec/cluster.h"
#include "machine/address_space.h"
#include "machine/cluster/cluster.h"
#include "machine/mmu/fault_buffer.h"
#include "machine/sm/worker.h"

namespace raddle::machine {

/// The next number of deterministic mode's sequence (xorshift64).
std::uint64_t Worker::draw() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return random_ >> 16;
}

/// The next candidate after `current` in the ring; a seeded choice in deterministic mode. `candidates` is not
/// empty.
std::uint32_t Worker::pick(std::uint32_t candidates, std::uint32_t current) {
  if (random_ != 0) {
    auto skip = static_cast<unsigned>(draw() % static_cast<unsigned>(std::popcount(candidates)));
    while (skip-- != 0) candidates &= candidates - 1;
    return static_cast<std::uint32_t>(std::countr_zero(candidates));
  }
  const std::uint32_t after = candidates & ~((2u << current) - 1);
  return static_cast<std::uint32_t>(std::countr_zero(after != 0 ? after : candidates));
}

/// The only place that switches fibers. Whether a signal is the kernel's fault, and its lane and line, belong
/// to the running fiber: they wait on the stack of the fiber that is left, and a fresh fiber has none.
void Worker::switch_fibers(exec::CtaContext& cta, base::Fiber& from, base::Fiber& to) {
  const bool in_kernel = in_kernel_;
  const std::uint32_t lane = cta.running_lane, line = cta.running_line;
  in_kernel_ = false;
  cta.running_lane = cta.running_line = 0;
  base::Fiber::switch_to(from, to);
  cta.running_lane = lane;
  cta.running_line = line;
  in_kernel_ = in_kernel;
}

void Worker::switch_strand(Block& block, Strand& from, std::uint32_t to) {
  block.current = to;
  if (to != from.index) switch_fibers(block.cta, from.fiber, block.strand(to).fiber);
}

void Worker::leave_to_scheduler(Block& block, base::Fiber& from, Block::Status status) {
  block.status = status;
  switch_fibers(block.cta, from, scheduler_);
}

/// A block that waits for its cluster gives its turn to the next one of it that is here, as a warp does
/// within its block: the scheduler takes as long as a short wait. Not for ever, nor where others shall have
/// turns, too.
/// @returns whether it has another turn now
bool Worker::hand_turn_on(Block& block) {
  constexpr unsigned kMostInTurn = 64;
  Share& share = shares_[block.share];
  Block& next = *share.next;
  if (next.cluster != block.cluster || &next == &block || handed_on_ == kMostInTurn ||
      share.blocks != started_.size() || adversary_ || deterministic_ ||
      poll_.load(std::memory_order_relaxed) != 0)
    return false;
  if (must_park(block) || must_park(next) || next.status != Block::Status::waiting || next.meets_cluster ||
      next.children != nullptr || next.task->stop.load(std::memory_order_relaxed) != 0)
    return false;
  ++handed_on_;
  share.next = next.next_in_share;
  running_ = &next;
  block.status = Block::Status::waiting;
  switch_fibers(block.cta, block.current_fiber(), next.current_fiber());
  return true;
}

/// A phase of barrier `id` has completed: its waiters can run.
void Worker::after_phase(Block& block, std::uint32_t id) {
  block.runnable |= block.waiters[id];
  block.waiters[id] = 0;
  block.barriers_in_use &= ~(1u << id);
  block.yielded = 0;
  ++progress_;
}

bool Worker::arrive(Warp& warp, std::uint32_t id, const exec::Arrival& arrival) {
  Block& block = *warp.block;
  block.barriers_in_use |= 1u << id;
  if (!exec::arrive(block.cta.barriers[id], arrival, warp.context.live_lanes, block.cta.live_threads))
    return false;
  after_phase(block, id);
  return true;
}

void Worker::wait_at_barriers(Warp& warp, std::uint32_t barriers) {
  std::array<std::uint32_t, exec::kBarriers>& waiters = warp.block->waiters;
  for (std::uint32_t rest = barriers; rest != 0; rest &= rest - 1)
    waiters[static_cast<std::uint32_t>(std::countr_zero(rest))] |= 1u << warp.index;
  wait_until_runnable(warp);
  for (std::uint32_t rest = barriers; rest != 0; rest &= rest - 1)  // those whose phase goes on
    waiters[static_cast<std::uint32_t>(std::countr_zero(rest))] &= ~(1u << warp.index);
}

void Worker::wait_at_barrier(Warp& warp, std::uint32_t id) {
  Block& block = *warp.block;
  block.waiters[id] |= 1u << warp.index;
  wait_until_runnable(warp);
}

void Worker::wait_for_word(Warp& warp, const std::atomic<std::uint64_t>* word, std::uint64_t mask,
                           std::uint64_t value, WordWait::Of of, std::uint32_t barriers) {
  Block& block = *warp.block;
  Block::WordWaiters* each = block.word_waiters.data();
  Block::WordWaiters* const end = each + block.word_waits;
  while (each != end && (each->wait.word != word || each->wait.mask != mask || each->wait.value != value))
    ++each;
  if (each == end) {
    ++block.word_waits;
    each->wait.word = word, each->wait.mask = mask, each->wait.value = value, each->wait.of = of;
    each->warps = 0;
  }
  each->warps |= 1u << warp.index;
  wait_at_barriers(warp, barriers);
  if (barriers != 0) block.forget_word_wait(warp.index);  // a barrier may have ended the wait
}

/// Where warps are no fibers, the whole block waits with the warp at first. Only if that lasts, the warps
/// behind it get fibers: what the other grids wait for might be one of them.
void Worker::wait_for_grids(Block& block, exec::WarpContext& warp) {
  const std::atomic<std::uint64_t>& left = block.task->prerequisites;
  if (left.load(std::memory_order_acquire) == 0) return;
  count_grid_waits(block, 1);
  unsigned turns = 0;
  while (const std::uint64_t seen = left.load(std::memory_order_acquire)) {
    if (warp.machine != nullptr)
      wait_for_word(*static_cast<Warp*>(warp.machine), {&left, ~0ull, seen});
    else if (turns++ < kTurnsInOneFiber)
      set_aside(block, true);
    else
      yield(block, &warp);
  }
  count_grid_waits(block, ~0u);
}

/// @param change  1 more, or ~0: 1 less; 0: other strands of the block are there, or no more
void Worker::count_grid_waits(Block& block, std::uint32_t change) {
  block.grid_waits += change;
  const bool idles = block.grid_waits != 0 &&
                     block.grid_waits == static_cast<std::uint32_t>(std::popcount(block.unfinished));
  if (std::exchange(block.idles, idles) == idles) return;
  block.task->idle.fetch_add(idles ? 1 : ~std::uint64_t{0}, std::memory_order_relaxed);
  if (!idles) return;
  const Busy busy(*this);
  machine_.launches().idles();
}

/// Nobody else in the block can run: its other fibers have ended with the region.
void Worker::meet_cluster(Block& block) {
  exec::CtaContext& cta = block.cta;
  cta.cluster_arrived = cta.live_threads;
  exec::arrive_if_all(cta);
  block.meets_cluster = true;
  while (exec::phases_completed(*cta.cluster) != cta.cluster_phase)
    leave_to_scheduler(block, block.current_fiber(), Block::Status::waiting);
  block.meets_cluster = false;
  ++progress_;
}

/// Warps that can run go on until each of them waits or has used its slice, so that they can launch children
/// of their own; then no fiber of the block runs. One that looks in a loop for what this warp will write
/// would keep the SM for ever.
void Worker::wait_for_children(Block& block, exec::WarpContext& warp,
                               const std::atomic<std::uint64_t>& children) {
  const auto are_over = [&] { return children.load(std::memory_order_acquire) == 0; };
  if (!are_over()) yield(block, &warp);
  look_at_stop(block, &warp);  // children that were stopped with their parent are over, too
  if (are_over()) return;
  {
    const Busy busy(*this);
    machine_.launches().suspend(block.run);
  }
  block.children = &children;
  while (block.children != nullptr) leave_to_scheduler(block, block.current_fiber(), Block::Status::waiting);
  ++progress_;
}

/// In deterministic mode nobody else runs: who did would depend on how long the host takes.
void Worker::wait_for_page(Block& block, FaultBuffer& faults, std::uint64_t fault, bool in_kernel) {
  if (!in_kernel || deterministic_) return faults.wait(fault);
  while (!faults.is_serviced(fault)) set_aside(block, true);
}

/// Lets the warps go on whose words have changed.
void Worker::look_at_words(Block& block) {
  for (std::uint32_t i = 0; i < block.word_waits;) {
    Block::WordWaiters& each = block.word_waiters[i];
    if (!each.wait.is_over()) {
      ++i;
      continue;
    }
    if (block.cluster != nullptr) block.cluster->runs_again();
    block.runnable |= each.warps;
    block.yielded = 0;
    ++progress_;
    each = block.word_waiters[--block.word_waits];
  }
}

/// Runs other warps, or other blocks, until what the warp waits for has come.
void Worker::wait_until_runnable(Warp& warp) {
  Block& block = *warp.block;
  block.runnable &= ~(1u << warp.index);
  look_at_words(block);
  if (block.runnable == 0) unstick(block);
  const std::uint32_t fresh = block.runnable & ~block.yielded;
  if (fresh != 0) {
    switch_strand(block, warp, pick(fresh, warp.index));
    return;
  }
  // Only warps that yielded are left: let other blocks run before they look again.
  block.yielded = 0;
  block.current = pick(block.runnable, warp.index);
  leave_to_scheduler(block, warp.fiber, Block::Status::waiting);
}

/// Suspends the fiber that runs: for others of its block, or, if `for_others` or when all of these have had
/// their turn, for other blocks.
void Worker::set_aside(Block& block, bool for_others) {
  const std::uint32_t warp = block.cta.running_warp;
  Strand& self = block.strand(block.current);
  block.yielded |= 1u << self.index;
  look_at_words(block);
  const std::uint32_t fresh = block.runnable & ~block.yielded;
  if (fresh == 0) {
    block.yielded = 0;
    if (adversary_) land_one(block);  // what all of them look for
  }
  const std::uint32_t next = pick(fresh != 0 ? fresh : block.runnable, self.index);
  if (fresh != 0 && !for_others) {
    switch_strand(block, self, next);
  } else {
    block.current = next;
    leave_to_scheduler(block, self.fiber, Block::Status::waiting);
  }
  block.cta.running_warp = warp;
}

void Worker::yield(Block& block, exec::WarpContext* warp) {
  if (poll_.load(std::memory_order_relaxed) != 0) look_at_stop(block, warp);
  if (block.kind != exec::BlockKind::fibers) hand_over(block, *warp);
  set_aside(block, false);
}

void Worker::poll(Block& block, exec::WarpContext* warp) {
  look_at_stop(block, warp);
  const bool preempted = block.task->preempted.load(std::memory_order_relaxed);
  if (preempted) land_all(block);
  if (deterministic_ && ++polls_ % kPollsPerSlice != 0 && !preempted) return;
  slice_over_ = true;
  served_ = block.task;
  if (block.kind != exec::BlockKind::fibers) hand_over(block, *warp);
  set_aside(block, true);
}

void Worker::look_at_stop(Block& block, const exec::WarpContext* warp) {
  // Before the look at `stop`, so that a later stop is seen by the next poll; an exchange, because what it
  // reads may be the word of a stop that came just now. Deterministic mode counts every poll.
  if (!deterministic_) poll_.exchange(0, std::memory_order_seq_cst);
  if (block.task->stop.load(std::memory_order_seq_cst) == 0) return;
  locate_stop(block, warp);
  stop(block);
}

/// A kernel that ran out of time: says where the warp was.
void Worker::locate_stop(Block& block, const exec::WarpContext* warp) {
  if (block.task->stop.load(std::memory_order_seq_cst) !=
      static_cast<std::uint32_t>(exec::FaultKind::timeout))
    return;
  if (warp == nullptr && block.kind == exec::BlockKind::fibers) warp = &block.warps[block.current]->context;
  RawFault where{.kind = exec::FaultKind::timeout, .warp = block.cta.running_warp};
  if (warp != nullptr) where.warp = warp->warp_id + 1, where.line = warp->line;
  const Busy busy(*this);
  block.task->grid().space->locate_stop(block, where);
}

void Worker::exit_lanes(Warp& warp, std::uint32_t lanes) {
  Block& block = *warp.block;
  const std::uint32_t gone = lanes & warp.counted;
  warp.counted &= ~gone;
  warp.context.live_lanes &= ~lanes;
  exec::forget_exiting(warp.context, gone);
  block.cta.live_threads -= static_cast<std::uint32_t>(std::popcount(gone));
  exec::arrive_if_all(block.cta);
  for (std::uint32_t rest = block.barriers_in_use; rest != 0 && gone != 0; rest &= rest - 1) {
    const auto id = static_cast<std::uint32_t>(std::countr_zero(rest));
    if (exec::complete_after_exit(block.cta.barriers[id], block.cta.live_threads)) after_phase(block, id);
  }
}

void Worker::finish_warp(Warp& warp) {
  exit_lanes(warp, ~0u);
  Block& block = *warp.block;
  block.unfinished &= ~(1u << warp.index);
  block.runnable &= ~(1u << warp.index);
  block.yielded = 0;
  if (block.grid_waits != 0) count_grid_waits(block, 0);
}

/// No warp of the block can run: whether none ever will, because only its cluster changes the words that they
/// wait for, and nobody in the cluster can run either.
bool Worker::is_deadlock(Block& block) {
  for (std::uint32_t i = 0; i < block.word_waits; ++i)
    if (block.word_waiters[i].wait.of == WordWait::Of::others) return false;
  if (block.cluster == nullptr) return true;
  return block.cluster->is_stuck(block.cta.cluster_rank, [&] {
    look_at_words(block);
    return block.runnable == 0;
  });
}

/// Every warp left waits. Nobody else can end waits at the block's barriers: either one only lacks threads
/// that have exited (K-6), or this is a deadlock, unless some of the warps wait for words.
void Worker::unstick(Block& block) {
  const std::uint32_t exited = block.cta.warp_count * exec::kWarpSize - block.cta.live_threads;
  for (std::uint32_t rest = block.barriers_in_use; rest != 0; rest &= rest - 1) {
    const auto id = static_cast<std::uint32_t>(std::countr_zero(rest));
    if (block.waiters[id] != 0 && exec::complete_counting_exited(block.cta.barriers[id], exited))
      after_phase(block, id);
  }
  // Who waits for another block of the cluster mostly waits for a turn of it.
  for (bool had_turn = block.cluster == nullptr; block.runnable == 0 && block.word_waits != 0;) {
    look_at_words(block);
    if (block.runnable != 0) break;
    if (adversary_ && land_one(block)) continue;
    if (adversary_) return_errors(block, true);
    if (had_turn && is_deadlock(block)) break;
    if (had_turn || !hand_turn_on(block))
      leave_to_scheduler(block, block.current_fiber(), Block::Status::waiting);
    had_turn = true;
  }
  if (block.runnable != 0) return;
  const auto waiting = static_cast<std::uint32_t>(std::countr_zero(block.unfinished));
  fault(block,
        {.kind = exec::FaultKind::deadlock, .warp = waiting + 1, .line = block.warps[waiting]->context.line});
}

void Worker::fault(Block& block, const RawFault& raw) {
  in_kernel_ = false;
  raw_fault_ = raw;
  leave_to_scheduler(block, block.current_fiber(), Block::Status::faulted);
  RADDLE_UNREACHABLE("an abandoned block was resumed");
}

void Worker::stop(Block& block) {
  in_kernel_ = false;
  leave_to_scheduler(block, block.current_fiber(), Block::Status::stopped);
  RADDLE_UNREACHABLE("a stopped block was resumed");
}

}  // namespace raddle::machine
