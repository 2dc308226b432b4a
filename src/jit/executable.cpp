#include "jit/executable.h"

#include <chrono>
#include <vector>

#include "base/past_caches.h"
#include "jit/cta_regions.h"
#include "jit/decode.h"

namespace raddle::jit {
namespace {

using LoopsEntry = void(exec::CtaContext*, std::uint32_t);

}  // namespace

/// Counts the time of one call against what is left until the code is hot. Two clock reads, and only while
/// what a kernel starts with waits to become hot.
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
}

/// Before others may learn of what a CTA has stored past the caches, while it goes on.
void JitExecutable::order_stores(const exec::CtaContext& cta) const {
  if (cta.launch->outgrows_caches(bytes_past_caches)) order_stores_past_caches();
}

void JitExecutable::run_warp(exec::WarpContext& warp) {
  if (kind != exec::BlockKind::fibers) return run_rest(warp);
  Timed timed(*this);
  entry<void(exec::WarpContext*)>()(&warp);
}

/// The warps behind one that is suspended, on a fiber of their own (WarpContext::handed_over).
void JitExecutable::run_rest(exec::WarpContext& suspended) {
  exec::CtaContext& cta = *suspended.cta;
  if (kind == exec::BlockKind::regions)
    return run_region(cta, *reinterpret_cast<Regions*>(&suspended - suspended.warp_id));
  const std::uint32_t first = suspended.warp_id + 1;
  if (first < cta.warp_count) run_loops(cta, first);
}

}  // namespace raddle::jit
