// Managed memory: one address for host and kernels of all devices, and pages with a home
// (machine/memory/residency.h).
#pragma once

#include "driver/memory_table.h"

namespace raddle::driver {

/// Pages that host and kernels of all devices use at one address, with their homes.
class ManagedPages {
 public:
  /// @param gpu  whose they are from the beginning, where all memory is the host's
  /// @errors out_of_memory
  static Result<std::unique_ptr<ManagedPages>> allocate(Gpu& gpu, std::size_t bytes);
  /// @param address  where its memory is, if that does not move
  ManagedPages(const Gpu& gpu, std::unique_ptr<MovableMemory> movable, DevicePtr address, std::size_t bytes);
  ~ManagedPages();
  ManagedPages(const ManagedPages&) = delete;
  ManagedPages& operator=(const ManagedPages&) = delete;

  CUdeviceptr address() const { return base_; }
  Residency& residency() { return pages_; }

 private:
  // Null: nobody counts touches. The bytes move where devices have memory of their own (modelled spaces).
  const std::unique_ptr<MovableMemory> movable_;
  const CUdeviceptr base_;
  const std::size_t bytes_;
  Residency pages_;
};

/// As cuMemAdvise with CU_MEM_ADVISE_SET_PREFERRED_LOCATION, of a location that was checked.
/// @param pages  where they are; null: nobody counts
void prefer_location(CUdeviceptr address, std::size_t bytes, CUmemLocation location, Residency* pages);

/// @param context  that ends it; null: the last module that has it
/// @errors out_of_memory
Result<CUdeviceptr> allocate_managed(Gpu& gpu, std::size_t bytes, unsigned flags, CUcontext context);

/// The managed variables of a library, which are the same in all contexts. The modules have them together.
struct ManagedVariables {
  ManagedVariables() = default;
  ~ManagedVariables();
  ManagedVariables(const ManagedVariables&) = delete;
  ManagedVariables& operator=(const ManagedVariables&) = delete;

  /// @errors out_of_memory
  static Result<std::shared_ptr<ManagedVariables>> allocate(const raddle::Program& program, Gpu& gpu);
  Placed placed;
};

}  // namespace raddle::driver
