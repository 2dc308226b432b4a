#include "machine/tma/descriptor_cache.h"

#include <cstring>

namespace raddle::machine {

DescriptorCache::Entry& DescriptorCache::entry_of(std::uint64_t address) {
  if (entries_.empty()) entries_.resize(spec_.entries);
  const std::uint64_t number = address / exec::kTensorMapAlignment;
  return entries_[(number ^ number >> 6) & (spec_.entries - 1)];
}

bool DescriptorCache::is_current(const Entry& entry, std::uint64_t address) const {
  return entry.address == address &&
         std::memcmp(entry.bytes.data(), reinterpret_cast<const std::byte*>(address),
                     exec::kTensorMapBytes) == 0;
}

/// A kernel's fault may abandon this at the copy: until it is made, the entry is empty.
bool DescriptorCache::fill(Entry& entry, std::uint64_t address) {
  entry.address = 0;
  std::memcpy(entry.bytes.data(), reinterpret_cast<const std::byte*>(address), exec::kTensorMapBytes);
  auto map = exec::decode_tensor_map(entry.bytes.data());
  if (!map.ok()) {
    problem_ = map.error().message;
    return false;
  }
  entry.map = *map;
  entry.address = address;
  return true;
}

const exec::TensorMap* DescriptorCache::fetch(std::uint64_t address, bool ahead, TmaCounters& counters) {
  Entry& entry = entry_of(address);
  if (is_current(entry, address)) {
    ++counters.descriptor_hits;
    return &entry.map;
  }
  ++counters.descriptor_misses;
  if (ahead) ++counters.descriptor_prefetches;
  return fill(entry, address) ? &entry.map : nullptr;
}

}  // namespace raddle::machine
