// A warp's wgmmas. They are executed when they are issued; on a device where copies land late, as late as the
// warp's waits allow, or earlier, at one of its wgmma instructions.
#include <algorithm>

#include "machine/sm/worker.h"

namespace raddle::machine {

/// The oldest of the warp.
void Worker::execute_wgmmas(Warp& warp, std::size_t count) {
  std::byte* memory = adversary_->views.of(exec::own_memory(warp.block->cta));
  warp.wgmmas.take(count, [&](const exec::IssuedWgmma& issued) {
    issued.execute(&issued, issued.is_fenced != 0 ? memory : nullptr);
  });
}

void Worker::execute_due_wgmmas(Warp& warp) {
  const std::size_t waiting = warp.wgmmas.size();
  if (waiting != 0) execute_wgmmas(warp, std::min(adversary_->burst(), waiting));
}

void Worker::issue_wgmma(Warp& warp, const exec::IssuedWgmma& issued) {
  Block& block = *warp.block;
  if (!adversary_) return issued.execute(&issued, exec::own_memory(block.cta));
  {
    const Busy busy(*this);
    warp.wgmmas.issue(issued);
  }
  if (issued.is_fenced == 0)
    warn(block, {&block.cta, warp.index * exec::kWarpSize, issued.line}, "a wgmma",
         "has registers that were accessed since the last wgmma.fence, or there was none: a wgmma.fence is "
         "missing, and D is garbage");
  if (issued.in_call != 0)
    execute_wgmmas(warp, warp.wgmmas.size());
  else
    execute_due_wgmmas(warp);
}

void Worker::fence_wgmmas(Warp& warp) {
  if (adversary_) execute_due_wgmmas(warp);
}

void Worker::commit_wgmmas(Warp& warp) {
  if (!adversary_) return;
  execute_due_wgmmas(warp);
  warp.wgmmas.commit();
}

void Worker::wait_for_wgmmas(Warp& warp, std::uint32_t groups) {
  if (!adversary_) return;
  execute_wgmmas(warp, warp.wgmmas.older_than(groups));
  execute_due_wgmmas(warp);
}

}  // namespace raddle::machine
