#include "jit/cta_regions.h"

#include <sys/mman.h>

#include "base/assert.h"

namespace raddle::jit {
namespace {

thread_local std::vector<RegionMemory> region_memory;

}  // namespace

RegionMemory take_region_memory(std::size_t size) {
  for (std::size_t k = region_memory.size(); k-- > 0;)
    if (region_memory[k].size >= size) {
      RegionMemory found = region_memory[k];
      region_memory[k] = region_memory.back();
      region_memory.pop_back();
      return found;
    }
  size = (size + 0xffff) & ~std::size_t{0xffff};
  void* bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  RADDLE_ASSERT(bytes != MAP_FAILED, "no memory for the warps' state between barriers");
  return {static_cast<std::byte*>(bytes), size};
}

void return_region_memory(RegionMemory memory) { region_memory.push_back(memory); }

/// Warp w, and those behind it, may be entered together.
bool JitExecutable::may_run_together(const Regions& regions, unsigned w) const {
  if ((w & (together - 1)) != 0) return false;  // of warps: a power of two
  const std::uint32_t state = regions.states[w];
  std::uint32_t other = 0;
  for (unsigned k = w + 1; k < w + together; ++k) other |= regions.states[k] ^ state;
  return other == 0 && (state == kNotBegun || together_states[state] != 0);
}

/// Takes warps, one after the other, until none of the region is left to take.
void JitExecutable::run_region(exec::CtaContext& cta, Regions& regions) {
  if (together != 0) return run_region_together(cta, regions);
  auto* enter = entry<RegionEntry>();
  const std::size_t frame = frame_size();
  while (regions.next < cta.warp_count) {
    const unsigned w = regions.next++;
    std::uint32_t state = regions.states[w];
    if (state != 0) {
      regions.warps[w].handed_over = 0;
      cta.running_warp = w + 1;
      state = enter(&regions.warps[w], regions.frames + w * frame, state == kNotBegun ? 0 : state);
      regions.clusters += (state & kAtCluster) != 0;
      state &= ~kAtCluster;
      regions.states[w] = state;
    }
    ++regions.over;
    regions.waiting += state != 0;
  }
}

/// The same where several may run together, whose regions may be as short as 100 ns.
void JitExecutable::run_region_together(exec::CtaContext& cta, Regions& regions) {
  const unsigned count = together;
  while (regions.next < cta.warp_count) {
    const unsigned w = regions.next;
    if (!may_run_together(regions, w)) {
      run_alone(cta, regions, w, 1);
      continue;
    }
    regions.next = w + count;
    const std::uint32_t from = regions.states[w];
    const std::uint32_t state = enter(cta, regions, w, count, (from == kNotBegun ? 0 : from) | kTogether);
    if ((state & kParted) != 0) {
      const std::uint32_t at = state & ~kParted;
      std::fill_n(regions.states + w, count, at == 0 ? kNotBegun : at);  // quick code parts at once
      run_alone(cta, regions, w, count);
      continue;
    }
    come(regions, w, count, state);
  }
}

/// Warps come to the region's end, or to their own.
void JitExecutable::come(Regions& regions, unsigned w, unsigned count, std::uint32_t state) {
  const std::uint32_t stays = state & ~kAtCluster;
  for (unsigned k = 0; k < count; ++k) regions.states[w + k] = stays;
  regions.over += count;
  regions.waiting += stays != 0 ? count : 0;
  regions.clusters += (state & kAtCluster) != 0 ? count : 0;
}

/// Warps go on by lanes, one after the other.
void JitExecutable::run_alone(exec::CtaContext& cta, Regions& regions, unsigned first, unsigned count) {
  regions.next = first + count;
  for (unsigned w = first; w < first + count; ++w) {
    std::uint32_t state = regions.states[w];
    if (state != 0) state = enter(cta, regions, w, 1, state == kNotBegun ? 0 : state);
    come(regions, w, 1, state);
  }
}

/// Runs a warp, or several together, to its next barrier, its end, or to where they part. The last of them
/// asks the machine.
std::uint32_t JitExecutable::enter(exec::CtaContext& cta, Regions& regions, unsigned w, unsigned count,
                                   std::uint32_t state) {
  regions.warps[w + count - 1].handed_over = 0;
  cta.running_warp = w + 1;
  return entry<RegionEntry>()(&regions.warps[w], regions.frames + w * frame_size(), state);
}

/// The CTA's warps stand at barriers of the cluster. Those that do not, at one of the CTA, wait for the
/// others.
void JitExecutable::pass_cluster_barrier(exec::CtaContext& cta, Regions& regions) {
  unsigned w = 0;
  while (regions.states[w] == 0) ++w;
  exec::WarpContext& first = regions.warps[w];
  if (regions.clusters != regions.waiting)
    cta.services->fault(&first, exec::FaultKind::deadlock, 0, ~0u, first.line);
  cta.services->cluster_wait(&first, first.live_lanes);
}

void JitExecutable::begin(exec::CtaContext& cta, Regions& regions, std::byte* frames) const {
  RADDLE_ASSERT(cta.warp_count <= exec::kMaxWarps, "a block has at most 32 warps");
  regions.frames = frames;
  for (unsigned w = 0; w < cta.warp_count; ++w) {
    std::uint32_t left = cta.thread_count - w * exec::kWarpSize;
    std::uint32_t lanes = left >= exec::kWarpSize ? 0xffffffffu : (1u << left) - 1;
    regions.warps[w] = {.cta = &cta, .warp_id = w, .initial_lanes = lanes, .live_lanes = lanes};
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
    regions.next = regions.over = regions.waiting = regions.clusters = 0;
    run_region(cta, regions);
    // Suspended in this region, on other fibers: the region ends when they have come to its end.
    if (regions.over != cta.warp_count) {
      exec::WarpContext nobody{.cta = &cta};
      nobody.handed_over = 1;
      while (regions.over != cta.warp_count) cta.services->yield(&nobody);
    }
    if (regions.waiting == 0) break;
    if (regions.clusters != 0) pass_cluster_barrier(cta, regions);
    // A loop may pass barriers for as long as it waits for another block: that one has to run at some time.
    if (phases % kPhasesPerTurn == 0) cta.services->yield(&regions.warps[0]);
  }
}

}  // namespace raddle::jit
