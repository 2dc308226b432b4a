#include "cli/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/count.h"
#include "base/file.h"

namespace raddle::cli {
namespace {

using isa::Type;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;  // of the data, as the format's description asks

/// NumPy's name of a type, e.g. "<f4"; types that NumPy lacks are stored as unsigned integers.
std::string descriptor(Type type) {
  unsigned bytes = isa::byte_size(type);
  char kind = isa::is_signed(type) ? 'i' : 'u';
  if (type == Type::f16 || type == Type::f32 || type == Type::f64) kind = 'f';
  return fmt::format("{}{}{}", bytes == 1 ? '|' : '<', kind, bytes);
}

/// Whether a file of this descriptor may fill elements of a type.
bool holds(const std::string& found, Type type) {
  if (found == descriptor(type)) return true;
  if (found.size() < 3 || found[0] == '>') return false;
  if (found.substr(2) != fmt::format("{}", isa::byte_size(type))) return false;
  return found[1] == 'V' || found[1] == 'b' || isa::type_class(type) == isa::TypeClass::bits;
}

/// Text after `'key':` in the header's dictionary.
std::string_view value_of(std::string_view header, std::string_view key) {
  auto at = header.find(fmt::format("'{}'", key));
  if (at == std::string_view::npos) return {};
  at = header.find(':', at);
  if (at == std::string_view::npos) return {};
  at = header.find_first_not_of(" \t", at + 1);
  return at == std::string_view::npos ? std::string_view{} : header.substr(at);
}

Result<std::vector<std::uint64_t>> parse_shape(std::string_view text) {
  std::vector<std::uint64_t> shape;
  if (!text.starts_with('(')) return Error::invalid("no shape");
  text = text.substr(1, text.find(')') - 1);
  while (true) {
    constexpr std::string_view kBetween = ", L";
    text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size()));
    if (text.empty()) return shape;
    const std::size_t end = std::min(text.find_first_of(kBetween), text.size());
    TRY_ASSIGN(const std::uint64_t extent, parse_count(text.substr(0, end)));
    shape.push_back(extent);
    text.remove_prefix(end);
  }
}

Result<std::uint64_t> size_in_bytes(const std::vector<std::uint64_t>& shape, unsigned element) {
  std::uint64_t bytes = element;
  for (std::uint64_t extent : shape)
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return Error::invalid("the shape is too large");
  return bytes;
}

/// Start and length of the header's dictionary; length 0 if the contents are no .npy file.
std::pair<std::size_t, std::size_t> header_extent(const std::string& contents) {
  if (!contents.starts_with(kMagic) || contents.size() < 12) return {0, 0};
  auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(contents[i]));
  };
  bool wide = byte(6) > 1;  // versions 2 and 3 have four bytes of length
  std::size_t start = wide ? 12 : 10;
  std::size_t length = byte(8) | byte(9) << 8 | (wide ? byte(10) << 16 | byte(11) << 24 : 0);
  if (length > contents.size() - start) return {0, 0};
  return {start, length};
}

}  // namespace

Result<Array> parse_npy(const std::string& contents, const std::string& name, Type as) {
  auto [start, length] = header_extent(contents);
  if (length == 0) return Error::invalid("{} is no .npy file", name);
  std::string_view header = std::string_view(contents).substr(start, length);
  std::string_view quoted = value_of(header, "descr");
  if (!quoted.starts_with('\'')) return Error::invalid("{}: structured arrays are not read", name);
  std::string found(quoted.substr(1, quoted.find('\'', 1) - 1));
  if (!holds(found, as))
    return Error::invalid("{} holds {}, not {} ({})", name, found, isa::type_name(as), descriptor(as));
  if (value_of(header, "fortran_order").starts_with("True"))
    return Error::invalid("{}: Fortran order is not read", name);
  Array array;
  array.type = as;
  Result<std::vector<std::uint64_t>> shape = parse_shape(value_of(header, "shape"));
  if (!shape) return Error::invalid("{}: {}", name, shape.error().message);
  array.shape = std::move(*shape);
  TRY_ASSIGN(std::uint64_t bytes, size_in_bytes(array.shape, isa::byte_size(as)));
  if (contents.size() - start - length < bytes)
    return Error::invalid("{} is truncated: {} bytes of data, its shape needs {}", name,
                          contents.size() - start - length, bytes);
  array.bytes.resize(bytes);
  if (bytes) std::memcpy(array.bytes.data(), contents.data() + start + length, bytes);
  return array;
}

Result<Array> read_npy(const std::string& path, Type as) {
  TRY_ASSIGN(std::string contents, read_file(path));
  return parse_npy(contents, path, as);
}

std::string format_npy(const Array& array) {
  std::string shape;
  for (std::uint64_t extent : array.shape) shape += fmt::format("{}, ", extent);
  if (array.shape.size() > 1) shape.resize(shape.size() - 2);
  if (array.shape.size() == 1) shape.resize(shape.size() - 1);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   descriptor(array.type), shape);
  std::size_t unpadded = kMagic.size() + 4 + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string contents(kMagic);
  contents += {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  contents += header;
  contents.append(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
  return contents;
}

Result<void> write_npy(const std::string& path, const Array& array) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"), std::fclose);
  std::string contents = format_npy(array);
  bool written = file && std::fwrite(contents.data(), 1, contents.size(), file.get()) == contents.size() &&
                 std::fflush(file.get()) == 0;
  if (!written) return Error::make(ErrorCode::io, "cannot write {}: {}", path, std::strerror(errno));
  return {};
}

}  // namespace raddle::cli
