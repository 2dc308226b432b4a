// Result<T>: the one way bad input (PTX text, API arguments, files) is reported.
// A kernel's fault is not an Error (exec/fault.h), nor is a bug of ours (base/assert.h).
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace raddle {

enum class ErrorCode {
  invalid,          ///< malformed input or a wrong argument
  unsupported,      ///< well-formed, but not there yet; the message names it
  not_found,        ///< a name that the module, file or device does not have
  out_of_memory,    ///< memory needed exceeds what the device has
  too_large,        ///< a cooperative grid of more blocks than the device holds at once
  invalid_cluster,  ///< clusters that the kernel, the grid or the machine cannot have
  kernel_fault,     ///< a kernel faulted; the context is marked failed (sticky)
  timeout,          ///< a time limit was reached
  server,           ///< `raddle serve` refuses, or has gone
  io,               ///< a file or system call failed
};

/// Where in a source text an error lies; line and column count from 1, 0 is "nowhere".
struct SourceSpan {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
};

struct Error {
  ErrorCode code = ErrorCode::invalid;
  std::string message;
  SourceSpan where{};

  /// "file:line:column: message", as compilers print it; what is not known is left out.
  std::string to_string() const;

  template <class... Args>
  static Error invalid(fmt::format_string<Args...> text, Args&&... args) {
    return {ErrorCode::invalid, fmt::format(text, std::forward<Args>(args)...)};
  }
  template <class... Args>
  static Error unsupported(fmt::format_string<Args...> text, Args&&... args) {
    return {ErrorCode::unsupported, fmt::format(text, std::forward<Args>(args)...)};
  }
  template <class... Args>
  static Error make(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
    return {code, fmt::format(text, std::forward<Args>(args)...)};
  }
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() { return std::get<1>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  Error& error() { return *error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace raddle

#define RADDLE_CONCAT_(a, b) a##b
#define RADDLE_CONCAT(a, b) RADDLE_CONCAT_(a, b)

/// TRY(expr): returns the error of a Result from the calling function.
#define TRY(expr)                                                                         \
  do {                                                                                    \
    if (auto try_result = (expr); !try_result.ok()) return std::move(try_result.error()); \
  } while (0)

/// TRY_ASSIGN(auto x, expr): the value, or return the error.
#define TRY_ASSIGN(decl, expr) TRY_ASSIGN_(RADDLE_CONCAT(try_value_, __LINE__), decl, expr)
#define TRY_ASSIGN_(tmp, decl, expr)            \
  auto tmp = (expr);                            \
  if (!tmp.ok()) return std::move(tmp.error()); \
  decl = std::move(tmp).value()
