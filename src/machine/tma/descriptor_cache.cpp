#include "machine/tma/descriptor_cache.h"

#include <cstring>

namespace raddle::machine {

/// A kernel's fault may abandon this at the copy: until it is made, the entry is empty.
bool DescriptorCache::fill(Entry& entry, std::uint64_t address) {
  entry.address = 0;
  std::memcpy(entry.bytes.data(), reinterpret_cast<const std::byte*>(address), exec::kTensorMapBytes);
  auto map = exec::decode_tensor_map(entry.bytes.data());
  if (!map.ok()) {
    problem_ = map.error().message;
    return false;
  }
  entry.descriptor.map = *map;
  entry.descriptor.inside.drop();
  entry.address = address;
  return true;
}

Descriptor* DescriptorCache::miss(Entry& entry, std::uint64_t address, bool ahead, TmaCounters& counters) {
  ++counters.descriptor_misses;
  if (ahead) ++counters.descriptor_prefetches;
  return fill(entry, address) ? &entry.descriptor : nullptr;
}

}  // namespace raddle::machine
