#include "machine/memory/movable_memory.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <mutex>

#include "base/assert.h"
#include "base/round_up.h"
#include "machine/memory/device_space.h"
#include "machine/mmu/frame_runs.h"

namespace raddle::machine {
namespace {

constexpr std::uint64_t kPage = MovableMemory::kPage;
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};

// For the handler of signals, which takes no lock: the addresses of all such memory, which of their pages are
// in use, and which of these moves.
std::atomic<std::uint64_t> arena_start{kNoPage};
std::array<std::atomic<std::uint8_t>, MovableMemory::kMostBytes / kPage> in_use;
std::atomic<std::uint64_t> moving{kNoPage};
std::atomic<std::uint64_t> alive{0};  // objects

/// What all such memory has in common. One page moves at a time.
struct Arena {
  /// The lock is held. @returns whether there are addresses and the host's memory
  bool is_ready() {
    if (host != nullptr) return true;
    std::byte* const start = DeviceSpace::instance().take(MovableMemory::kMostBytes, kPage);
    if (start == nullptr) return false;
    auto made = PhysicalMemory::create(MovableMemory::kMostBytes);
    if (!made) {
      DeviceSpace::instance().give_back(start, MovableMemory::kMostBytes);
      return false;
    }
    host = std::move(*made);
    memories[kHostProcessor] = host;
    addresses.add({reinterpret_cast<std::uint64_t>(start), MovableMemory::kMostBytes});
    arena_start = reinterpret_cast<std::uint64_t>(start);
    return true;
  }
  std::mutex mutex;
  FrameRuns addresses;
  std::shared_ptr<PhysicalMemory> host;
  std::array<std::weak_ptr<PhysicalMemory>, Residency::kMostProcessors> memories;
};

Arena& arena() {
  static auto& one = *new Arena;  // programs use their memory to the very end
  return one;
}

std::uint64_t number_of(std::uint64_t address) { return (address - arena_start) / kPage; }

/// By the system call itself: ThreadSanitizer takes the C library's function for a write of the bytes.
bool map(std::uint64_t address, const MovableMemory::Frames& frames) {
  return syscall(SYS_mmap, address, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                 frames.memory->descriptor(), frames.run.start) == static_cast<long>(address);
}

/// A page's frames, in one run. Without memory: there are none.
MovableMemory::Frames take_page(const std::shared_ptr<PhysicalMemory>& memory) {
  const auto run = memory->take(kPage, kPage);
  if (!run) return {};
  if (run->bytes == kPage) return {memory, *run};
  memory->give_back(*run);
  return {};
}

}  // namespace

Result<std::unique_ptr<MovableMemory>> MovableMemory::create(std::uint64_t bytes) {
#if !defined(__x86_64__)
  return Error::make(ErrorCode::unsupported, "pages do not move on this processor");
#endif
  Arena& all = arena();
  std::optional<FrameRun> taken;
  if (bytes <= kMostBytes) {
    bytes = round_up(bytes, kPage);
    const std::lock_guard lock(all.mutex);
    if (all.is_ready()) taken = all.addresses.take(bytes, kPage);
  }
  if (!taken) return Error::make(ErrorCode::out_of_memory, "no addresses are left for pages that move");
  std::unique_ptr<MovableMemory> made(new MovableMemory(taken->start, bytes));
  if (!made->fill()) return Error::make(ErrorCode::out_of_memory, "the host has no {} bytes", bytes);
  return made;
}

MovableMemory::MovableMemory(std::uint64_t address, std::uint64_t bytes)
    : address_(address), bytes_(bytes), pages_(bytes / kPage) {
  ++alive;
}

bool MovableMemory::fill() {
  for (std::uint64_t i = 0; i < pages_.size(); ++i) {
    pages_[i].frames = take_page(arena().host);
    if (pages_[i].frames.memory == nullptr || !map(address_ + i * kPage, pages_[i].frames)) return false;
    in_use[number_of(address_) + i] = 1;
  }
  return true;
}

MovableMemory::~MovableMemory() {
  --alive;
  Arena& all = arena();
  const std::lock_guard lock(all.mutex);
  for (std::uint64_t i = 0; i < pages_.size(); ++i) in_use[number_of(address_) + i] = 0;
  mmap(reinterpret_cast<void*>(address_), bytes_, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  for (const Page& page : pages_)
    if (page.frames.memory != nullptr) page.frames.memory->give_back(page.frames.run);
  all.addresses.add({address_, bytes_});
}

exec::AddressRange MovableMemory::all() {
  if (alive.load(std::memory_order_relaxed) == 0) return {0, 0};
  return {arena_start, kMostBytes};
}

void MovableMemory::announce(Processor device, const std::shared_ptr<PhysicalMemory>& memory) {
  if (device >= Residency::kMostProcessors) return;
  Arena& all = arena();
  const std::lock_guard lock(all.mutex);
  all.memories[device] = memory;
}

MovableMemory::Frames MovableMemory::frames(std::uint64_t page) const {
  const std::lock_guard lock(arena().mutex);
  return pages_[page].frames;
}

bool MovableMemory::bring(std::uint64_t number, Processor to) {
  Arena& all = arena();
  Page& page = pages_[number];
  const std::lock_guard lock(all.mutex);
  const std::shared_ptr<PhysicalMemory> memory = all.memories[to].lock();
  if (memory == nullptr || memory == page.frames.memory) return true;
  const Frames frames = take_page(memory);
  if (frames.memory == nullptr) return false;
  if (!move(page, address_ + number * kPage, frames)) {
    memory->give_back(frames.run);
    return false;
  }
  page.place.store(to, std::memory_order_relaxed);
  return true;
}

// Everybody reaches the page by its address in the process. From the first step to the last nobody writes
// there, and who reads finds the same bytes before and after the address leads to the new frames: the system
// changes that at once.
bool MovableMemory::move(Page& page, std::uint64_t address, Frames to) const {
  void* const start = reinterpret_cast<void*>(address);
  moving = number_of(address);
  bool moved = mprotect(start, kPage, PROT_READ) == 0;
  if (moved) {
    std::memcpy(to.memory->host(to.run.start), page.frames.memory->host(page.frames.run.start), kPage);
    moved = map(address, to);
    const bool is_writable = moved || mprotect(start, kPage, PROT_READ | PROT_WRITE) == 0;
    RADDLE_ASSERT(is_writable, "a page that did not move cannot be written any more");
  }
  moving = kNoPage;
  if (!moved) return false;
  page.frames.memory->give_back(page.frames.run);
  page.frames = std::move(to);
  return true;
}

bool MovableMemory::wait_for_move(std::uint64_t address) {
  const std::uint64_t start = arena_start.load();
  if (start == kNoPage || address - start >= kMostBytes) return false;
  const std::uint64_t number = (address - start) / kPage;
  if (in_use[number].load() == 0) return false;
  while (moving.load() == number) sched_yield();
  return true;
}

}  // namespace raddle::machine
