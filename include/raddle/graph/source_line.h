// Where in a graph program something was said, for errors and views.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

#include "base/result.h"

namespace raddle::graph {

/// A file's name and a line, from 1 on; 0: nowhere. A value to be copied: the name is kept for good.
struct SourceLine {
  const char* file = "";
  std::uint32_t line = 0;

  SourceLine() = default;
  SourceLine(const std::source_location& at)  // NOLINT: a default argument of calls
      : file(at.file_name()), line(at.line()) {}
  /// A line of a program in another language: keeps one copy of each name.
  SourceLine(std::string_view file_name, std::uint32_t number);

  std::string text() const;  ///< "file:line"
  SourceSpan span() const { return {file, line, 0}; }
  /// An error that was made there.
  Error error(ErrorCode code, std::string message) const { return {code, std::move(message), span()}; }
};

}  // namespace raddle::graph
