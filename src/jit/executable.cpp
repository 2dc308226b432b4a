#include "jit/executable.h"

#include <sys/mman.h>

#include <chrono>
#include <vector>

#include "base/assert.h"
#include "base/past_caches.h"
#include "jit/decode.h"

namespace raddle::jit {
namespace {

/// What the warps of one block keep between regions. Taken from a list per worker thread: a block that is
/// preempted keeps its own, and after the first launch nothing is allocated. A faulted block's memory is not
/// returned.
struct RegionMemory {
  std::byte* bytes = nullptr;
  std::size_t size = 0;
};
thread_local std::vector<RegionMemory> region_memory;

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

constexpr std::uint32_t kSmallestFrame = 64;  // bytes
using LoopsEntry = void(exec::CtaContext*, std::uint32_t);

}  // namespace

/// Counts the time of one call against what is left until the code is hot. Two clock reads, and only while
/// quick code waits to become hot.
class JitExecutable::Timed {
 public:
  explicit Timed(JitExecutable& executable)
      : executable_(executable.nanoseconds_left_.load(std::memory_order_relaxed) > 0 ? &executable
                                                                                     : nullptr) {
    if (executable_) start_ = Clock::now();
  }
  ~Timed() {
    if (!executable_) return;
    std::int64_t spent = std::chrono::nanoseconds(Clock::now() - start_).count() + 1;
    std::int64_t left = executable_->nanoseconds_left_.fetch_sub(spent, std::memory_order_relaxed);
    if (left > 0 && left <= spent) executable_->hot_();  // exactly one call takes it from above zero
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  JitExecutable* executable_;
  Clock::time_point start_;
};

JitExecutable::~JitExecutable() {
  if (improvement) improvement->give_up();
  for (auto& release : releases_) release();
}

void JitExecutable::when_hot(double seconds, std::function<void()> hot) {
  hot_ = std::move(hot);
  nanoseconds_left_ = static_cast<std::int64_t>(seconds * 1e9) + 1;
}

void JitExecutable::add_lines(LineTable lines) {
  std::lock_guard guard(lines_lock_);
  lines_.push_back(std::move(lines));
}

std::optional<CodePlace> JitExecutable::place_of(std::uint64_t address) const {
  std::lock_guard guard(lines_lock_);
  for (LineTable& table : lines_)
    if (auto place = table.place_of(address)) return place;
  return {};
}

std::optional<std::uint32_t> JitExecutable::line_of(std::uint64_t address) const {
  auto place = place_of(address);
  return place ? std::optional(place->line) : std::nullopt;
}

std::optional<exec::AccessedMemory> JitExecutable::accessed(std::uint64_t code,
                                                            const exec::SavedRegisters& registers,
                                                            std::uint64_t faulted) const {
  const LaneRun lanes = place_of(code).value_or(CodePlace{}).lanes;
  auto access = decode_access(code, registers, faulted, lanes.count);
  if (!access) return {};
  exec::AccessedMemory result{.address = access->address, .is_write = access->is_write};
  result.warp = lanes.warp;
  if (lanes.is_one()) result.behind = lanes.first;
  // Where LLVM made another instruction of the access, elements are no lanes.
  if (access->element && lanes.count == access->elements) result.lane = lanes.first + *access->element + 1;
  return result;
}

void JitExecutable::run_block(exec::CtaContext& cta) {
  Timed timed(*this);
  kind == exec::BlockKind::loops ? run_loops(cta, 0) : run_regions(cta);
}

void JitExecutable::run_loops(exec::CtaContext& cta, std::uint32_t first) {
  entry<LoopsEntry>()(&cta, first);
  if (cta.launch->past_caches != 0) order_stores_past_caches();
}

void JitExecutable::run_warp(exec::WarpContext& warp) {
  if (kind != exec::BlockKind::fibers) return run_rest(warp);
  Timed timed(*this);
  entry<void(exec::WarpContext*)>()(&warp);
}

/// A CTA that runs as regions. More than one fiber takes warps from it once some of them were suspended.
struct JitExecutable::Regions {
  exec::WarpContext warps[exec::kMaxWarps];  // at the begin: any of them leads here
  std::uint32_t states[exec::kMaxWarps];     // where each goes on, 0: nowhere, it has ended
  std::byte* frames;
  unsigned next;  // warp to be taken next, in this region
  // Written together, once a warp: a store to one alone before would hold up the load of both.
  unsigned over;      // warps that are at the region's end, or have ended
  unsigned waiting;   // of these: at the region's end
  unsigned clusters;  // of these: at a barrier of the cluster
  bool first = true;  // region: no warp has a state yet
};

/// The warps behind one that is suspended, on a fiber of their own (WarpContext::handed_over).
void JitExecutable::run_rest(exec::WarpContext& suspended) {
  exec::CtaContext& cta = *suspended.cta;
  if (kind == exec::BlockKind::regions)
    return run_region(cta, *reinterpret_cast<Regions*>(&suspended - suspended.warp_id));
  const std::uint32_t first = suspended.warp_id + 1;
  if (first < cta.warp_count) run_loops(cta, first);
}

/// Warp w, and those behind it, may be entered together.
bool JitExecutable::may_run_together(const Regions& regions, unsigned w) const {
  if ((w & (together - 1)) != 0) return false;  // of warps: a power of two
  if (regions.first) return true;
  const std::uint32_t state = regions.states[w];
  std::uint32_t other = 0;
  for (unsigned k = w + 1; k < w + together; ++k) other |= regions.states[k] ^ state;
  return other == 0 && together_states[state];
}

/// Takes warps, one after the other, until none of the region is left to take.
void JitExecutable::run_region(exec::CtaContext& cta, Regions& regions) {
  if (together != 0) return run_region_together(cta, regions);
  auto* enter = entry<std::uint32_t(exec::WarpContext*, std::byte*, std::uint32_t)>();
  const std::size_t frame = std::max<std::uint32_t>(frame_bytes, kSmallestFrame);
  while (regions.next < cta.warp_count) {
    const unsigned w = regions.next++;
    std::uint32_t state = regions.first ? 0 : regions.states[w];
    if (state != 0 || regions.first) {
      regions.warps[w].handed_over = 0;
      cta.running_warp = w + 1;
      state = enter(&regions.warps[w], regions.frames + w * frame, state);
      regions.clusters += (state & kAtCluster) != 0;
      state &= ~kAtCluster;
      regions.states[w] = state;
    }
    ++regions.over;
    regions.waiting += state != 0;
  }
}

/// The same where several may run together.
void JitExecutable::run_region_together(exec::CtaContext& cta, Regions& regions) {
  while (regions.next < cta.warp_count) {
    const unsigned w = regions.next;
    const bool are_together = may_run_together(regions, w);
    const unsigned count = are_together ? together : 1;
    regions.next += count;
    std::uint32_t state = regions.first ? 0 : regions.states[w];
    bool alone = state != 0 || regions.first;
    unsigned waiting = 0, clusters = 0;
    const auto come = [&](unsigned warps, std::uint32_t to) {
      clusters += (to & kAtCluster) != 0 ? warps : 0;
      waiting += (to & ~kAtCluster) != 0 ? warps : 0;
      return to & ~kAtCluster;
    };
    if (are_together) {
      state = enter(cta, regions, w, count, state | kTogether);
      alone = (state & kParted) != 0;
      state &= ~kParted;
      if (!alone) std::fill_n(regions.states + w, count, come(count, state));
    }
    for (unsigned k = w; alone && k < w + count; ++k)
      regions.states[k] = come(1, enter(cta, regions, k, 1, state));
    regions.over += count;
    regions.waiting += waiting;
    regions.clusters += clusters;
  }
}

/// Runs a warp, or several together, to its next barrier, its end, or to where they part. The last of them
/// asks the machine.
std::uint32_t JitExecutable::enter(exec::CtaContext& cta, Regions& regions, unsigned w, unsigned count,
                                   std::uint32_t state) {
  const std::size_t frame = std::max<std::uint32_t>(frame_bytes, kSmallestFrame);
  regions.warps[w + count - 1].handed_over = 0;
  cta.running_warp = w + 1;
  return entry<std::uint32_t(exec::WarpContext*, std::byte*, std::uint32_t)>()(
      &regions.warps[w], regions.frames + w * frame, state);
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

/// A loop over the warps per region: each runs to its next barrier or its end; the barrier completes when all
/// that still live have arrived, whichever of the kernel's barriers each stands at (K-5, K-6).
void JitExecutable::run_regions(exec::CtaContext& cta) {
  constexpr unsigned kPhasesPerTurn = 1 << 14;
  RADDLE_ASSERT(cta.warp_count <= exec::kMaxWarps, "a block has at most 32 warps");
  const std::size_t frame = std::max<std::uint32_t>(frame_bytes, kSmallestFrame);
  RegionMemory memory = take_region_memory(frame * cta.warp_count);
  Regions regions;
  regions.frames = memory.bytes;
  for (unsigned w = 0; w < cta.warp_count; ++w) {
    std::uint32_t left = cta.thread_count - w * exec::kWarpSize;
    std::uint32_t lanes = left >= exec::kWarpSize ? 0xffffffffu : (1u << left) - 1;
    regions.warps[w] = {.cta = &cta, .warp_id = w, .initial_lanes = lanes, .live_lanes = lanes};
  }
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
    regions.first = false;
    // A loop may pass barriers for as long as it waits for another block: that one has to run at some time.
    if (phases % kPhasesPerTurn == 0) cta.services->yield(&regions.warps[0]);
  }
  region_memory.push_back(memory);
}

}  // namespace raddle::jit
