// The worker's loop: resume what is started (turns.cpp); start more when all of it waits; sleep when there is
// nothing.
#include "machine/sm/worker.h"

#include <sched.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/futex.h"
#include "exec/cluster.h"
#include "machine/address_space.h"
#include "machine/services/services.h"
#include "machine/shape/host.h"
#include "machine/sm/signals.h"

namespace raddle::machine {
namespace {
thread_local Worker* this_worker __attribute__((tls_model("initial-exec"))) = nullptr;
}  // namespace

Worker* current_worker() { return this_worker; }

Worker::Worker(Machine& machine, unsigned id, int cpu)
    : machine_(machine), id_(id), cpu_(cpu), deterministic_(machine.options().deterministic.has_value()) {
  if (deterministic_) raise_poll();
  if (const auto seed = machine.options().deterministic; seed && *seed != 0)
    random_ = *seed * 0x9e3779b97f4a7c15ull | 1;
  const Asynchrony& asynchrony = machine.options().asynchrony;
  if (asynchrony.mode != Asynchrony::Mode::eager) adversary_.emplace(asynchrony);
  started_.reserve(256);
  shares_.reserve(64);
}

Worker::~Worker() { join(); }
void Worker::start() {
  thread_ = std::thread([this] { run(); });
}
void Worker::join() {
  if (thread_.joinable()) thread_.join();
}

void Worker::run() {
  this_worker = this;
  ThreadSignals signals;
  if (cpu_ >= 0 && pin_to_cpu(cpu_)) counters_.cpu.store(cpu_, std::memory_order_relaxed);
  while (!machine_.stopping()) {
    if (!started_.empty()) {
      if (random_ != 0) shuffle_started();
      round();
    } else {
      slice_over_ = false;
      if (!start_block())
        idle();
      else if (slice_over_)
        end_turn();
    }
  }
  this_worker = nullptr;
}

// Deterministic mode: the seed also decides which blocks are started together and who is resumed first.
void Worker::shuffle_started() {
  constexpr std::size_t kTogether = 8;
  if (started_.size() < kTogether && pick(0xf, 0) == 0) start_block();
  for (std::size_t i = started_.size(); i > 1; --i) std::swap(started_[i - 1], started_[draw() % i]);
  std::ranges::sort(started_, {}, [](const Block* block) { return block->task->priority; });
}

/// Whether it still waits for its children, or for room to come back to its SM.
bool Worker::is_set_aside(Block& block) {
  if (block.children == nullptr) return false;
  if (block.children->load(std::memory_order_acquire) != 0 || !machine_.launches().resume(block.run))
    return true;
  block.children = nullptr;
  return false;
}

/// @returns the block that had the last turn: this one, or one that it handed the turn on to
Block& Worker::take_turn(Block& block) {
  if (block.task->stop.load(std::memory_order_relaxed) != 0) {
    locate_stop(block, nullptr);
    block.status = Block::Status::stopped;
  } else if (is_set_aside(block)) {
    return block;
  } else if (!block.meets_cluster || exec::phases_completed(*block.cta.cluster) == block.cta.cluster_phase) {
    return resume(block);
  }
  return block;
}

// Resumes the started blocks, the most urgent first. While some use up their slices, less urgent ones have a
// turn in every eighth round only. All of them wait, or have used up their time: so more may be started when
// none of them got anywhere.
bool Worker::round() {
  constexpr unsigned kRoundsForAll = 8;
  const bool for_all = ++rounds_ % kRoundsForAll == 0;
  Moves moves;
  for (std::size_t first = 0; first < started_.size() && (for_all || !moves.slice_over);)
    first = serve(first, moves);
  if (finished_count_ != 0) exchange(grants_.empty());
  if (moves.slice_over) end_turn();
  if (moves.any) {
    fruitless_ = 0;
    start_more_ = 1;
    start_more();
    return true;
  }
  bool any = false;
  for (unsigned i = 0; i < start_more_; ++i) any |= start_block();
  // A grid whose blocks all wait for one another needs many; a short wait for another worker's block needs
  // few.
  if (any && ++fruitless_ > 2) start_more_ = std::min(start_more_ * 2, 64u);
  if (!any && ++fruitless_ % 16 == 0) sched_yield();
  return any;
}

// A block that passes barriers, or loops without end, may do so because it waits for one that is not started
// yet. Nobody can tell; so when a grid's oldest has had many turns since a block of the grid ended here, as
// many again of it are started.
void Worker::start_more() {
  constexpr unsigned kPatience = 16;  // turns
  for (std::size_t i = 0; i < started_.size(); ++i) {
    Block& oldest = *started_[i];
    const Task& task = *oldest.task;
    const auto is_its = [&](const Block* block) { return block->task == &task; };
    if (oldest.turns == 0 || oldest.turns % kPatience != 0) continue;
    if (std::any_of(started_.begin(), started_.begin() + static_cast<std::ptrdiff_t>(i), is_its)) continue;
    ++oldest.turns;  // not twice, if it gets no turn in the next round
    const auto wanted = std::ranges::count_if(started_, is_its);
    for (std::ptrdiff_t k = 0; k < wanted; ++k)
      if (!start_block_of(task)) break;
  }
}

bool Worker::is_started(const Task& task) const {
  return std::ranges::any_of(started_, [&](const Block* block) { return block->task == &task; });
}

/// Slices were over: others have a turn.
void Worker::end_turn() {
  if (deterministic_) machine_.contexts().tick();
  admit_other();
}

// When a slice is over, a task of which nothing has started here gets a block, so that it takes turns with
// the others; not the one whose slice it was, unless it is more urgent than they are. One of an address space
// of which nothing has started comes first.
void Worker::admit_other() {
  const int urgent = started_.empty() ? std::numeric_limits<int>::min() : started_[0]->task->priority;
  const auto is_new = [&](const Task& task) {
    return (&task != served_ || task.priority < urgent) && !is_started(task);
  };
  const auto is_of_new_space = [&](const Task& task) {
    return is_new(task) && !has_started_of(task.grid().space->id());
  };
  drop_grants();
  if (!admit(is_of_new_space)) admit(is_new);
}

bool Worker::admit(const std::function<bool(const Task&)>& wanted) {
  const auto granted =
      std::ranges::find_if(grants_.all(), [&](const CtaRun& grant) { return wanted(*grant.task); });
  CtaRun* const grant = granted != grants_.all().end() ? &*granted : take_run(wanted);
  return grant != nullptr && begin_block(*grant);
}

bool Worker::more_urgent_than(const Task& task) const {
  return machine_.launches().most_urgent(id_) < task.priority;
}

/// Adds a run to the grants, of the first task in the worker's queue that is wanted. @returns null if there
/// is none
CtaRun* Worker::take_run(const std::function<bool(const Task&)>& wanted) {
  CtaRun run;
  const bool taken = !grants_.full() && machine_.launches().take_run(id_, wanted, run);
  ring_if_recalled();
  if (!taken) return nullptr;
  bump(counters_.grants);
  return &grants_.insert(run);
}

// Starts one block with the next CTA granted, and runs it until it ends or waits.
bool Worker::start_block() {
  drop_grants();
  if (!grants_.empty() && more_urgent_than(*grants_.front().task)) {
    const int priority = grants_.front().task->priority;
    take_run([priority](const Task& task) { return task.priority < priority; });
  }
  if (grants_.empty() && !fetch_grants()) return false;
  return begin_block(grants_.front());
}

bool Worker::start_block_of(const Task& task) {
  drop_grants();
  if (grants_.empty()) return start_block();
  CtaRun* grant = grants_.of(task);
  if (grant == nullptr) grant = take_run([&](const Task& other) { return &other == &task; });
  return grant != nullptr && begin_block(*grant);
}

bool Worker::begin_block(CtaRun& grant) {
  if (grant.past == CtaRun::Past::stopped) return unpark(grant);
  if (free_blocks_.empty()) {
    blocks_.push_back(std::make_unique<Block>());
    blocks_.back()->worker = this;
    free_blocks_.push_back(blocks_.back().get());
  }
  Block& block = *free_blocks_.back();
  if (!take_entry(block, grant)) return true;
  if (!bind(block, grant)) {
    AddressSpace& space = *grant.task->grid().space;
    space.stop_task(*grant.task, AddressSpace::out_of_memory_fault(*grant.task));
    drop_grants();
    return true;
  }
  free_blocks_.pop_back();
  take_cta(block, grant);
  started(block);
  return true;
}

/// The block has a CTA from now on, or has one again; it runs until it ends or waits.
void Worker::started(Block& block) {
  if (!occupied_.load(std::memory_order_relaxed)) {
    occupied_.store(true, std::memory_order_seq_cst);  // before the clock's look at it, or it is woken
    if (!deterministic_) machine_.clock().attend();
  }
  join_share(block);
  auto place = started_.end();
  while (place != started_.begin() && place[-1]->task->priority > block.task->priority) --place;
  started_.insert(place, &block);
  if (started_.size() > counters_.peak_started.load(std::memory_order_relaxed))
    counters_.peak_started.store(started_.size(), std::memory_order_relaxed);
  Block& last = resume(block);
  if (last.status != Block::Status::waiting)
    settle(static_cast<std::size_t>(std::ranges::find(started_, &last) - started_.begin()));
}

bool Worker::fetch_grants() {
  bool more;
  do {
    more = exchange(true);
    drop_grants();
  } while (grants_.empty() && (finished_count_ != 0 || more));
  return !grants_.empty();
}

/// Those of tasks that were stopped, or are preempted.
void Worker::drop_grants() {
  for (std::size_t i = 0; i < grants_.all().size();) {
    CtaRun& run = grants_.all()[i];
    const bool stopped = run.task->stop.load(std::memory_order_relaxed) != 0;
    if (!stopped && !run.task->preempted.load(std::memory_order_relaxed)) {
      ++i;
      continue;
    }
    if (finished_count_ == finished_.size()) exchange(false);
    CtaRun& dropped = finished_[finished_count_++] = run;
    grants_.remove(run);
    if (!stopped) {
      dropped.parks = true;
      if (dropped.past == CtaRun::Past::none) dropped.past = CtaRun::Past::queued;
    } else if (dropped.past == CtaRun::Past::stopped) {
      give_up_parked(dropped);
    }
  }
}

void Worker::report_finished(const CtaRun& run) {
  if (finished_count_ != 0 && finished_[finished_count_ - 1].append(run)) return;
  if (finished_count_ == finished_.size()) exchange(false);
  finished_[finished_count_++] = run;
}

/// What a block of a run took that was granted by one call and has ended, if nothing else ran meanwhile.
void Worker::measure_blocks() {
  if (finished_count_ != 1 || granted_ns_ == 0 || !started_.empty() || deterministic_) return;
  const std::uint64_t each = (now_ns() - granted_ns_) / finished_[0].count;
  finished_[0].took_ns = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(each, 1, ~std::uint32_t{0}));
}

