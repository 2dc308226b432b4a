// malloc and free of kernels (K-20): a reservation of its own, so that a stray store meets the heap and not
// the host's data. Chunks of powers of two, each after a 16-byte header; one lock, held for a few
// instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace raddle::machine {

class DeviceHeap {
 public:
  /// @param limit  bytes, cudaLimitMallocHeapSize (8 MiB there)
  explicit DeviceHeap(std::uint64_t limit);
  ~DeviceHeap();
  DeviceHeap(const DeviceHeap&) = delete;
  DeviceHeap& operator=(const DeviceHeap&) = delete;

  /// @returns a 16-byte aligned address, 0 when the heap is exhausted or bytes is 0. Thread-safe.
  std::uint64_t allocate(std::uint64_t bytes);
  /// 0 is ignored. @returns false if the address is not a live chunk
  bool free(std::uint64_t address);

 private:
  struct Header {
    std::uint64_t size_class;
    std::uint64_t state;
  };
  std::mutex mutex_;
  std::uint64_t limit_;
  std::byte* base_ = nullptr;
  std::uint64_t used_ = 0;  // bytes ever handed out
  std::vector<std::vector<std::uint64_t>> free_;
};

}  // namespace raddle::machine
