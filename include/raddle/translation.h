// How the addresses of kernels become memory.
#pragma once

#include <cstdint>

namespace raddle {

enum class Translation : std::uint8_t {
  direct,    ///< a kernel's address is the host's; what the host has mapped, a stray access can hit
  windowed,  ///< the same addresses, but an access outside the device's memory is a fault, whatever lies there
};

}  // namespace raddle
