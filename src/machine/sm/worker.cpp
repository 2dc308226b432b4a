// The worker's loop: resume what is started, oldest first; start more when all of it waits; sleep when there
// is nothing.
#include "machine/sm/worker.h"

#include <sched.h>

#include <algorithm>

#include "base/assert.h"
#include "base/futex.h"
#include "machine/machine.h"
#include "machine/services/services.h"
#include "machine/shape/host.h"
#include "machine/sm/signals.h"

namespace raddle::machine {
namespace {
thread_local Worker* this_worker __attribute__((tls_model("initial-exec"))) = nullptr;

void bump(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}
}  // namespace

Worker* current_worker() { return this_worker; }

Worker::Worker(Machine& machine, unsigned id, int cpu) : machine_(machine), id_(id), cpu_(cpu) {
  if (const auto seed = machine.options().deterministic; seed && *seed != 0)
    random_ = *seed * 0x9e3779b97f4a7c15ull | 1;
  started_.reserve(256);
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
    } else if (!start_block()) {
      idle();
    }
  }
  this_worker = nullptr;
}

// Deterministic mode: the seed also decides which blocks are started together and who is resumed first.
void Worker::shuffle_started() {
  constexpr std::size_t kTogether = 8;
  if (started_.size() < kTogether && pick(0xf, 0) == 0) start_block();
  for (std::size_t i = started_.size(); i > 1; --i) std::swap(started_[i - 1], started_[draw() % i]);
}

// Resumes every started block once. All of them wait: so more may be started when none of them got anywhere.
bool Worker::round() {
  constexpr unsigned kPatience = 16;  // rounds
  const std::uint64_t ended = counters_.ctas.load(std::memory_order_relaxed);
  bool moved = false;
  for (std::size_t i = 0; i < started_.size();) {
    Block& block = *started_[i];
    const std::uint64_t before = progress_;
    if (block.task->stop.load(std::memory_order_relaxed) != 0) {
      locate_stop(block, nullptr);
      block.status = Block::Status::stopped;
    } else {
      resume(block);
    }
    moved |= progress_ != before || block.status != Block::Status::waiting;
    if (block.status == Block::Status::waiting) {
      ++i;
    } else {
      settle(i);
    }
  }
  if (finished_count_ != 0) exchange(grant_count_ == 0);
  if (moved) {
    fruitless_ = 0;
    start_more_ = 1;
    // Blocks that wait for one which is not started yet may pass barriers while they do so.
    endless_ = counters_.ctas.load(std::memory_order_relaxed) != ended ? 0 : endless_ + 1;
    if (endless_ != 0 && endless_ % kPatience == 0) {
      const std::size_t wanted = started_.size();
      for (std::size_t i = 0; i < wanted; ++i)
        if (!start_block()) break;
    }
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

// Starts one block with the next CTA granted, and runs it until it ends or waits.
bool Worker::start_block() {
  drop_stopped_grants();
  if (grant_count_ == 0 && !fetch_grants()) return false;
  const CtaRun& grant = grants_[grant_head_];
  if (free_blocks_.empty()) {
    blocks_.push_back(std::make_unique<Block>());
    blocks_.back()->worker = this;
    free_blocks_.push_back(blocks_.back().get());
  }
  Block& block = *free_blocks_.back();
  if (!bind(block, grant)) {
    machine_.stop_task(*grant.task, machine_.out_of_memory_fault(*grant.task));
    drop_stopped_grants();
    return true;
  }
  free_blocks_.pop_back();
  take_cta(block);
  started_.push_back(&block);
  if (started_.size() > counters_.peak_started.load(std::memory_order_relaxed))
    counters_.peak_started.store(started_.size(), std::memory_order_relaxed);
  resume(block);
  if (block.status != Block::Status::waiting) settle(started_.size() - 1);
  return true;
}

bool Worker::fetch_grants() {
  bool more;
  do {
    more = exchange(true);
    drop_stopped_grants();
  } while (grant_count_ == 0 && (finished_count_ != 0 || more));
  return grant_count_ != 0;
}

void Worker::drop_stopped_grants() {
  while (grant_count_ != 0 && grants_[grant_head_].task->stop.load(std::memory_order_relaxed) != 0) {
    if (finished_count_ == finished_.size()) exchange(false);
    finished_[finished_count_++] = grants_[grant_head_++];
    --grant_count_;
  }
}

void Worker::report_finished(const CtaRun& run) {
  if (finished_count_ != 0 && finished_[finished_count_ - 1].append(run)) return;
  if (finished_count_ == finished_.size()) exchange(false);
  finished_[finished_count_++] = run;
}

// Reports what finished; takes new grants only when none are left. @returns whether there may be more to
// report: more tasks were stopped than one call names
bool Worker::exchange(bool want_grants) {
  std::array<Task*, 32> completed;
  std::size_t completed_count = 0;
  const std::span<CtaRun> room =
      want_grants && grant_count_ == 0 ? std::span<CtaRun>(grants_) : std::span<CtaRun>();
  const std::size_t granted = machine_.launches().exchange(id_, {finished_.data(), finished_count_}, room,
                                                           completed, completed_count);
  finished_count_ = 0;
  if (granted != 0) {
    grant_head_ = 0;
    grant_count_ = granted;
    bump(counters_.grants, granted);
    auto& started = grants_[0].task->started_ns;
    if (started.load(std::memory_order_relaxed) == 0) {
      std::uint64_t unset = 0;
      started.compare_exchange_strong(unset, now_ns(), std::memory_order_relaxed);
    }
  }
  for (std::size_t i = 0; i < completed_count; ++i) machine_.tasks().complete(*completed[i]);
  if (granted != 0 && machine_.launches().has_more()) machine_.doorbell().pass_on();
  return completed_count == completed.size();
}

void Worker::idle() {
  Doorbell& bell = machine_.doorbell();
  const std::uint32_t epoch = bell.epoch.load(std::memory_order_acquire);
  if (machine_.stopping() || start_block()) return;  // rung between the last look and the epoch's
  bell.spinners.fetch_add(1, std::memory_order_relaxed);
  const bool rung = base::spin_until([&] { return bell.epoch.load(std::memory_order_acquire) != epoch; });
  bell.spinners.fetch_sub(1, std::memory_order_relaxed);
  if (rung) return;
  bell.sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (bell.epoch.load(std::memory_order_seq_cst) == epoch) {
    bump(counters_.sleeps);
    base::futex_wait(bell.epoch, epoch);
  }
  bell.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void Worker::resume(Block& block) {
  running_ = &block;
  turn_began_ = progress_;
  in_kernel_ = true;
  base::Fiber::switch_to(scheduler_, block.current_fiber());
  in_kernel_ = false;
  running_ = nullptr;
}

// Takes a block that does not wait out of the started ones.
void Worker::settle(std::size_t position) {
  Block& block = *started_[position];
  started_.erase(started_.begin() + static_cast<std::ptrdiff_t>(position));
  if (block.status != Block::Status::idle) {
    if (block.status == Block::Status::faulted) handle_fault(block);
    for (auto& warp : block.warps) {
      if (warp) warp->prepared = false;
    }
    block.runner_prepared = false;
    report_finished(block.run);
    ++progress_;
  }
  block.status = Block::Status::idle;
  free_blocks_.push_back(&block);
}

void Worker::handle_fault(Block& block) {
  machine_.stop_task(*block.task, machine_.describe_fault(block, raw_fault_));
}

}  // namespace raddle::machine
