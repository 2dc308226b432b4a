// RADDLE_TRACE=api for the runtime API: how its own types are shown, beside the types, where
// base/call_trace.h looks.
#pragma once

#include <iterator>
#include <ostream>

#include "base/call_trace.h"
#include "cudart/driver.h"

namespace raddle::cudart {

const char* error_name(cudaError_t error);

}  // namespace raddle::cudart

inline void write_value(std::ostream& out, const dim3& size) {
  out << '{' << size.x << ", " << size.y << ", " << size.z << '}';
}
inline void write_value(std::ostream& out, cudaMemcpyKind kind) {
  constexpr const char* kNames[] = {"HostToHost", "HostToDevice", "DeviceToHost", "DeviceToDevice",
                                    "Default"};
  const auto number = static_cast<unsigned>(kind);
  number < std::size(kNames) ? out << "cudaMemcpy" << kNames[number] : out << number;
}
