// What a device grants its kernels.
#pragma once

#include <cstdint>

namespace raddle {

/// See DeviceOptions for what each is.
enum class Limit : std::uint8_t { stack_bytes, print_bytes, heap_bytes };

}  // namespace raddle
