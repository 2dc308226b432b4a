// Where the memory of a pool comes from: a device's own memory, pinned memory of the host, or managed memory.
#pragma once

#include <memory>

#include "driver/gpu.h"
#include "driver/memory_table.h"

namespace raddle::driver {

class PoolSource {
 public:
  virtual ~PoolSource() = default;

  /// Thread-safe, as all of this class. @errors out_of_memory
  virtual Result<DevicePtr> allocate(std::uint64_t bytes) = 0;
  virtual void free(DevicePtr address) = 0;
  /// The file of a block's pages, for other processes. @errors unsupported: managed memory
  virtual Result<FilePages> share(DevicePtr address) = 0;

  /// What its blocks are to a program.
  virtual MemoryKind kind() const = 0;
  /// Where a block's pages are; null: nobody counts.
  virtual std::shared_ptr<Residency> residency(DevicePtr) { return nullptr; }
  /// A program gets a block, of which another may have had a part before.
  virtual void hand_out(DevicePtr, std::uint64_t /*bytes*/) {}
};

std::shared_ptr<PoolSource> device_source(Gpu& gpu);
std::shared_ptr<PoolSource> host_source();
/// @param preferred  location of its pages from the beginning; its type may be LOCATION_INVALID: none
std::shared_ptr<PoolSource> managed_source(Gpu& gpu, CUmemLocation preferred);

}  // namespace raddle::driver
