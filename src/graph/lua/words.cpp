#include "graph/lua/words.h"

#include <cmath>
#include <cstring>

namespace raddle::graph {
namespace {

bool is_float(std::string_view type) { return type == "f32" || type == "f64"; }

template <class T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
template <class T>
T from_bytes(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace

std::size_t word_bytes(std::string_view type) {
  if (type.size() < 2 || std::string_view("subf").find(type[0]) == std::string_view::npos) return 0;
  const std::string_view bits = type.substr(1);
  if (bits == "8") return type[0] == 'f' ? 0 : 1;
  if (bits == "16") return type[0] == 'f' ? 0 : 2;
  return bits == "32" ? 4 : bits == "64" ? 8 : 0;
}

Result<std::string> word_of(const LuaValue& value, std::string_view type) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  const auto* real = std::get_if<double>(&value);
  if (whole == nullptr && real == nullptr) return Error::invalid("no number where a {} is wanted", type);
  if (is_float(type)) {
    const double number = real != nullptr ? *real : static_cast<double>(*whole);
    return type == "f32" ? bytes_of(static_cast<float>(number)) : bytes_of(number);
  }
  const std::size_t bytes = word_bytes(type);
  if (bytes == 0) return Error::invalid("no numbers of type '{}'", type);
  if (whole == nullptr && (std::floor(*real) != *real || std::abs(*real) > 9e15))
    return Error::invalid("{} is no {}", *real, type);
  const std::int64_t number = whole != nullptr ? *whole : static_cast<std::int64_t>(*real);
  const std::int64_t half = bytes == 8 ? 0 : std::int64_t{1} << (bytes * 8 - 1);
  // Untyped and unsigned words take any pattern of their bits.
  if (bytes < 8 && (number >= 2 * half || number < -half || (type[0] == 's' && number >= half)))
    return Error::invalid("{} is no {}", number, type);
  return bytes_of(number).substr(0, bytes);
}

std::variant<std::int64_t, double> number_of(std::string_view bytes, std::string_view type) {
  if (type == "f32") return double{from_bytes<float>(bytes)};
  if (type == "f64") return from_bytes<double>(bytes);
  std::int64_t number = 0;
  std::memcpy(&number, bytes.data(), bytes.size());
  const unsigned unused = static_cast<unsigned>(64 - bytes.size() * 8);
  if (type[0] == 's')
    number = static_cast<std::int64_t>(static_cast<std::uint64_t>(number) << unused) >> unused;
  return number;
}

}  // namespace raddle::graph
