#include "jit/cta_regions.h"

#include <sys/mman.h>

#include <cstring>

#include "base/assert.h"

namespace raddle::jit {
namespace {

thread_local std::vector<RegionMemory> region_memory;

/// Kernels whose lanes have stacks clear these when a warp begins: they are two thirds of a context, and
/// clearing a block's contexts took 5 % of a kernel of short regions.
void clear_but_stacks(exec::WarpContext& warp) {
  constexpr std::size_t kStacks = offsetof(exec::WarpContext, dynamic_stack),
                        kBehind = kStacks + sizeof(exec::WarpContext::dynamic_stack);
  auto* bytes = reinterpret_cast<std::byte*>(&warp);
  std::memset(bytes, 0, kStacks);
  std::memset(bytes + kBehind, 0, sizeof(exec::WarpContext) - kBehind);
}

}  // namespace

RegionMemory take_region_memory(std::size_t size) {
  for (std::size_t k = region_memory.size(); k-- > 0;)
    if (region_memory[k].size >= size) {
      const RegionMemory found = region_memory[k];
      if (k + 1 != region_memory.size()) region_memory[k] = region_memory.back();
      region_memory.pop_back();
      return found;
    }
  size = (size + 0xffff) & ~std::size_t{0xffff};
  void* bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  RADDLE_ASSERT(bytes != MAP_FAILED, "no memory for the warps' state between barriers");
  return {static_cast<std::byte*>(bytes), size};
}

/// Word by word: read as one from where it was just written in two, it would wait for all stores of the
/// block.
void return_region_memory(RegionMemory memory) {
  RegionMemory& place = region_memory.emplace_back();
  place.bytes = memory.bytes;
  place.size = memory.size;
}

/// Warp w, and those behind it, may be entered together.
bool JitExecutable::may_run_together(const Regions& regions, unsigned w) const {
  if ((w & (together - 1)) != 0) return false;  // of warps: a power of two
  const std::uint32_t state = regions.states[w];
  std::uint32_t other = 0;
  for (unsigned k = w + 1; k < w + together; ++k) other |= regions.states[k] ^ state;
  return other == 0 && (state == kNotBegun || together_states[state]);
}

/// Takes warps, one after the other, until none of the region is left to take. What is counted is known to
/// the other fibers at the end alone: nobody asks before all warps are over, and each word of memory that the
/// loop writes is paid for by every warp at every barrier.
void JitExecutable::run_region(exec::CtaContext& cta, Regions& regions) {
  if (together != 0) return run_region_together(cta, regions);
  auto* enter = entry<RegionEntry>();
  const std::size_t frame = frame_size();
  unsigned over = 0;
  std::uint32_t come_to = 0;
  for (unsigned w; (w = regions.next) < cta.warp_count; ++over) {
    regions.next = w + 1;
    const std::uint32_t state = regions.states[w];
    if (state == 0) continue;
    regions.warps[w].handed_over = 0;
    cta.running_warp = w + 1;
    const std::uint32_t to =
        enter(&regions.warps[w], regions.frames + w * frame, state == kNotBegun ? 0 : state);
    regions.states[w] = to;
    come_to |= to;
  }
  regions.over += over;
  regions.come_to |= come_to;
}

/// The same where several may run together.
void JitExecutable::run_region_together(exec::CtaContext& cta, Regions& regions) {
  unsigned over = 0;
  std::uint32_t come_to = 0;
  while (regions.next < cta.warp_count) {
    const unsigned w = regions.next;
    const bool are_together = may_run_together(regions, w);
    const unsigned count = are_together ? together : 1;
    regions.next += count;
    std::uint32_t state = regions.states[w];
    bool alone = state != 0;
    if (state == kNotBegun) state = 0;
    if (are_together) {
      state = enter(cta, regions, w, count, state | kTogether);
      alone = (state & kParted) != 0;
      state &= ~kParted;
      if (!alone) {
        std::fill_n(regions.states + w, count, state);
        come_to |= state;
      }
    }
    for (unsigned k = w; alone && k < w + count; ++k)
      come_to |= regions.states[k] = enter(cta, regions, k, 1, state);
    over += count;
  }
  regions.over += over;
  regions.come_to |= come_to;
}

/// Runs a warp, or several together, to its next barrier, its end, or to where they part. The last of them
/// asks the machine.
std::uint32_t JitExecutable::enter(exec::CtaContext& cta, Regions& regions, unsigned w, unsigned count,
                                   std::uint32_t state) {
  regions.warps[w + count - 1].handed_over = 0;
  cta.running_warp = w + 1;
  return entry<RegionEntry>()(&regions.warps[w], regions.frames + w * frame_size(), state);
}

/// Warps of the CTA stand at a barrier of the cluster. Those that do not, at one of the CTA, wait for the
/// others.
void JitExecutable::pass_cluster_barrier(exec::CtaContext& cta, Regions& regions) {
  exec::WarpContext* first = nullptr;
  bool all = true;
  for (unsigned w = 0; w < cta.warp_count; ++w) {
    if (regions.states[w] == 0) continue;
    if (first == nullptr) first = &regions.warps[w];
    all &= (regions.states[w] & kAtCluster) != 0;
    regions.states[w] &= ~kAtCluster;
  }
  if (!all) cta.services->fault(first, exec::FaultKind::deadlock, 0, ~0u, first->line);
  cta.services->cluster_wait(first, first->live_lanes);
}

void JitExecutable::begin(exec::CtaContext& cta, Regions& regions, std::byte* frames) const {
  RADDLE_ASSERT(cta.warp_count <= exec::kMaxWarps, "a block has at most 32 warps");
  regions.frames = frames;
  for (unsigned w = 0; w < cta.warp_count; ++w) {
    std::uint32_t left = cta.thread_count - w * exec::kWarpSize;
    std::uint32_t lanes = left >= exec::kWarpSize ? 0xffffffffu : (1u << left) - 1;
    exec::WarpContext& warp = regions.warps[w];
    clear_but_stacks(warp);
    warp.cta = &cta, warp.warp_id = w, warp.initial_lanes = warp.live_lanes = lanes;
    regions.states[w] = kNotBegun;
  }
}

void JitExecutable::run_regions(exec::CtaContext& cta) {
  RegionMemory memory = take_region_memory(frame_size() * cta.warp_count);
  Regions regions;
  begin(cta, regions, memory.bytes);
  if (!turn_states.empty()) run_prelude(cta, regions);
  run_to_end(cta, regions);
  return_region_memory(memory);
}

/// A loop over the warps per region: each runs to its next barrier or its end; the barrier completes when all
/// that still live have arrived, whichever of the kernel's barriers each stands at (K-5, K-6).
void JitExecutable::run_to_end(exec::CtaContext& cta, Regions& regions) {
  constexpr unsigned kPhasesPerTurn = 1 << 14;
  for (unsigned phases = 1;; ++phases) {
    regions.next = regions.over = regions.come_to = 0;
    run_region(cta, regions);
    // Suspended in this region, on other fibers: the region ends when they have come to its end.
    if (regions.over != cta.warp_count) {
      exec::WarpContext nobody{.cta = &cta};
      nobody.handed_over = 1;
      while (regions.over != cta.warp_count) cta.services->yield(&nobody);
    }
    if (regions.come_to == 0) break;  // the machine orders what the last region stored, for many CTAs at once
    order_stores(cta);
    if ((regions.come_to & kAtCluster) != 0) pass_cluster_barrier(cta, regions);
    // A loop may pass barriers for as long as it waits for another block: that one has to run at some time.
    if (phases % kPhasesPerTurn == 0) cta.services->yield(&regions.warps[0]);
  }
}

}  // namespace raddle::jit
