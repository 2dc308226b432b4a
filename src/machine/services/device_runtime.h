// The device runtime: what kernels call to launch kernels (ptx/device_runtime.def), and what the machine asks
// its client for it. Grids launched this way go straight to the task scheduler.
#pragma once

#include <cstdint>
#include <optional>

#include "exec/abi.h"
#include "machine/tasks/task.h"

namespace raddle::machine {

enum class DeviceError : int {
#define DEVICE_ERROR(id, number, name, text) id = number,
#include "machine/services/device_errors.def"
#undef DEVICE_ERROR
};

/// A launch from a kernel, before it is known to be one that can run.
struct ChildLaunch {
  const void* owner = nullptr;  ///< GridWork::owner of the launching grid
  std::uint64_t kernel = 0;     ///< the kernel's address in PTX, see exec::function_handle
  std::uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  std::uint64_t shared_bytes = 0;  ///< dynamic
};

/// What the machine's client knows and the machine does not: kernels by address, CUDA's attributes and
/// limits.
class DeviceRuntimeClient {
 public:
  virtual ~DeviceRuntimeClient() = default;
  /// Makes the task a grid of the kernel, with a parameter block of zeros. @returns nothing if the kernel has
  /// to be compiled first and `may_compile` is false
  virtual std::optional<DeviceError> prepare(const ChildLaunch& launch, Task& child, bool may_compile) = 0;
  /// Blocks of launch.block that an SM holds at once.
  virtual DeviceError blocks_per_sm(const ChildLaunch& launch, std::uint32_t& blocks) = 0;
  virtual std::optional<int> attribute(int which) = 0;        ///< cudaDeviceAttr
  virtual std::optional<std::uint64_t> limit(int which) = 0;  ///< cudaLimit
};

/// exec::Services::device_runtime.
std::uint64_t device_runtime(exec::WarpContext* warp, std::uint32_t lane, std::uint32_t function,
                             const std::uint64_t* arguments);

}  // namespace raddle::machine
