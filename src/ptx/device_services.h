// The functions that programs may call without defining them: the machine performs them (exec/services.def).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx/module.h"

namespace raddle::ptx {

enum class DeviceService : std::uint8_t {
#define DEVICE_SERVICE(id, ...) id,
#include "ptx/device_services.def"
#undef DEVICE_SERVICE
  device_runtime,  ///< one of DeviceRuntimeFunction
};

/// The service that a declaration without a body names; none if it is defined, or declared with other
/// parameters than the service has; the result may be left out. (The device runtime takes any.)
std::optional<DeviceService> find_device_service(const Module& module, const Function& function);
/// Whether CUDA has a service of that name, however declared.
bool names_device_service(std::string_view name);

/// CUDA's device runtime: what kernels call to launch kernels.
enum class DeviceRuntimeFunction : std::uint32_t {
#define DEVICE_RUNTIME(id, name) id,
#include "ptx/device_runtime.def"
#undef DEVICE_RUNTIME
};
std::optional<DeviceRuntimeFunction> find_device_runtime(std::string_view name);

}  // namespace raddle::ptx
