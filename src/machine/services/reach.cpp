#include "machine/services/reach.h"

#include "exec/window.h"
#include "machine/address_space.h"

namespace raddle::machine {

namespace {
/// Translates. Where the page of managed memory is not there yet, the access waits for it, and is made again.
/// @param in_kernel  nothing but the kernel is on the stack: others may run meanwhile
Translated translate(Block& block, PagedSpace& pages, std::uint64_t address, exec::AccessKind kind,
                     bool in_kernel) {
  constexpr unsigned kMostReplays = 8;  // a page that has come can go again, or there is no room for it
  Translated place = pages.translate(block.run.sm, address, kind);
  for (unsigned i = 0; place.problem == MmuProblem::to_come && i < kMostReplays; ++i) {
    const std::uint64_t fault = pages.report(address);
    block.worker->wait_for_page(block, pages.mmu().faults(), fault, in_kernel);
    place = pages.replay(block.run.sm, address, kind);
  }
  return place;
}
/// Outside of windows and pages: whether it is memory that contexts share. To direct kernels all is memory.
bool is_shared(Block& block, std::uint64_t address, std::uint64_t bytes) {
  const AddressSpace& space = *block.task->grid().space;
  return block.worker->peer_lookups().access(space.peers(), 1, &address, bytes) != 0 ||
         space.options().translation == Translation::direct;
}
}  // namespace

Translated reach(const exec::CtaContext& cta, std::uint64_t address, std::uint64_t bytes,
                 exec::AccessKind kind) {
  constexpr std::uint64_t kUnbounded = ~std::uint64_t{0};  // what lies behind is the kernel's, or nothing
  if (exec::may_access(cta, address, bytes))
    return {.host = reinterpret_cast<std::byte*>(address), .left = kUnbounded};
  auto& block = *static_cast<Block*>(cta.machine);
  PagedSpace* const pages = block.task->grid().space->pages();
  if (address >> 47 != 0) return {.problem = MmuProblem::not_mapped};
  const bool in_kernel = block.worker->in_kernel();
  const Worker::Busy busy(*block.worker);
  if (pages == nullptr) {
    if (!is_shared(block, address, bytes)) return {.problem = MmuProblem::not_mapped};
    return {.host = reinterpret_cast<std::byte*>(address), .left = kUnbounded};
  }
  const Translated first = translate(block, *pages, address, kind, in_kernel);
  // An access across the end of a page is one access if the pages follow each other.
  for (Translated last = first; last.problem == MmuProblem::none && last.left < bytes;) {
    address += last.left, bytes -= last.left;
    const std::byte* const next = last.host + last.left;
    last = translate(block, *pages, address, kind, in_kernel);
    if (last.problem != MmuProblem::none) return last;
    if (last.host != next) return {.problem = MmuProblem::across_pages};
  }
  return first;
}

std::uint32_t reach_together(const exec::CtaContext& cta, std::uint32_t lanes, const std::uint64_t* addresses,
                             std::uint64_t bytes) {
  auto& block = *static_cast<Block*>(cta.machine);
  const AddressSpace& space = *block.task->grid().space;
  if (lanes == 0 || cta.launch->asid != kNoAsid) return 0;
  const Worker::Busy busy(*block.worker);
  return block.worker->peer_lookups().access(space.peers(), lanes, addresses, bytes);
}

bool may_copy(const exec::CtaContext& cta, std::uint64_t address, std::uint64_t bytes) {
  if (cta.launch->asid != kNoAsid || cta.launch->window.holds(address, bytes)) return true;
  auto& block = *static_cast<Block*>(cta.machine);
  const Worker::Busy busy(*block.worker);
  return is_shared(block, address, bytes);
}

const char* note_of(MmuProblem problem) {
  switch (problem) {
    case MmuProblem::not_bound:
      return "no page directory is bound to it: ";
    case MmuProblem::not_allowed:
      return "its page does not allow that: ";
    case MmuProblem::across_pages:
      return "across the end of its page, which another one follows elsewhere: ";
    default:
      return "";
  }
}

}  // namespace raddle::machine
