#include "cli/argument.h"

#include <fmt/format.h>

#include "cli/host.h"

namespace raddle::cli {
namespace {

std::vector<std::string> split(const std::string& text, std::string_view separators) {
  std::vector<std::string> parts{""};
  for (char c : text) {
    if (separators.find(c) != std::string_view::npos)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

constexpr const char* kForms = "buf:TYPE:COUNT[=FILL], buf:TYPE=FILE.npy, or TYPE:VALUE";

/// An array of a fill; `count` elements unless the fill is a file.
Result<Array> filled(isa::Type type, const Fill& fill, std::uint64_t count) {
  if (fill.kind == Fill::Kind::file) return read_npy(fill.file, type);
  std::uint64_t most = describe_host().memory;
  if (count > most / isa::byte_size(type))
    return Error::make(ErrorCode::out_of_memory, "{} elements of {} do not fit into the host's {} of memory",
                       count, isa::type_name(type), human_bytes(most));
  Array array;
  array.type = type;
  array.shape = {count};
  array.bytes.resize(count * isa::byte_size(type));
  fill_elements(type, fill, array.bytes);
  return array;
}

Result<Argument> parse_buffer(const std::vector<std::string>& head, const std::string& fill_text,
                              unsigned index) {
  if (head.size() < 2 || head.size() > 3) return Error::invalid("a buffer is written {}", kForms);
  TRY_ASSIGN(isa::Type type, parse_element_type(head[1]));
  TRY_ASSIGN(Fill fill, parse_fill(type, fill_text.empty() ? "zeros" : fill_text, index + 1));
  if (head.size() == 2 && fill.kind != Fill::Kind::file)
    return Error::invalid("how many elements? Write {}", kForms);
  std::uint64_t count = 0;
  if (head.size() == 3) {
    TRY_ASSIGN(count, parse_count(head[2]));
  }
  Argument argument;
  argument.is_buffer = true;
  TRY_ASSIGN(argument.array, filled(type, fill, count));
  std::uint64_t present = argument.array.bytes.size() / isa::byte_size(type);
  if (head.size() == 3 && present != count)
    return Error::invalid("{} holds {} elements, not {}", fill.file, present, count);
  return argument;
}

Result<Argument> parse_value(const std::vector<std::string>& head) {
  if (head.size() != 2) return Error::invalid("an argument is written {}", kForms);
  TRY_ASSIGN(isa::Type type, parse_element_type(head[0]));
  TRY_ASSIGN(std::uint64_t bits, parse_scalar(type, head[1]));
  Argument argument;
  argument.array.type = type;
  argument.array.bytes.resize(isa::byte_size(type));
  store_element(type, argument.array.bytes.data(), bits);
  return argument;
}

}  // namespace

Result<std::array<std::uint32_t, 3>> parse_extents(const std::string& text, const char* what) {
  std::array<std::uint32_t, 3> extents{1, 1, 1};
  std::vector<std::string> parts = split(text, ",x");
  if (parts.size() > 3) return Error::invalid("{} {} has more than three extents", what, text);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Result<std::uint64_t> extent = parse_count(parts[i], 1, 0xffffffffu);
    if (!extent)
      return Error::invalid("{} is no {}: X[,Y[,Z]], each at least 1: {}", text, what,
                            extent.error().message);
    extents[i] = static_cast<std::uint32_t>(*extent);
  }
  return extents;
}

Result<Argument> parse_argument(const std::string& text, unsigned index) {
  auto equals = text.find('=');
  std::string fill = equals == std::string::npos ? "" : text.substr(equals + 1);
  std::vector<std::string> head = split(text.substr(0, equals), ":");
  Result<Argument> argument = head[0] == "buf" ? parse_buffer(head, fill, index)
                              : equals == std::string::npos
                                  ? parse_value(head)
                                  : Error::invalid("an argument is written {}", kForms);
  if (!argument) return Error::make(argument.error().code, "--arg {}: {}", text, argument.error().message);
  argument->text = text;
  return argument;
}

Result<Indexed> parse_indexed(const std::string& text, const std::vector<Argument>& arguments,
                              const char* option) {
  auto equals = text.find('=');
  Result<std::uint64_t> index = parse_count(text.substr(0, equals));
  if (equals == std::string::npos || !index)
    return Error::invalid("{} {}: written INDEX=..., the argument's place from 0", option, text);
  if (*index >= arguments.size() || !arguments[*index].is_buffer)
    return Error::invalid("{} {}: argument {} is no buffer", option, text, *index);
  return Indexed{static_cast<unsigned>(*index), text.substr(equals + 1)};
}

Result<Array> expected_array(const Indexed& expectation, const Argument& argument) {
  isa::Type type = argument.array.type;
  TRY_ASSIGN(Fill fill, parse_fill(type, expectation.text, expectation.index + 1));
  return filled(type, fill, argument.array.bytes.size() / isa::byte_size(type));
}

}  // namespace raddle::cli
