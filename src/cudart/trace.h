// RADDLE_TRACE=api: each call of the runtime API with its arguments, result and time on stderr, as the driver
// does for its calls.
#pragma once

#include <chrono>
#include <cstdio>
#include <iterator>
#include <string>
#include <type_traits>

#include "base/call_text.h"
#include "cudart/driver.h"

namespace raddle::cudart {

bool tracing();
const char* error_name(cudaError_t error);

/// Calls an entry, and says so if that is wanted. `names`: the arguments as source text, "(value, device)".
template <class... Arguments>
cudaError_t traced(const char* symbol, const char* names, cudaError_t (*entry)(Arguments...),
                   std::type_identity_t<Arguments>... arguments) {
  if (!tracing()) [[likely]]
    return entry(arguments...);
  const auto begin = std::chrono::steady_clock::now();
  const cudaError_t error = entry(arguments...);
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
  const std::string text = base::arguments_text(names, error == cudaSuccess, arguments...);
  std::fprintf(stderr, "raddle: %s(%s) = %s in %.1f us\n", symbol, text.c_str(), error_name(error),
               spent.count());
  return error;
}

}  // namespace raddle::cudart

// Beside the types, where arguments_text looks for them.
inline void write_value(std::ostream& out, const dim3& size) {
  out << '{' << size.x << ", " << size.y << ", " << size.z << '}';
}
inline void write_value(std::ostream& out, cudaMemcpyKind kind) {
  constexpr const char* kNames[] = {"HostToHost", "HostToDevice", "DeviceToHost", "DeviceToDevice",
                                    "Default"};
  const auto number = static_cast<unsigned>(kind);
  number < std::size(kNames) ? out << "cudaMemcpy" << kNames[number] : out << number;
}
