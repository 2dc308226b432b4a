// Asynchronous copies of a block on a device where they land late (Adversary). A block's copies land where
// one of its warps meets the machine, where none of its warps gets further, and when it ends; so whatever
// they do wrong is found while the block runs.
#include <fmt/format.h>

#include <cstdio>

#include "machine/address_space.h"
#include "machine/machine.h"
#include "machine/sm/worker.h"

namespace raddle::machine {

TmaUnit& Worker::tma_of(const Block& block) {
  std::unique_ptr<TmaUnit>& unit = machine_.launches().sm(block.cta.smid).tma;
  if (unit == nullptr) {
    const Busy busy(*this);
    unit = std::make_unique<TmaUnit>();
    if (adversary_) {
      unit->set_mode(TmaMode::deferred);
      unit->set_views(&adversary_->views);
      unit->set_history(&history_of(block));
      adversary_->units.push_back(unit.get());
    }
  }
  return *unit;
}

ThreadCopies& Worker::copies_of(const Block& block) {
  std::unique_ptr<ThreadCopies>& copies = machine_.launches().sm(block.cta.smid).copies;
  if (copies == nullptr) {
    const Busy busy(*this);
    copies = std::make_unique<ThreadCopies>(adversary_->views, history_of(block));
    adversary_->copies.push_back(copies.get());
  }
  return *copies;
}

void Worker::fault(Block& block, const TmaRequester& culprit, const TmaProblem& problem) {
  RawFault raw{.kind = problem.fault,
               .address = problem.address,
               .lane = culprit.thread % exec::kWarpSize + 1,
               .warp = culprit.thread / exec::kWarpSize + 1,
               .line = culprit.line};
  raw.note = problem.note;
  fault(block, raw);
}

void Worker::begin_copies(Block& block) {
  adversary_->views.begin(exec::own_memory(block.cta), block.cta.cluster->shared_bytes);
}

/// On stderr, once for each line of a kernel: what of the block does something wrong.
void Worker::warn(Block& block, const TmaRequester& culprit, const char* what, const std::string& problem) {
  const Busy busy(*this);
  if (!adversary_->reported.emplace(*block.task->grid().name, culprit.line, problem).second) return;
  const RawFault where{.lane = culprit.thread % exec::kWarpSize + 1,
                       .warp = culprit.thread / exec::kWarpSize + 1,
                       .line = culprit.line};
  fmt::print(stderr, "raddle: warning: {}{} {}\n", what,
             block.task->grid().space->describe_fault(block, where).place(), problem);
}

/// A load where a copy has yet to write, or a store where one has yet to read: what is seen is one thing or
/// another.
void Worker::judge_access(const ByteRange& place, bool is_load, unsigned lane, std::uint32_t line) {
  const TmaRequester* user = adversary_->user_of(place, is_load ? TmaUse::writes : TmaUse::reads);
  if (user == nullptr) return;
  const Busy busy(*this);
  Block &block = *running_, &other = *static_cast<Block*>(user->cta->machine);
  const exec::Fault copy = other.task->grid().space->describe_fault(other, {.line = user->line});
  const std::uint32_t warp = block.cta.running_warp != 0 ? block.cta.running_warp - 1 : block.current;
  const std::string what = is_load ? "load" : "store";
  warn(block, {&block.cta, warp * exec::kWarpSize + lane, line}, ("a " + what).c_str(),
       fmt::format(
           "{} what the copy of PTX line {}{} has yet to {}: a wait for that copy is missing before the "
           "{}, or one for the {} before the copy",
           is_load ? "reads" : "overwrites", copy.ptx_line,
           copy.source.empty() ? "" : " (" + copy.source + ")", is_load ? "write" : "read", what, what));
}

void Worker::report_mistakes(Block& block) {
  const auto describe = [](TmaMistake mistake) {
    switch (mistake) {
      case TmaMistake::exited:
        return "reads shared memory of a block that has exited: a wait (cp.async.bulk.wait_group.read) is "
               "missing";
      case TmaMistake::unexpected:
        return "lands in another phase of its mbarrier than it was asked for in: the mbarrier does not "
               "expect its bytes (mbarrier.expect_tx is missing, or expects too few)";
      case TmaMistake::unawaited:
        return "is not over when its block exits: a wait for it is missing, or its mbarrier does not "
               "expect its bytes (mbarrier.expect_tx)";
      default:
        return "reads shared memory that threads have stored to since the last proxy fence: before it a "
               "fence.proxy.async is missing, or after it a wait";
    }
  };
  const Busy busy(*this);
  for (const auto& [requester, mistake] : tma_of(block).take_mistakes())
    warn(block, requester, "a bulk copy", describe(mistake));
}

/// At most so many; stops the block if one faults.
void Worker::land(Block& block, std::size_t most) {
  TmaUnit& unit = tma_of(block);
  ThreadCopies& copies = copies_of(block);
  const bool before = in_kernel_;
  in_kernel_ = true;  // they touch the kernel's memory
  for (; most != 0; --most) {
    const std::size_t of_threads = copies.outstanding(block.cta),
                      all = of_threads + unit.outstanding(&block.cta);
    if (all == 0) break;
    const bool is_of_thread = of_threads != 0 && adversary_->choose(all) < of_threads;
    const TmaProblem problem =
        is_of_thread ? copies.advance(*adversary_, block.cta) : unit.advance(*adversary_, &block.cta);
    if (problem.remote != exec::ClusterProblem::none)
      send_back(block, problem);
    else if (problem)
      fault(block, is_of_thread ? copies.culprit() : unit.culprit(), problem);
  }
  in_kernel_ = before;
  return_errors(block, false);
  if (unit.made_mistakes()) report_mistakes(block);
}

bool Worker::land_one(Block& block) {
  const bool has_any = tma_of(block).outstanding(&block.cta) + copies_of(block).outstanding(block.cta) != 0;
  land(block, 1);
  return has_any;
}

void Worker::meet_adversary(exec::WarpContext* warp) {
  Block& block = *static_cast<Block*>(warp->cta->machine);
  land(block, adversary_->burst());
  if (adversary_->lets_others_run()) yield(block, warp);
}

/// The warps of a CTA have exited. Its memory is given back: stores that have not read it yet may read
/// anything, and accesses that come now are wrong. The CTA exits when its own have landed (W-20).
void Worker::finish_copies(Block& block) {
  adversary_->views.spoil(exec::own_memory(block.cta));
  if (block.cluster != nullptr) block.cluster->release_memory(block.cta.cluster_rank, *block.cta.network);
  while (land_one(block))
    if (adversary_->lets_others_run())
      leave_to_scheduler(block, block.current_fiber(), Block::Status::waiting);
  forget_copies(block);
}

void Worker::forget_copies(Block& block) {
  if (auto& unit = machine_.launches().sm(block.cta.smid).tma) unit->forget(block.cta);
  if (auto& copies = machine_.launches().sm(block.cta.smid).copies) copies->forget(block.cta);
  if (adversary_) adversary_->views.end(exec::own_memory(block.cta));
}

}  // namespace raddle::machine
