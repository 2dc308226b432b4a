// Managed memory: one address for host and kernels of all devices, and pages with a home
// (machine/memory/residency.h).
#pragma once

#include "driver/memory_table.h"

namespace raddle::driver {

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
