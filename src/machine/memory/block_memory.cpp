// Reservation and commitment of a block's regions: PROT_NONE address space costs nothing until it is
// committed.
#include "machine/memory/block_memory.h"

#include <sys/mman.h>

#include "base/page.h"
#include "exec/window.h"
#include "machine/memory/device_space.h"

namespace raddle::machine {
namespace {
constexpr std::uint64_t kWindowAlignment = 256ull << 20;
constexpr std::uint64_t kLocalPart = 1ull << 30;  // with a guard behind
constexpr std::uint64_t kBelow = 64ull << 20;     // what lies below is another worker's, or the host's
// A multiple of 256 MiB but for the guard: both begin in other sets of the caches than 64 KiB of the other.
constexpr std::uint64_t kBetween = exec::kSharedReach + (64ull << 10);
static_assert(exec::kSharedReach % kWindowAlignment == 0);

bool commit(std::byte* start, std::uint64_t bytes) {
  return mprotect(start, bytes, PROT_READ | PROT_WRITE) == 0;
}
}  // namespace

BlockMemory::~BlockMemory() {
  if (map_ != nullptr) DeviceSpace::instance().give_back(map_, map_bytes_);
}

bool BlockMemory::reserve() {
  if (map_ != nullptr) return true;
  const std::uint64_t below = kBelow + kLocalPart + exec::kSharedReach,
                      bytes = below + kWindowAlignment + exec::kSharedReach;
  map_ = DeviceSpace::instance().take(bytes);
  if (map_ == nullptr) return false;
  map_bytes_ = bytes;
  const auto first = reinterpret_cast<std::uint64_t>(map_) + below;
  window_ = map_ + below + (round_up(first, kWindowAlignment) - first);
  return true;
}

bool BlockMemory::require(std::uint64_t shared_bytes, std::uint64_t local_bytes) {
  if (local_bytes > kMaxLocal || !reserve()) return false;
  shared_bytes = whole_pages(shared_bytes);
  local_bytes = whole_pages(local_bytes);
  std::byte* const local_end = window_ - kBetween;
  if (local_bytes > local_committed_) {
    if (!commit(local_end - local_bytes, local_bytes - local_committed_)) return false;
    local_committed_ = local_bytes;
  }
  local_ = local_end - local_bytes;
  if (shared_bytes <= shared_committed_) return true;
  if (!commit(window_, shared_bytes)) return false;
  shared_committed_ = shared_bytes;
  return true;
}

void BlockMemory::hand_to(std::uint64_t space) {
  if (space == space_) return;
  space_ = space;
  if (map_ == nullptr) return;
  DeviceSpace::clear(window_, shared_committed_);
  DeviceSpace::clear(window_ - kBetween - local_committed_, local_committed_);
}

bool BlockMemory::covers(std::uint64_t address) const {
  constexpr std::uint64_t kBelowWindow = kBelow + kLocalPart + exec::kSharedReach;
  const auto window = reinterpret_cast<std::uint64_t>(window_);
  return map_ != nullptr && address - (window - kBelowWindow) < kBelowWindow + exec::kSharedReach;
}

}  // namespace raddle::machine
