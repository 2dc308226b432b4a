// RADDLE_ASSERT: a condition that only a bug of ours can break. On in release builds too.
#pragma once

#include <string_view>

namespace raddle {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line,
                                   std::string_view message);
}

#define RADDLE_ASSERT(condition, message)                                    \
  do {                                                                       \
    if (!(condition)) [[unlikely]]                                           \
      ::raddle::assertion_failed(#condition, __FILE__, __LINE__, (message)); \
  } while (0)
#define RADDLE_UNREACHABLE(message) ::raddle::assertion_failed("unreachable", __FILE__, __LINE__, (message))
