#include "python/errors.h"

namespace raddle::python {
namespace {

/// As raddle.errors spells the codes.
const char* code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid:
      return "invalid";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::too_large:
      return "too_large";
    case ErrorCode::invalid_cluster:
      return "invalid_cluster";
    case ErrorCode::kernel_fault:
      return "kernel_fault";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::server:
      return "server";
    case ErrorCode::io:
      return "io";
  }
  return "invalid";
}

/// The text of a line that counts from 1; empty where there is none.
std::string_view line_of(std::string_view text, unsigned line) {
  for (; line > 1; --line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return line == 0 ? std::string_view() : text.substr(0, text.find('\n'));
}

}  // namespace

void raise(const Error& error, std::string_view source) {
  const nb::object made =
      nb::module_::import_("raddle.errors")
          .attr("_make")(code_name(error.code), error.message, error.where.file, error.where.line,
                         error.where.column, std::string(line_of(source, error.where.line)));
  PyErr_SetObject(reinterpret_cast<PyObject*>(made.type().ptr()), made.ptr());
  throw nb::python_error();
}

}  // namespace raddle::python
