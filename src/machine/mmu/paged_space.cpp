#include "machine/mmu/paged_space.h"

#include <sys/mman.h>

#include <algorithm>

#include "machine/memory/movable_memory.h"

namespace raddle::machine {
namespace {

constexpr std::uint64_t kFrame = FrameRuns::kFrame;

/// Puts frames at addresses of the host.
bool map_frames(const PhysicalMemory& memory, std::uint64_t address, FrameRun frames, int protection) {
  return mmap(reinterpret_cast<void*>(address), frames.bytes, protection, MAP_SHARED | MAP_FIXED,
              memory.descriptor(), static_cast<off_t>(frames.start)) != MAP_FAILED;
}

/// Of frames for so many bytes at an address, so that pages can be as large as the addresses allow.
std::uint64_t alignment_for(std::uint64_t address, std::uint64_t bytes) {
  for (const PageSize size : {PageSize::huge, PageSize::big})
    if (bytes >= bytes_of(size) && address % bytes_of(size) == 0) return bytes_of(size);
  return kFrame;
}

/// Adds what was counted after `before`.
void add_since(TranslationCounts& sum, const TranslationCounts& before, const TranslationCounts& now) {
  for (const auto part :
       {&TranslationCounts::sm_tlbs, &TranslationCounts::gpc_tlbs, &TranslationCounts::copy_engine_tlbs,
        &TranslationCounts::virtual_caches, &TranslationCounts::physical_cache})
    (sum.*part += now.*part) -= before.*part;
}

}  // namespace

Result<std::unique_ptr<PagedSpace>> PagedSpace::open(Mmu& mmu, const PeerMemory& peers) {
  TRY_ASSIGN(auto table, PageTable::create(mmu.tables()));
  MovableMemory::announce(processor_of(peers.device()), mmu.shared_memory());
  return std::unique_ptr<PagedSpace>(new PagedSpace(mmu, peers, std::move(table)));
}

PagedSpace::PagedSpace(Mmu& mmu, const PeerMemory& peers, std::unique_ptr<PageTable> table)
    : mmu_(mmu),
      peers_(peers),
      table_(std::move(table)),
      touched_(std::make_unique<Touched[]>(mmu.sm_count())) {}

PagedSpace::~PagedSpace() {
  mmu_.faults().forget(*this);
  unbind();
  if (engines_asid_ != kNoAsid) mmu_.asids().unbind(engines_asid_);
  for (const auto& [start, bytes] : own_.runs()) mmu_.memory().give_back({start, bytes});
}

void PagedSpace::bind(Asid asid) {
  const std::lock_guard lock(mutex_);
  before_ = mmu_.counts(asid);
  mmu_.asids().bind(asid, table_->directory());
  asid_.store(asid, std::memory_order_relaxed);
}

void PagedSpace::unbind() {
  const std::lock_guard lock(mutex_);
  const Asid asid = asid_.exchange(kNoAsid, std::memory_order_relaxed);
  if (asid == kNoAsid) return;
  mmu_.asids().unbind(asid);
  add_since(counted_, before_, mmu_.counts(asid));
}

void PagedSpace::bind_for_engines(Asid asid) {
  const std::lock_guard lock(mutex_);
  engines_before_ = mmu_.counts(asid);
  mmu_.asids().bind(asid, table_->directory());
  engines_asid_ = asid;
}

void PagedSpace::invalidate() {
  for (const Asid asid : {asid_.load(std::memory_order_relaxed), engines_asid_})
    if (asid != kNoAsid) mmu_.asids().invalidate(asid);
}

TranslationCounts PagedSpace::counts() const {
  const std::lock_guard lock(mutex_);
  TranslationCounts sum = counted_;
  if (const Asid now = asid(); now != kNoAsid) add_since(sum, before_, mmu_.counts(now));
  if (engines_asid_ != kNoAsid) add_since(sum, engines_before_, mmu_.counts(engines_asid_));
  sum.managed_faults = faults_.load(std::memory_order_relaxed);
  sum.replays = replays_.load(std::memory_order_relaxed);
  return sum;
}

Result<void> PagedSpace::enter(std::uint64_t address, FrameRun frames, Permissions permissions) {
  const std::lock_guard lock(mutex_);
  return enter_run(address, frames, permissions);
}

void PagedSpace::leave(std::uint64_t address, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  remove_all(address, bytes);
}

Result<void> PagedSpace::enter_run(std::uint64_t address, FrameRun frames, Permissions permissions) {
  for (std::uint64_t done = 0; done < frames.bytes;) {
    Page page{.physical = frames.start + done, .permissions = permissions};
    page.size = table_->largest_at(address + done, page.physical, frames.bytes - done);
    if (auto entered = table_->enter(address + done, page); !entered) {
      remove_all(address, done);
      return entered;
    }
    done += bytes_of(page.size);
  }
  return {};
}

/// @returns the frames of pages that were there
std::vector<FrameRun> PagedSpace::remove_all(std::uint64_t address, std::uint64_t bytes) {
  std::vector<FrameRun> frames;
  for (std::uint64_t done = 0; done < bytes;) {
    const auto page = table_->remove(address + done);
    if (page && page->aperture == Aperture::device) frames.push_back({page->physical, bytes_of(page->size)});
    done += page ? bytes_of(page->size) : kFrame;
  }
  invalidate();
  return frames;
}

Result<FrameRun> PagedSpace::take_frames(std::uint64_t bytes, std::uint64_t alignment) {
  if (const auto run = own_.take(bytes, alignment)) return *run;
  if (const auto run = mmu_.memory().take(bytes, alignment)) return *run;
  if (const auto run = own_.take_longest(bytes)) return *run;
  return Error::make(ErrorCode::out_of_memory, "no physical memory is left");
}

bool PagedSpace::provide(std::byte* start, std::uint64_t bytes, std::byte* host_alias) {
  const auto first = reinterpret_cast<std::uint64_t>(start);
  const bool is_written = host_alias == nullptr;  // by kernels
  const Permissions permissions{.write = is_written, .atomic = is_written};
  std::uint64_t done = 0;
  const std::lock_guard lock(mutex_);
  while (done < bytes) {
    const auto run = take_frames(bytes - done, alignment_for(first + done, bytes - done));
    if (!run) break;
    const bool is_mapped =
        map_frames(mmu_.memory(), first + done, *run, is_written ? PROT_READ | PROT_WRITE : PROT_READ) &&
        (is_written || map_frames(mmu_.memory(), reinterpret_cast<std::uint64_t>(host_alias) + done, *run,
                                  PROT_READ | PROT_WRITE));
    if (!is_mapped || !enter_run(first + done, *run, permissions)) {
      own_.add(*run);
      break;
    }
    done += run->bytes;
  }
  if (done == bytes) return true;
  for (const FrameRun run : remove_all(first, done)) own_.add(run);
  return false;
}

void PagedSpace::withdraw(std::byte* start, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  for (const FrameRun run : remove_all(reinterpret_cast<std::uint64_t>(start), whole_pages(bytes))) {
    mmu_.memory().clear(run);
    own_.add(run);
  }
}

Translated PagedSpace::translate(std::uint32_t sm, std::uint64_t address, exec::AccessKind kind) {
  for (;;) {
    Translated place = mmu_.translate(sm, asid(), address, kind);
    if (place.problem == MmuProblem::not_mapped && is_managed(address)) {
      place.problem = MmuProblem::to_come;
      return place;
    }
    if (resolve(place, address)) continue;
    if (place.aperture == Aperture::host && has_managed_.load(std::memory_order_relaxed))
      count_touch(sm, address);
    return place;
  }
}

std::uint64_t PagedSpace::report(std::uint64_t address) {
  faults_.fetch_add(1, std::memory_order_relaxed);
  return mmu_.faults().put(*this, address);
}

void PagedSpace::service(std::uint64_t address) { enter_shared(address); }

Translated PagedSpace::replay(std::uint32_t sm, std::uint64_t address, exec::AccessKind kind) {
  replays_.fetch_add(1, std::memory_order_relaxed);
  return translate(sm, address, kind);
}

bool PagedSpace::is_managed(std::uint64_t address) const {
  const PeerMemory::Part part = peers_.around(address);
  return part.shared != nullptr && part.range.holds(address, 1) && part.shared->residency() != nullptr;
}

Translated PagedSpace::access(unsigned engine, std::uint64_t address, exec::AccessKind kind) {
  for (;;) {
    const Asid its = engines_asid_ != kNoAsid ? engines_asid_ : asid();
    const Translated place = mmu_.translate(mmu_.unit_of_engine(engine), its, address, kind);
    if (place.problem != MmuProblem::none || !resolve(place, address)) return place;
  }
}

bool PagedSpace::resolve(const Translated& place, std::uint64_t address) {
  const bool is_new = place.problem == MmuProblem::not_mapped && enter_shared(address);
  const bool is_stale = place.aperture == Aperture::host && drop_stale_shared();
  return is_new || is_stale;
}

/// Asks the table only when the SM goes to another piece of memory.
void PagedSpace::count_touch(std::uint32_t sm, std::uint64_t address) {
  Touched& last = touched_[sm];
  if (!last.range.holds(address, 1) || last.changes != peers_.changes()) {
    last.changes = peers_.changes();
    const PeerMemory::Part part = peers_.around(address);
    last.range = part.range;
    last.pages = part.shared != nullptr ? part.shared->residency() : nullptr;
  }
  if (last.pages != nullptr && last.range.holds(address, 1))
    last.pages->touch(processor_of(peers_.device()), address);
}

/// Gives an address in memory that others have too its page, which is the host's own. @returns whether it did
bool PagedSpace::enter_shared(std::uint64_t address) {
  const std::uint64_t changes = peers_.changes();
  const PeerMemory::Part part = peers_.around(address);
  if (part.range.bytes == 0) return false;
  if (part.shared != nullptr && part.shared->residency() != nullptr) has_managed_ = true;
  const std::uint64_t page = address / kFrame * kFrame;
  const std::lock_guard lock(mutex_);
  if (shared_.empty()) changes_ = changes;
  if (!table_->enter(page, {.physical = page, .aperture = Aperture::host}))
    return std::ranges::find(shared_, page) != shared_.end();  // another worker was first
  shared_.push_back(page);
  return true;
}

/// Memory that all spaces knew has been taken away since its pages were entered; which, the next accesses
/// find.
/// @returns whether there was such
bool PagedSpace::drop_stale_shared() {
  if (changes_.load() == peers_.changes()) return false;
  const std::lock_guard lock(mutex_);
  for (const std::uint64_t page : shared_) table_->remove(page);
  shared_.clear();
  invalidate();
  changes_ = peers_.changes();
  return true;
}

}  // namespace raddle::machine
