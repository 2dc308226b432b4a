// A device of the process: the modelled machine that its contexts share, and what belongs to the device, not
// to one of its contexts: the primary context, pools, memory that its contexts have together.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "driver/abi.h"
#include "driver/status.h"
#include "raddle/raddle.h"
#include "runtime/memory.h"
#include "runtime/model.h"

namespace raddle::driver {

struct Context;
struct Pool;

/// Most devices of a computer.
inline constexpr unsigned kMostDevices = 32;

class Gpu {
 public:
  /// @param slot  its place in the computer, whatever is visible of that
  /// @param bytes  of memory that it may give to programs
  Gpu(CUdevice number, unsigned slot, MachineShape shape, DeviceOptions options, std::uint64_t bytes);

  const CUdevice number;  ///< by which CUDA names it
  const unsigned slot;
  const MachineShape shape;
  const DeviceOptions options;  ///< of its contexts
  const std::uint64_t memory_bytes;

  unsigned index() const { return static_cast<unsigned>(number); }
  std::uint64_t bit() const { return std::uint64_t{1} << number; }  ///< in sets of devices

  /// Kernels reach all memory of the process, not only what CUDA has allocated.
  bool reaches_host_memory() const { return options.translation == Translation::direct; }

  /// Memory that neither contexts nor what they share have taken.
  std::uint64_t memory_available() const;
  /// Memory of the device for all contexts of the process. @errors out_of_memory
  Result<DevicePtr> allocate_shared(std::uint64_t bytes);
  Result<FilePages> share(DevicePtr address) { return shared_.share(address); }
  void free_shared(DevicePtr address) { (void)shared_.free(address); }
  std::atomic<std::uint64_t> physical_bytes{0};  ///< of cuMemCreate

  Result<std::shared_ptr<Context>> retain_primary();
  Status release_primary();
  void reset_primary();
  bool primary_active();
  std::atomic<unsigned> primary_flags{0};

  std::shared_ptr<Pool> default_pool();
  std::atomic<CUmemoryPool> chosen_pool{nullptr};  ///< of cuDeviceSetMemPool
  /// The pool of allocations that name none.
  std::shared_ptr<Pool> pool_in_use();

 private:
  mutable std::mutex mutex_;
  DeviceMemory shared_{~std::uint64_t{0}};  // its limit is memory_available()
  std::shared_ptr<Context> primary_;
  unsigned primary_uses_ = 0;
  std::shared_ptr<Pool> default_pool_;
};

/// Whether kernels of one may be given access to the other's memory.
inline bool are_peers(const Gpu& one, const Gpu& other) { return &one != &other; }

}  // namespace raddle::driver
