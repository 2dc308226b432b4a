// RADDLE_TRACE=api: each call of the driver API with its arguments, result and time on stderr.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <type_traits>

#include "base/call_text.h"
#include "driver/results.h"

namespace raddle::driver {

bool tracing();

/// Calls an entry, and says so if that is wanted. `names`: the arguments as source text, "(value, device)".
template <class... Arguments>
CUresult traced(const char* symbol, const char* names, CUresult (*entry)(Arguments...),
                std::type_identity_t<Arguments>... arguments) {
  if (!tracing()) [[likely]]
    return entry(arguments...);
  const auto begin = std::chrono::steady_clock::now();
  const CUresult result = entry(arguments...);
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
  const std::string text = base::arguments_text(names, result == CUDA_SUCCESS, arguments...);
  const char* name = result_name(result);
  fmt::print(stderr, "raddle: {}({}) = {} in {:.1f} us\n", symbol, text, name == nullptr ? "?" : name,
             spent.count());
  return result;
}

}  // namespace raddle::driver
