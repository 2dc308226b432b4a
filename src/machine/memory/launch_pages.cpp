#include "machine/memory/launch_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "machine/memory/device_space.h"

namespace raddle::machine {
namespace {

// Addresses, of which only what is touched takes memory.
constexpr std::uint64_t kSlab = 16 << 20;
// A launch of few parameters takes the first, one of more the second, which holds the most that CUDA allows:
// a task that has a piece of either seldom needs another.
constexpr std::uint64_t kFew = 512, kMany = 32 << 10;

constexpr std::uint64_t in_units_of(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

LaunchPages::~LaunchPages() {
  for (const Kind* kind : {&parameters_, &buffers_})
    for (const Slab& slab : kind->slabs) {
      DeviceSpace::instance().give_back(slab.kernel, slab.bytes);
      if (slab.host != slab.kernel) DeviceSpace::instance().give_back(slab.host, slab.bytes);
    }
}

LaunchPiece LaunchPages::take(Kind& kind, std::uint64_t bytes) {
  const std::uint64_t wanted = bytes <= kFew ? kFew : std::max(kMany, in_units_of(bytes, kFew));
  const std::lock_guard lock(mutex_);
  const bool fits = !kind.slabs.empty() && wanted <= kind.slabs.back().bytes - kind.used;
  if (!fits && !grow(kind, wanted)) return {};
  const Slab& slab = kind.slabs.back();
  const LaunchPiece piece{slab.host + kind.used, slab.kernel + kind.used, wanted};
  kind.used += wanted;
  return piece;
}

bool LaunchPages::grow(Kind& kind, std::uint64_t bytes) {
  DeviceSpace& space = DeviceSpace::instance();
  bytes = std::max(in_units_of(bytes, kPage), kSlab);
  std::byte *const kernel = space.take(bytes), *const host = kind.is_written ? kernel : space.take(bytes);
  const int file = memfd_create("raddle launches", MFD_CLOEXEC);
  const auto map = [&](std::byte* at, int protection) {
    return mmap(at, bytes, protection, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
  };
  const bool done = kernel != nullptr && host != nullptr && file >= 0 &&
                    ftruncate(file, static_cast<off_t>(bytes)) == 0 && map(host, PROT_READ | PROT_WRITE) &&
                    (host == kernel || map(kernel, PROT_READ));
  if (file >= 0) close(file);
  if (done) {
    kind.slabs.push_back({host, kernel, bytes});
    kind.used = 0;
    return true;
  }
  if (kernel != nullptr) space.give_back(kernel, bytes);
  if (host != nullptr && host != kernel) space.give_back(host, bytes);
  return false;
}

bool LaunchPages::are_parameters(std::uint64_t address) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(parameters_.slabs, [address](const Slab& slab) {
    return address - reinterpret_cast<std::uint64_t>(slab.kernel) < slab.bytes;
  });
}

}  // namespace raddle::machine
