// Reservation and commitment of a block's regions: PROT_NONE address space costs nothing until it is
// committed.
#include "machine/memory/block_memory.h"

#include <sys/mman.h>

#include "base/page.h"

namespace raddle::machine {
namespace {
constexpr std::uint64_t kWindowAlignment = 256ull << 20;
constexpr std::uint64_t kAboveWindow = 4ull << 30;
constexpr std::uint64_t kLocalPart = 1ull << 30;  // guard included; the window follows
constexpr std::uint64_t kBelow = 64ull << 20;     // what lies below is another worker's, or the host's

bool commit(std::byte* start, std::uint64_t wanted, std::uint64_t& committed) {
  wanted = (wanted + kPage - 1) / kPage * kPage;
  if (wanted <= committed) return true;
  if (mprotect(start, wanted, PROT_READ | PROT_WRITE) != 0) return false;
  committed = wanted;
  return true;
}
}  // namespace

BlockMemory::~BlockMemory() {
  if (map_ != nullptr) munmap(map_, map_bytes_);
}

bool BlockMemory::reserve() {
  if (map_ != nullptr) return true;
  const std::uint64_t bytes = kBelow + kLocalPart + kWindowAlignment + kAboveWindow;
  void* map = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return false;
  map_ = static_cast<std::byte*>(map);
  map_bytes_ = bytes;
  const auto first = reinterpret_cast<std::uint64_t>(map_) + kBelow + kLocalPart;
  window_ = map_ + kBelow + kLocalPart + ((kWindowAlignment - first % kWindowAlignment) % kWindowAlignment);
  local_ = window_ - kLocalPart;
  return true;
}

bool BlockMemory::require(std::uint64_t shared_bytes, std::uint64_t local_bytes) {
  return local_bytes <= kMaxLocal && reserve() && commit(window_, shared_bytes, shared_committed_) &&
         commit(local_, local_bytes, local_committed_);
}

const char* BlockMemory::region_of(std::uint64_t address) const {
  const auto window = reinterpret_cast<std::uint64_t>(window_);
  const auto local = reinterpret_cast<std::uint64_t>(local_);
  if (map_ == nullptr || address < local - kBelow) return nullptr;
  if (address < window) return "local memory";
  return address - window < kAboveWindow ? "shared memory" : nullptr;
}

}  // namespace raddle::machine
