// RADDLE_TRACE=api: each call of the runtime API with its arguments, result and time on stderr, as the driver
// does for its calls.
#pragma once

#include <chrono>
#include <cstdio>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "cudart/driver.h"

namespace raddle::cudart {

bool tracing();
const char* error_name(cudaError_t error);

template <class T>
void write_argument(std::ostream& out, const T& value) {
  if constexpr (std::is_same_v<T, const char*>) {
    value == nullptr ? out << "NULL" : out << '"' << value << '"';
  } else if constexpr (std::is_pointer_v<T>) {
    out << "0x" << std::hex << reinterpret_cast<std::uintptr_t>(value) << std::dec;
  } else if constexpr (std::is_enum_v<T>) {
    out << static_cast<int>(value);
  } else if constexpr (std::is_same_v<T, dim3>) {
    out << '{' << value.x << ", " << value.y << ", " << value.z << '}';
  } else if constexpr (std::is_class_v<T>) {
    out << "{...}";
  } else {
    out << value;
  }
}

/// Calls an entry, and says so if that is wanted.
template <class... Arguments>
cudaError_t traced(const char* symbol, cudaError_t (*entry)(Arguments...),
                   std::type_identity_t<Arguments>... arguments) {
  if (!tracing()) [[likely]]
    return entry(arguments...);
  const auto begin = std::chrono::steady_clock::now();
  const cudaError_t error = entry(arguments...);
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
  std::ostringstream text;
  const char* separator = "";
  ((text << std::exchange(separator, ", "), write_argument(text, arguments)), ...);
  std::fprintf(stderr, "raddle: %s(%s) = %s in %.1f us\n", symbol, text.str().c_str(), error_name(error),
               spent.count());
  return error;
}

}  // namespace raddle::cudart
