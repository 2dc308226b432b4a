// CTAs whose preludes run side by side (prelude.h). The first CTA of a few takes those behind it along; when
// the worker comes to one of them, it goes on from there. What has begun and never comes to this worker is
// forgotten: it has only read.
#include <bit>
#include <cstring>
#include <memory>

#include "jit/cta_regions.h"

namespace raddle::jit {
namespace {

/// So much memory in one piece lets the host's own prefetchers follow; counted as if each thread read a word.
/// Pieces of 4 to 32 KiB are alike, of 2 a little slower (docs/adr/0126).
constexpr std::uint32_t kLeastPiece = 4 << 10, kPiece = 16 << 10, kMostCtas = 16;
/// Grids between which a worker may change meanwhile.
constexpr std::size_t kMostSets = 4;

}  // namespace

/// CTAs that have begun, one behind the other along x.
struct JitExecutable::CtasAhead {
  std::uint64_t code = 0, grid = 0;
  std::uint32_t first[3] = {};
  std::uint32_t ready = 0;  // mask: begun, and not taken over
  RegionMemory frames;      // of all, one CTA behind the other
  std::uint32_t states[kMostCtas][exec::kMaxWarps];

  static CtasAhead& of_thread(std::size_t n) {
    // Not among the thread's own variables: a library that is loaded late has little room for those.
    static thread_local const auto sets = std::make_unique<CtasAhead[]>(kMostSets);
    return sets[n];
  }
};

std::uint64_t JitExecutable::next_number() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

/// Runs the CTA's prelude, or a part of it, with those of CTAs that follow; or takes over what has run of it.
void JitExecutable::run_prelude(exec::CtaContext& cta, Regions& regions) {
  CtasAhead* ahead = find_ahead(cta);
  if (ahead == nullptr) {
    const std::uint32_t bytes = cta.thread_count * sizeof(std::uint32_t);
    const std::uint32_t count = std::min({cta.following + 1, kMostCtas, std::max(1u, kPiece / bytes)});
    if (count * bytes < kLeastPiece) return;
    ahead = &begin_ahead(cta, count);
  }
  run_side_by_side(cta, regions, *ahead);
  const std::uint32_t k = cta.ctaid[0] - ahead->first[0];
  ahead->ready &= ~(1u << k);
  const std::size_t frames = frame_size() * cta.warp_count;
  std::copy_n(ahead->states[k], cta.warp_count, regions.states);
  std::memcpy(regions.frames, ahead->frames.bytes + k * frames, frames);
}

JitExecutable::CtasAhead* JitExecutable::find_ahead(const exec::CtaContext& cta) const {
  for (std::size_t n = 0; n < kMostSets; ++n) {
    CtasAhead& ahead = CtasAhead::of_thread(n);
    const std::uint32_t k = cta.ctaid[0] - ahead.first[0];
    if (ahead.code == number_ && ahead.grid == cta.launch->grid_id && k < kMostCtas &&
        (ahead.ready >> k & 1) != 0 && ahead.first[1] == cta.ctaid[1] && ahead.first[2] == cta.ctaid[2])
      return &ahead;
  }
  return nullptr;
}

/// @param count  CTAs from this one on
JitExecutable::CtasAhead& JitExecutable::begin_ahead(const exec::CtaContext& cta, std::uint32_t count) const {
  static thread_local std::size_t oldest = 0;
  std::size_t n = 0;
  while (n < kMostSets && CtasAhead::of_thread(n).ready != 0) ++n;
  CtasAhead& ahead = CtasAhead::of_thread(n < kMostSets ? n : oldest++ % kMostSets);
  ahead.code = number_;
  ahead.grid = cta.launch->grid_id;
  std::copy_n(cta.ctaid, 3, ahead.first);
  ahead.ready = (1u << count) - 1;
  for (std::uint32_t k = 0; k < count; ++k) std::fill_n(ahead.states[k], cta.warp_count, kNotBegun);
  const std::size_t size = frame_size() * cta.warp_count * count;
  if (ahead.frames.size < size) {
    if (ahead.frames.bytes != nullptr) return_region_memory(ahead.frames);
    ahead.frames = take_region_memory(size);
  }
  return ahead;
}

/// Until all have left the last loop of their preludes, or somebody asks for the worker: nothing here asks
/// the machine. Each runs as if it were this CTA, but for %ctaid, by which a fault names it, too.
void JitExecutable::run_side_by_side(exec::CtaContext& cta, Regions& regions, CtasAhead& ahead) {
  const std::uint32_t own = cta.ctaid[0];
  const std::size_t frames = frame_size() * cta.warp_count;
  for (bool again = true; again && cta.poll->load(std::memory_order_relaxed) == 0;) {
    again = false;
    for (std::uint32_t left = ahead.ready; left != 0; left &= left - 1) {
      const auto k = static_cast<std::uint32_t>(std::countr_zero(left));
      cta.ctaid[0] = ahead.first[0] + k;
      again |= take_turn(cta, regions.warps, ahead.states[k], ahead.frames.bytes + k * frames);
    }
  }
  cta.ctaid[0] = own;
  cta.running_warp = 0;
}

/// Each warp goes through one turn of a loop, if it stands before one.
/// @returns whether another turn follows
bool JitExecutable::take_turn(exec::CtaContext& cta, exec::WarpContext* warps, std::uint32_t* states,
                              std::byte* frames) {
  auto* run = entry<RegionEntry>();
  bool again = false;
  for (unsigned w = 0; w < cta.warp_count; w += together) {
    std::uint32_t state = states[w] == kNotBegun ? 0 : states[w];
    if (state != 0 && !turn_states[state]) continue;
    cta.running_warp = w + 1;
    state = run(warps + w, frames + w * frame_size(), state | kTogether | kPausing) & ~kPausing;
    const bool have_parted = (state & kParted) != 0;
    state &= ~kParted;
    // Quick code parts at once: they have not begun.
    std::fill_n(states + w, together, state == 0 ? kNotBegun : state);
    again |= !have_parted && turn_states[state];
  }
  return again;
}

}  // namespace raddle::jit
