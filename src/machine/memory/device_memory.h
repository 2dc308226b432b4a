// Device memory: host memory from mmap, in direct mode (a generic address is a host address), at addresses of
// its own (device_space.h). Knows every allocation, and the ranges that all share (shared_memory.h), so that
// a fault can name the nearest one. There is nothing around allocations of 64 KiB and more, or, where bounds
// are the hardware's, the rest of the last page; smaller ones are pooled.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/memory/device_space.h"
#include "raddle/bounds.h"
#include "raddle/device_ptr.h"

namespace raddle::machine {

struct Allocation {
  DevicePtr address;
  std::uint64_t bytes = 0;
  std::string name;        ///< of a variable, empty for others
  bool read_only = false;  ///< constants
  std::uint64_t id = 0;    ///< never used again in this process
  bool shared = false;     ///< not this one's alone (shared_memory.h)
  bool managed = false;    ///< a variable marked so; the same memory as any other
};

/// Where an allocation lies in a file in memory; the descriptor is the DeviceMemory's.
struct FilePages {
  int descriptor = -1;
  std::uint64_t offset = 0;  ///< bytes
};

class DeviceMemory {
 public:
  static constexpr std::uint64_t kAlignment = 256;  ///< of every allocation, as CUDA promises
  static constexpr std::uint64_t kGuardedFrom = 64 << 10;
  static constexpr std::uint64_t kGpuPage = 2 << 20;   ///< of Bounds::hardware
  static constexpr std::uint64_t kGpuAlignment = 512;  ///< likewise

  /// @param capacity   bytes that may be allocated in total
  /// @param addresses  where it lies; outlives it
  explicit DeviceMemory(std::uint64_t capacity, DeviceSpace& addresses = DeviceSpace::instance(),
                        Bounds bounds = Bounds::exact);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Thread-safe, as all of this class. Fresh memory is zero, reused memory is not.
  /// @errors out_of_memory: more than the capacity left, or the host refuses; invalid: zero bytes
  Result<DevicePtr> allocate(std::uint64_t bytes, std::string_view name = {}, bool managed = false);
  /// Constants: with nothing around, and read-only to kernels, whose writes fault (K-11). The host writes
  /// through host(), at any time. @errors out_of_memory
  Result<DevicePtr> allocate_constants(std::uint64_t bytes, std::string_view name = {});
  /// @errors invalid: not the start of a live allocation
  Result<void> free(DevicePtr address);

  /// Makes the pages of an allocation a file in memory, at the same addresses; a pooled one's whole pool.
  /// Nothing may write to them meanwhile. @errors invalid: not the start of one, constants; out_of_memory
  Result<FilePages> share(DevicePtr address);

  /// Where the host reads and writes [address, address + bytes): for constants a second, writable mapping of
  /// the same pages. @errors invalid: not inside one allocation, or shared ranges without a gap; names the
  /// nearest
  Result<std::byte*> host(DevicePtr address, std::uint64_t bytes) const;
  /// The same for work that was checked when it was submitted: programs may have ended the allocation since,
  /// and its memory stays until that work is done.
  std::byte* host(DevicePtr address) const;
  /// Its own allocation that an address lies in, else the range that all share.
  std::optional<Allocation> find(std::uint64_t address) const;
  /// Where an address lies: "8 bytes past the end of the allocation 0x...+1024", for fault messages.
  std::string describe(std::uint64_t address) const;
  static constexpr const char* kNoAllocation =
      "there is no allocation";  ///< its answer if it has none at all

  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    Allocation allocation;
    std::byte* map = nullptr;  // own mapping; null when pooled
    std::uint64_t map_bytes = 0;
    unsigned size_class = 0;     // of a pooled one
    int file = -1;               // of a mapped one that is shared
    std::byte* alias = nullptr;  // constants: writable mapping of the same pages
  };
  struct Slab {
    std::byte* map;
    int file = -1;  // where it is shared
  };
  bool is_exact() const { return bounds_ == Bounds::exact; }
  void give_back(const Entry& entry);
  Result<DevicePtr> allocate_mapped(std::uint64_t bytes, std::string_view name);
  std::uint64_t next_start_in_page();
  const Entry* entry_at(std::uint64_t address) const;
  Result<DevicePtr> allocate_pooled(std::uint64_t bytes, std::string_view name);
  bool grow_pool();

  const std::uint64_t capacity_;
  DeviceSpace& addresses_;
  const Bounds bounds_;
  mutable std::mutex mutex_;
  std::atomic<std::uint64_t> used_{0};            // changed under the lock, read by every launch
  std::map<std::uint64_t, Entry> entries_;        // by address
  std::vector<std::vector<std::uint64_t>> free_;  // pooled chunks by size class
  std::vector<Slab> slabs_;
  std::uint64_t mapped_ = 0;  // how many have had a mapping of their own
  std::uint64_t slab_next_ = 0, slab_end_ = 0;
};

}  // namespace raddle::machine
