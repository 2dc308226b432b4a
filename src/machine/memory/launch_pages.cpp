#include "machine/memory/launch_pages.h"

#include <algorithm>

#include "base/page.h"

namespace raddle::machine {
namespace {

// Addresses, of which only what is touched takes memory.
constexpr std::uint64_t kSlab = 16 << 20;
// A launch of few parameters takes the first, one of more the second, which holds the most that CUDA allows:
// a task that has a piece of either seldom needs another.
constexpr std::uint64_t kFew = 512, kMany = 32 << 10;

}  // namespace

LaunchPages::~LaunchPages() {
  for (const Slab& slab : parameters_.slabs) addresses_.give_back({slab.kernel, slab.host}, slab.bytes);
  for (const Slab& slab : buffers_.slabs) addresses_.give_back(slab.kernel, slab.bytes);
}

LaunchPiece LaunchPages::take(Kind& kind, std::uint64_t bytes) {
  const std::uint64_t wanted = bytes <= kFew ? kFew : std::max(kMany, round_up(bytes, kFew));
  const std::lock_guard lock(mutex_);
  const bool fits = !kind.slabs.empty() && wanted <= kind.slabs.back().bytes - kind.used;
  if (!fits && !grow(kind, wanted)) return {};
  const Slab& slab = kind.slabs.back();
  const LaunchPiece piece{slab.host + kind.used, slab.kernel + kind.used, wanted};
  kind.used += wanted;
  return piece;
}

bool LaunchPages::grow(Kind& kind, std::uint64_t bytes) {
  bytes = std::max(whole_pages(bytes), kSlab);
  DeviceSpace::ReadOnly pages;
  if (kind.is_written)
    pages.kernel = pages.host = addresses_.take_memory(bytes);
  else
    pages = addresses_.take_read_only(bytes, "raddle launches");
  if (pages.kernel == nullptr) return false;
  kind.slabs.push_back({pages.host, pages.kernel, bytes});
  kind.used = 0;
  return true;
}

bool LaunchPages::are_parameters(std::uint64_t address) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(parameters_.slabs, [address](const Slab& slab) {
    return address - reinterpret_cast<std::uint64_t>(slab.kernel) < slab.bytes;
  });
}

}  // namespace raddle::machine
