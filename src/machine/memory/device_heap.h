// malloc and free of kernels (K-20): a reservation of its own, so that a stray store meets the heap and not
// the host's data. Best fit, each chunk after a 16-byte header; a freed chunk joins its free neighbours. One
// lock, held for a few hundred instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "machine/memory/device_space.h"

namespace raddle::machine {

class DeviceHeap {
 public:
  /// @param limit  bytes, headers included: cudaLimitMallocHeapSize (8 MiB there)
  /// @param addresses  where it lies; outlives it
  explicit DeviceHeap(std::uint64_t limit, DeviceSpace& addresses = DeviceSpace::instance());
  ~DeviceHeap();
  DeviceHeap(const DeviceHeap&) = delete;
  DeviceHeap& operator=(const DeviceHeap&) = delete;

  std::uint64_t limit() const;
  bool set_limit(std::uint64_t limit);  ///< false once a kernel has allocated

  /// @returns a 16-byte aligned address, 0 when no free chunk is large enough or bytes is 0. Thread-safe.
  std::uint64_t allocate(std::uint64_t bytes);
  /// 0 is ignored. @returns false if the address is not a live chunk
  bool free(std::uint64_t address);

 private:
  struct Header {
    std::uint64_t size;  // of the chunk, header included
    std::uint64_t state;
  };
  bool reserve();
  void add_free(std::uint64_t offset, std::uint64_t size);
  void remove_free(std::map<std::uint64_t, std::uint64_t>::iterator chunk);

  DeviceSpace& addresses_;
  mutable std::mutex mutex_;
  std::uint64_t limit_ = 0;
  std::byte* base_ = nullptr;
  std::map<std::uint64_t, std::uint64_t> free_;                     // offset -> size; no two touch
  std::set<std::pair<std::uint64_t, std::uint64_t>> free_by_size_;  // (size, offset)
};

}  // namespace raddle::machine
