// An address in device memory.
#pragma once

#include <cstdint>

namespace raddle {

/// A number, not a host pointer: only kernels dereference it; from C++ use the copy calls of Device and
/// Buffer.
struct DevicePtr {
  std::uint64_t value = 0;

  explicit operator bool() const { return value != 0; }
  friend DevicePtr operator+(DevicePtr p, std::uint64_t bytes) { return {p.value + bytes}; }
  friend bool operator==(DevicePtr, DevicePtr) = default;
};

}  // namespace raddle
