// Prints a call of a C API as one line of a trace: the arguments by name, then the results that came back
// through pointers. It is a header alone, because libcudart links no library of Raddle.
#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

namespace raddle::base {

/// Copies memory that a caller's pointer names. The pointer may be wrong: the operating system checks it, at
/// the cost of a system call.
inline bool read_safely(const void* from, void* to, std::size_t bytes) {
  iovec local{to, bytes}, remote{const_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

/// Whether a parameter of this type is where a call puts a number or a handle.
template <class T>
constexpr bool is_result() {
  if constexpr (!std::is_pointer_v<T>) {
    return false;
  } else {
    using Pointee = std::remove_pointer_t<T>;
    constexpr bool is_handle = std::is_pointer_v<Pointee> && std::is_class_v<std::remove_pointer_t<Pointee>>;
    return !std::is_const_v<Pointee> && (std::is_arithmetic_v<Pointee> || is_handle);
  }
}

/// Text that a call wrote, with or without its terminating zero.
inline void write_string(std::ostream& out, const char* from) {
  constexpr std::size_t kMost = 60;
  out << '"';
  char c = 0;
  for (std::size_t i = 0;
       i < kMost && read_safely(from + i, &c, 1) && std::isprint(static_cast<unsigned char>(c)); ++i)
    out << c;
  out << '"';
}

/// One argument. A pointer to a result shows what it points at, in brackets, once the call has succeeded.
/// Types of an API's own are shown by a `write_value` found beside them.
template <class T>
void write_argument(std::ostream& out, const T& value, bool succeeded) {
  if constexpr (requires { write_value(out, value); }) {
    write_value(out, value);
  } else if constexpr (std::is_same_v<T, const char*>) {
    value == nullptr ? out << "NULL" : out << '"' << value << '"';
  } else if constexpr (is_result<T>()) {
    std::remove_pointer_t<T> pointee;
    if (!succeeded || value == nullptr || !read_safely(value, &pointee, sizeof pointee)) {
      out << "0x" << std::hex << reinterpret_cast<std::uintptr_t>(value) << std::dec;
    } else if constexpr (std::is_same_v<T, char*>) {
      write_string(out, value);
    } else {
      out << '[';
      write_argument(out, pointee, succeeded);
      out << ']';
    }
  } else if constexpr (std::is_pointer_v<T>) {
    out << "0x" << std::hex << reinterpret_cast<std::uintptr_t>(value) << std::dec;
  } else if constexpr (std::is_enum_v<T>) {
    out << static_cast<long long>(value);
  } else if constexpr (std::is_same_v<T, unsigned long long>) {  // a device's address
    out << "0x" << std::hex << value << std::dec;
  } else if constexpr (std::is_class_v<T>) {
    out << "{...}";
  } else {
    out << +value;
  }
}

/// Removes the next name from "(value, attribute, device)" and returns it.
inline std::string_view take_name(std::string_view& names) {
  names.remove_prefix(std::min(names.find_first_not_of("(, "), names.size()));
  const std::string_view name = names.substr(0, names.find_first_of(",)"));
  names.remove_prefix(name.size());
  return name;
}

/// An argument without its type: every type has one writer, whatever the calls that it is an argument of.
struct AnyArgument {
  using Writer = void(std::ostream& out, const void* value, bool succeeded);
  template <class T>
  AnyArgument(const T& argument) : value(&argument), write(&write_any<T>) {}

  const void* value;
  Writer* write;

 private:
  template <class T>
  static void write_any(std::ostream& out, const void* value, bool succeeded) {
    write_argument(out, *static_cast<const T*>(value), succeeded);
  }
};
using AnyArguments = std::initializer_list<AnyArgument>;

/// "value=[132], attribute=16, device=0"
/// @param names  the arguments' names as source text: "(value, attribute, device)"
inline std::string arguments_text(std::string_view names, bool succeeded, AnyArguments arguments) {
  std::ostringstream text;
  const char* separator = "";
  for (const AnyArgument& argument : arguments) {
    text << separator << take_name(names) << '=';
    argument.write(text, argument.value, succeeded);
    separator = ", ";
  }
  return text.str();
}

inline bool traces_calls() {
  static const bool wanted = [] {
    const char* value = std::getenv("RADDLE_TRACE");
    return value != nullptr && std::string_view(value).find("api") != std::string_view::npos;
  }();
  return wanted;
}

/// The line of a call that has ended. No template: there are a thousand entries.
/// @param result_name  null: the result has none
[[gnu::noinline]] inline void print_call(const char* symbol, const char* names, const char* result_name,
                                         bool succeeded, std::chrono::steady_clock::time_point begin,
                                         AnyArguments arguments) {
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
  const std::string text = arguments_text(names, succeeded, arguments);
  std::fprintf(stderr, "raddle: %s(%s) = %s in %.1f us\n", symbol, text.c_str(),
               result_name == nullptr ? "?" : result_name, spent.count());
}

/// Calls an entry of an API in which 0 means no error; traces the call if the environment asks for it.
/// @param names    the arguments as source text, as in arguments_text
/// @param name_of  gives a result's name, or null
template <class Code, class... Arguments>
Code traced(const char* symbol, const char* names, const char* (*name_of)(Code), Code (*entry)(Arguments...),
            std::type_identity_t<Arguments>... arguments) {
  if (!traces_calls()) [[likely]]
    return entry(arguments...);
  const auto begin = std::chrono::steady_clock::now();
  const Code result = entry(arguments...);
  print_call(symbol, names, name_of(result), result == Code{}, begin, {arguments...});
  return result;
}

}  // namespace raddle::base
