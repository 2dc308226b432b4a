// Tensor maps that the unit has fetched, by address. A descriptor is decoded once and used again as long as
// the bytes at its address are the same: unlike hardware's, which a fence must tell of changes, this cache
// never serves an old one (docs/tma.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "machine/tma/counters.h"
#include "machine/tma/walk.h"

namespace raddle::machine {

struct DescriptorCacheSpec {
  std::uint32_t entries = 32;  ///< a power of two; the address decides which
};

struct Descriptor {
  InsidePlan inside;
  exec::TensorMap map;
};

class DescriptorCache {
 public:
  explicit DescriptorCache(DescriptorCacheSpec spec = {}) : spec_(spec) {}

  /// The map at an address of kernel memory, which is read.
  /// @param ahead  other requests are generated first, so that nothing waits for it
  /// @returns null for bytes that are no map
  Descriptor* fetch(std::uint64_t address, bool ahead, TmaCounters& counters);
  /// The map at an address whose bytes are those that were decoded; null if they are not, or none were.
  [[gnu::always_inline]] Descriptor* known(std::uint64_t address) {
    Entry& entry = entry_of(address);
    return address != 0 && entry.address == address &&
                   has_bytes(entry, reinterpret_cast<const std::byte*>(address))
               ? &entry.descriptor
               : nullptr;
  }
  /// Why fetch() gave null, until it gives it again.
  const std::string& problem() const { return problem_; }

 private:
  struct Entry {
    alignas(exec::kTensorMapAlignment) std::array<std::byte, exec::kTensorMapBytes> bytes;
    std::uint64_t address = 0;  ///< 0: empty
    Descriptor descriptor;
  };
  Entry& entry_of(std::uint64_t address) {
    const std::uint64_t number = address / exec::kTensorMapAlignment;
    return entries_[(number ^ number >> 6) & (spec_.entries - 1)];
  }
  static bool has_bytes(const Entry& entry, const std::byte* bytes);
  bool fill(Entry& entry, std::uint64_t address);
  Descriptor* miss(Entry& entry, std::uint64_t address, bool ahead, TmaCounters& counters);

  const DescriptorCacheSpec spec_;
  std::vector<Entry> entries_{spec_.entries};
  std::string problem_;
};

/// All of them at once: nearly always they are the same, and a call of the library takes as long again.
[[gnu::always_inline]] inline bool DescriptorCache::has_bytes(const Entry& entry, const std::byte* bytes) {
  bytes = static_cast<const std::byte*>(__builtin_assume_aligned(bytes, exec::kTensorMapAlignment));
  std::uint64_t differences = 0;
  for (std::size_t at = 0; at < exec::kTensorMapBytes; at += sizeof differences) {
    std::uint64_t kept, here;
    std::memcpy(&kept, &entry.bytes[at], sizeof kept);
    std::memcpy(&here, bytes + at, sizeof here);
    differences |= kept ^ here;
  }
  return differences == 0;
}

inline Descriptor* DescriptorCache::fetch(std::uint64_t address, bool ahead, TmaCounters& counters) {
  Descriptor* const found = known(address);
  if (found == nullptr) return miss(entry_of(address), address, ahead, counters);
  ++counters.descriptor_hits;
  return found;
}

}  // namespace raddle::machine
