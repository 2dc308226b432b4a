// The functions of CUDA's device runtime by name (device_runtime.def): engines hand calls of them to the
// machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace raddle::ptx {

enum class DeviceRuntimeFunction : std::uint32_t {
#define DEVICE_RUNTIME(id, name) id,
#include "ptx/device_runtime.def"
#undef DEVICE_RUNTIME
};

/// The function that a declaration without a body names, if it is one of these.
std::optional<DeviceRuntimeFunction> find_device_runtime(std::string_view name);

}  // namespace raddle::ptx