/// Of every eighth grants, or of a kernel other than before.
void Worker::begin_measurement() {
  constexpr unsigned kOneIn = 8;
  granted_ns_ = 0;
  if (grants_.empty()) return;
  const exec::Executable* const code = grants_.front().task->grid().executable;
  if (code == measured_ && ++unmeasured_ % kOneIn != 0) return;
  measured_ = code;
  granted_ns_ = now_ns();
}

/// Reports what finished; takes new grants only when none are left. @returns whether another call may bring
/// something: more tasks were stopped than one call names, or what waited for complete ones has come
bool Worker::exchange(bool want_grants) {
  order_stores();
  measure_blocks();
  if (want_grants && may_hand_on() && go_on_with_next()) return false;
  return report(want_grants);
}

bool Worker::report(bool want_grants) {
  std::array<Task*, 32> completed;
  std::size_t completed_count = 0;
  const std::size_t granted = machine_.launches().exchange(id_, {finished_.data(), finished_count_},
                                                           want_grants ? grants_.room() : std::span<CtaRun>(),
                                                           completed, completed_count);
  finished_count_ = 0;
  ring_if_recalled();
  if (granted != 0) {
    grants_.fill(granted);
    bump(counters_.grants, granted);
    if (!machine_.launches().has_more()) grants_.front().task->fetch_awaiting();
  }
  begin_measurement();
  if (completed_count != 0) {
    completes_.store(true, std::memory_order_relaxed);  // seen by who sees that a task is complete
    for (std::size_t i = 0; i < completed_count; ++i)
      completed[i]->grid().space->tasks().complete(*completed[i]);
    completes_.store(false, std::memory_order_release);
  }
  if (granted != 0 && machine_.launches().has_more()) machine_.doorbell().pass_on();
  machine_.contexts().look();
  return completed_count == completed.size() || (completed_count != 0 && machine_.launches().has_news());
}

