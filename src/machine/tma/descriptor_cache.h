// Tensor maps that the unit has fetched, by address. A descriptor is decoded once and used again as long as
// the bytes at its address are the same: unlike hardware's, which a fence must tell of changes, this cache
// never serves an old one (docs/tma.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exec/tensor_map.h"
#include "machine/tma/counters.h"

namespace raddle::machine {

struct DescriptorCacheSpec {
  std::uint32_t entries = 32;  ///< a power of two; the address decides which
};

class DescriptorCache {
 public:
  explicit DescriptorCache(DescriptorCacheSpec spec = {}) : spec_(spec) {}

  /// The map at an address of kernel memory, which is read.
  /// @param ahead  other requests are generated first, so that nothing waits for it
  /// @returns null for bytes that are no map
  const exec::TensorMap* fetch(std::uint64_t address, bool ahead, TmaCounters& counters);
  /// Why fetch() gave null, until it gives it again.
  const std::string& problem() const { return problem_; }

 private:
  struct Entry {
    std::uint64_t address = 0;  ///< 0: empty
    std::array<std::byte, exec::kTensorMapBytes> bytes;
    exec::TensorMap map;
  };
  Entry& entry_of(std::uint64_t address);
  bool is_current(const Entry& entry, std::uint64_t address) const;
  bool fill(Entry& entry, std::uint64_t address);

  const DescriptorCacheSpec spec_;
  std::vector<Entry> entries_;
  std::string problem_;
};

}  // namespace raddle::machine
