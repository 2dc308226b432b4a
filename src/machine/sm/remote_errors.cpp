// Errors of late copies that are found in other CTAs (W-19): the copy is over, its warp has gone on, perhaps
// its CTA has. They come back where a block of the worker meets the machine, sooner or later (Adversary).
#include <fmt/format.h>

#include "machine/address_space.h"
#include "machine/sm/worker.h"

namespace raddle::machine {

AccessHistory& Worker::history_of(const Block& block) {
  std::unique_ptr<AccessHistory>& history = machine_.launches().sm(block.cta.smid).history;
  if (history == nullptr) history = std::make_unique<AccessHistory>();
  return *history;
}

void Worker::send_back(const Block& block, const TmaProblem& problem) {
  const Busy busy(*this);
  adversary_->errors.push_back({.cluster = block.cluster,
                                .launch = block.cluster->launch_number(),
                                .sm = block.cta.smid,
                                .rank = block.cta.cluster_rank,
                                .access = problem.access,
                                .problem = problem.remote,
                                .address = problem.address});
}

/// The error's source; if that has exited, another block of its cluster. Null: none has started, or none is
/// left.
Block* Worker::started_in(const RemoteError& error) const {
  Block* found = nullptr;
  if (error.is_lost()) return found;
  for (Block* block : started_) {
    if (block->cluster != error.cluster || block->status != Block::Status::waiting) continue;
    found = block;
    if (block->cta.cluster_rank == error.rank) break;
  }
  return found;
}

/// Stops the kernel, with a fault of the thread that made the access as far as that is known.
/// @param block  of the source's cluster
void Worker::raise(const RemoteError& error, Block& block) {
  RawFault raw{.kind = exec::FaultKind::illegal_cluster_address, .address = error.address};
  raw.cluster_problem = error.problem;
  if (const auto* source = machine_.launches().sm(error.sm).history->find(error.access)) {
    raw.lane = source->thread % exec::kWarpSize + 1;
    raw.warp = source->thread / exec::kWarpSize + 1;
    raw.line = source->line;
  }
  AddressSpace& space = *block.task->grid().space;
  exec::Fault fault = space.describe_fault(block, raw);
  fault.block_known = block.cta.cluster_rank == error.rank;
  if (!fault.block_known)
    fault.detail += fmt::format("; rank {}, which sent there, has exited, too", error.rank);
  if (!fault.thread_known) fault.detail += "; which thread it was is not known any more";
  space.stop_task(*block.task, std::move(fault));
}

/// Those that arrive by now. Where the cluster has ended, nobody is told. @param all  none is late
void Worker::return_errors(Block& block, bool all) {
  std::vector<RemoteError>& errors = adversary_->errors;
  if (errors.empty() || (!all && !adversary_->returns_errors())) return;
  {
    const Busy busy(*this);
    std::erase_if(errors, [&](const RemoteError& error) {
      Block* const there = started_in(error);
      if (there != nullptr) raise(error, *there);
      return there != nullptr || error.is_lost();
    });
  }
  look_at_stop(block, nullptr);
}

}  // namespace raddle::machine
