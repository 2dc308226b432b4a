// Where the C++ API's errors, which are values, become Python's exceptions.
#pragma once

#include <string_view>
#include <utility>

#include "base/result.h"
#include "python/nanobind.h"

namespace raddle::python {

/// Raises the class of raddle.errors that stands for the error's code.
/// @param source  text that the error's line counts in, so that the exception can show the line; or empty
[[noreturn]] void raise(const Error& error, std::string_view source = {});

template <class T>
T take(Result<T> result, std::string_view source = {}) {
  if (!result) raise(result.error(), source);
  return std::move(*result);
}
inline void take(const Result<void>& result, std::string_view source = {}) {
  if (!result) raise(result.error(), source);
}

}  // namespace raddle::python
