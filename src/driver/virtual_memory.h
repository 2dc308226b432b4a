// The virtual-memory calls' objects: memory without an address, and addresses that it is mapped to.
#pragma once

#include "driver/memory_table.h"

namespace raddle::driver {

/// Memory as such, from cuMemCreate or another process: a file in memory, which can be mapped any number of
/// times.
struct PhysicalMemory {
  PhysicalMemory(MemoryFile memory, const CUmemAllocationProp& wanted, bool counts);
  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  const MemoryFile file;
  const std::size_t bytes;
  const CUmemAllocationProp props;
  const bool counted;  ///< as memory of the device in this process
  const std::uint64_t id;
  std::mutex mutex;
  unsigned uses = 0;  ///< of its handle, by creation, import and cuMemRetainAllocationHandle
  CUmemGenericAllocationHandle handle = 0;
};

/// Unit of sizes, offsets and addresses.
inline constexpr std::size_t kMemoryGranularity = 2 << 20;

}  // namespace raddle::driver
