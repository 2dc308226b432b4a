#include "cli/diagnostics.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "cli/commands.h"

namespace raddle::cli {
namespace {

/// Line `number` (from 1) of a text, without its end; empty if the text is shorter.
std::string_view line_of(std::string_view text, unsigned number) {
  for (unsigned i = 1; i < number; ++i) {
    auto end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

/// Spaces up to a column; tabs stay tabs, so that the caret stands below its character.
std::string caret_line(std::string_view line, unsigned column) {
  std::string text;
  for (unsigned i = 0; i + 1 < column && i < line.size(); ++i) text += line[i] == '\t' ? '\t' : ' ';
  return text + "^";
}

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::unsupported:
      return kUnsupported;
    case ErrorCode::kernel_fault:
      return kFault;
    case ErrorCode::timeout:
      return kTimeout;
    case ErrorCode::out_of_memory:
      return kOutOfMemory;
    case ErrorCode::invalid:
    case ErrorCode::too_large:
    case ErrorCode::invalid_cluster:
    case ErrorCode::not_found:
    case ErrorCode::server:
    case ErrorCode::io:
      return kInvalid;
  }
  return kInvalid;
}

}  // namespace

std::string render(const Error& error, std::string_view source) {
  constexpr std::size_t kLongest = 300;  // a line of binary garbage helps nobody
  if (error.where.line == 0) return fmt::format("raddle: error: {}\n", error.to_string());
  std::string text =
      fmt::format("{}:{}:", error.where.file.empty() ? "<ptx>" : error.where.file, error.where.line);
  if (error.where.column != 0) text += fmt::format("{}:", error.where.column);
  text += fmt::format(" error: {}\n", error.message);
  std::string line(line_of(source, error.where.line).substr(0, kLongest));
  if (line.empty()) return text;
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ' && c != '\t') c = '?';
  text += fmt::format("{}\n", line);
  if (error.where.column > 0 && error.where.column <= line.size() + 1)
    text += caret_line(line, error.where.column) + "\n";
  return text;
}

int report(const Error& error, std::string_view source) {
  std::fputs(render(error, source).c_str(), stderr);
  return status_of(error.code);
}

std::string demangle(const std::string& name) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                              std::free);
  return status == 0 ? text.get() : name;
}

}  // namespace raddle::cli