void Worker::ring_if_recalled() {
  if (machine_.launches().recalled()) machine_.doorbell().ring(machine_.worker_count());
}

bool Worker::end_slice() {
  if (!occupied_.load(std::memory_order_seq_cst)) return false;
  const std::uint64_t turn = turn_.load(std::memory_order_relaxed);
  if (turn == seen_turn_) raise_poll();
  seen_turn_ = turn;
  return true;
}

/// Whether another attempt to start a block may succeed.
bool Worker::has_news() const {
  return finished_count_ != 0 || !grants_.empty() || machine_.launches().has_news();
}

void Worker::idle() {
  Doorbell& bell = machine_.doorbell();
  const std::uint32_t epoch = bell.epoch.load(std::memory_order_acquire);
  // A program that prepares launches while others run gets the core now: later it would get it in the middle
  // of a block, for which all that follows in its stream would wait.
  const std::uint32_t submissions = bell.submissions.load(std::memory_order_relaxed);
  if (std::exchange(submissions_, submissions) != submissions) sched_yield();
  // Rung between the last look and the epoch's.
  if (machine_.stopping() || (has_news() && start_block())) return;
  bell.spinners.fetch_add(1, std::memory_order_relaxed);
  spins_.store(true, std::memory_order_relaxed);
  const bool rung = base::spin_until([&] { return bell.epoch.load(std::memory_order_acquire) != epoch; });
  spins_.store(false, std::memory_order_relaxed);
  bell.spinners.fetch_sub(1, std::memory_order_relaxed);
  if (rung) return;
  occupied_.store(false, std::memory_order_relaxed);
  bell.sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (bell.epoch.load(std::memory_order_seq_cst) == epoch) {
    bump(counters_.sleeps);
    base::futex_wait_as(bell.epoch, epoch, bell_bit());
  }
  bell.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

/// @returns the block that had the last turn
Block& Worker::resume(Block& block) {
  running_ = &block;
  turn_began_ = progress_;
  handed_on_ = 0;
  turn_.store(turn_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  switch_fibers(block.cta, scheduler_, block.current_fiber());
  return *std::exchange(running_, nullptr);
}

// Takes a block that does not wait out of the started ones.
void Worker::settle(std::size_t position) {
  Block& block = *started_[position];
  started_.erase(started_.begin() + static_cast<std::ptrdiff_t>(position));
  leave_share(block);
  if (block.status != Block::Status::idle) {
    if (block.status == Block::Status::faulted) handle_fault(block);
    clear(block);
    report_finished(block.run);
    ++progress_;
  }
  for (Block* other : started_)
    if (other->task == block.task) other->turns = 0;
  block.status = Block::Status::idle;
  free_blocks_.push_back(&block);
}

void Worker::handle_fault(Block& block) {
  AddressSpace& space = *block.task->grid().space;
  space.stop_task(*block.task, space.describe_fault(block, raw_fault_));
}

}  // namespace raddle::machine
