// CUDA's device runtime: what kernels call to launch kernels (ptx/device_runtime.def). Grids launched this
// way go straight to the task scheduler.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "machine/services/kernel_calls.h"
#include "machine/tasks/task.h"
#include "raddle/raddle.h"

namespace raddle {

enum class DeviceError : int {
#define DEVICE_ERROR(id, number, name, text) id = number,
#include "runtime/device_errors.def"
#undef DEVICE_ERROR
};

/// A launch from a kernel, before it is known whether it can run.
struct ChildLaunch {
  const void* owner = nullptr;  ///< GridWork::owner of the launching grid
  std::uint64_t kernel = 0;     ///< the kernel's address in PTX, see exec::function_handle
  std::uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  std::uint64_t shared_bytes = 0;              ///< dynamic
  std::optional<std::uint64_t> provided = {};  ///< bytes of its parameter block, if that is there already
};

class DeviceRuntime final : public machine::KernelCalls {
 public:
  static constexpr std::uint32_t kPendingLaunches = 2048;  ///< cudaLimitDevRuntimePendingLaunchCount

  explicit DeviceRuntime(Device::Impl& device) : device_(device) {}
  std::uint64_t call(exec::WarpContext* warp, std::uint32_t lane, std::uint32_t function,
                     const std::uint64_t* arguments) override;
  void launch_child(machine::Task& parent, std::uint64_t record) override;  ///< task_record.cpp

  /// Makes the task a grid of the kernel, with a parameter block of zeros. @returns nothing if the kernel has
  /// to be compiled first and `may_compile` is false
  std::optional<DeviceError> prepare(const ChildLaunch& launch, machine::Task& child, bool may_compile);
  /// Blocks of launch.block that an SM holds at once.
  DeviceError blocks_per_sm(const ChildLaunch& launch, std::uint32_t& blocks);
  std::optional<int> attribute(int which);  ///< cudaDeviceAttr
  unsigned ordinal() const;                 ///< of the device
  unsigned device_count() const;
  std::optional<std::uint64_t> limit(int which);  ///< cudaLimit
  /// What cudaGetErrorName or cudaGetErrorString give, in memory of the device. @returns 0: none is left
  std::uint64_t error_text(int error, bool name);

 private:
  Device::Impl& device_;
  std::mutex texts_mutex_;
  std::map<const char*, std::uint64_t> texts_;  ///< that kernels have asked for: where they are
};

}  // namespace raddle
