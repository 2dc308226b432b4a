// RADDLE_TRACE=api: each call of the driver API with its arguments, result and time on stderr.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <tuple>
#include <type_traits>

#include "driver/results.h"

namespace raddle::driver {

bool tracing();

template <class T>
std::string argument_text(const T& value) {
  if constexpr (std::is_same_v<T, const char*>) {
    return value == nullptr ? "NULL" : fmt::format("\"{}\"", value);
  } else if constexpr (std::is_pointer_v<T>) {
    return fmt::format("{:#x}", reinterpret_cast<std::uintptr_t>(value));
  } else if constexpr (std::is_enum_v<T>) {
    return fmt::format("{}", static_cast<int>(value));
  } else if constexpr (std::is_same_v<T, CUdeviceptr>) {
    return fmt::format("{:#x}", value);
  } else if constexpr (std::is_class_v<T>) {
    return "{...}";
  } else {
    return fmt::format("{}", value);
  }
}

/// Calls an entry, and says so if that is wanted.
template <class... Arguments>
CUresult traced(const char* symbol, CUresult (*entry)(Arguments...),
                std::type_identity_t<Arguments>... arguments) {
  if (!tracing()) [[likely]]
    return entry(arguments...);
  const auto begin = std::chrono::steady_clock::now();
  const CUresult result = entry(arguments...);
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
  std::string text;
  ((text += (text.empty() ? "" : ", ") + argument_text(arguments)), ...);
  const char* name = result_name(result);
  fmt::print(stderr, "raddle: {}({}) = {} in {:.1f} us\n", symbol, text, name == nullptr ? "?" : name,
             spent.count());
  return result;
}

}  // namespace raddle::driver
