// Literals, printing and comparison; float formats are described by their field widths alone.
#include "isa/harness/value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <optional>

namespace raddle::testing {
namespace {

using isa::Type;

struct Format {
  unsigned exponent, mantissa;
  bool has_infinity = true;
};

Format format_of(Type type) {
  switch (type) {
    case Type::f16:
      return {5, 10};
    case Type::bf16:
      return {8, 7};
    case Type::f64:
      return {11, 52};
    case Type::e5m2:
      return {5, 2};
    case Type::e4m3:
      return {4, 3, false};
    default:
      return {8, 23};  // f32; tf32 has the layout of f32
  }
}

std::optional<unsigned __int128> parse_integer(std::string_view text) {
  bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  unsigned base = 10;
  if (text.starts_with("0x")) base = 16, text.remove_prefix(2);
  if (text.empty()) return std::nullopt;
  unsigned __int128 value = 0;
  for (char c : text) {
    if (c == '_') continue;
    unsigned digit = c >= '0' && c <= '9'                 ? c - '0'
                     : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                          : 99;
    if (digit >= base) return std::nullopt;
    value = value * base + digit;
  }
  return negative ? -value : value;
}

Result<Bits> parse_float(std::string_view text, Type type) {
  Format f = format_of(type);
  std::uint64_t exponent_ones = low_bits(f.exponent) << f.mantissa;
  std::uint64_t sign = 1ull << (f.exponent + f.mantissa);
  if (text == "nan")
    return Bits{f.has_infinity ? exponent_ones | 1ull << (f.mantissa - 1)
                               : exponent_ones | low_bits(f.mantissa)};
  if (text == "inf" || text == "-inf") return Bits{exponent_ones | (text[0] == '-' ? sign : 0)};
  std::string copy(text);
  char* end = nullptr;
  double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != 0) return Error::invalid("'{}' is no {} literal", text, type_name(type));
  std::uint64_t bits = type == Type::f64 ? std::bit_cast<std::uint64_t>(value) : from_double(value, type);
  if (type != Type::f64 && type != Type::f32 && to_double(bits, type) != value)
    return Error::invalid("{} is not exact in {}", text, type_name(type));
  if (type == Type::f32) bits = std::bit_cast<std::uint32_t>(std::strtof(copy.c_str(), nullptr));
  return Bits{bits};
}

Result<Bits> parse_packed(std::string_view text, Elements elements) {
  text = text.substr(1, text.size() - 2);
  unsigned width = isa::bit_size(elements.type);
  Bits all;
  for (unsigned i = 0; i < elements.count; ++i) {
    auto comma = text.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == elements.count))
      return Error::invalid("expected {} elements", elements.count);
    TRY_ASSIGN(Bits one, parse_literal(text.substr(0, comma), elements.type));
    all.lo |= one.lo << (i * width);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return all;
}

}  // namespace

Elements elements_of(Type type) {
  const Type element = isa::element_type(type);
  const bool has_format = !isa::is_float(element) || isa::bit_size(element) >= 16 || element == Type::e4m3 ||
                          element == Type::e5m2;
  return has_format ? Elements{element, isa::element_count(type)} : Elements{type, 1};
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const auto begin = text.find_first_not_of(kBlanks);
  return begin == std::string_view::npos ? std::string_view{}
                                         : text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

Result<Bits> parse_literal(std::string_view text, Type type) {
  text = trim(text);
  if (type == Type::pred) {
    if (text == "true" || text == "1") return Bits{1};
    if (text == "false" || text == "0") return Bits{0};
    return Error::invalid("'{}' is no predicate", text);
  }
  Elements elements = elements_of(type);
  if (text.starts_with('<') && text.ends_with('>')) return parse_packed(text, elements);
  if (isa::is_float(type) && !text.starts_with("0x")) return parse_float(text, type);
  auto value = parse_integer(text);
  if (!value) return Error::invalid("'{}' is no {} literal", text, type_name(type));
  unsigned width = isa::bit_size(type);
  Bits bits{static_cast<std::uint64_t>(*value), width > 64 ? static_cast<std::uint64_t>(*value >> 64) : 0};
  std::uint64_t above = width >= 64 ? 0 : bits.lo >> width;
  bool sign_extended = width < 64 && text.starts_with('-') && above == low_bits(64 - width);
  if (above != 0 && !sign_extended) return Error::invalid("{} does not fit {}", text, type_name(type));
  bits.lo &= low_bits(width);
  return bits;
}

double to_double(std::uint64_t bits, Type type) {
  if (type == Type::f64) return std::bit_cast<double>(bits);
  Format f = format_of(type);
  bool negative = bits >> (f.exponent + f.mantissa) & 1;
  std::uint64_t exponent = bits >> f.mantissa & low_bits(f.exponent), mantissa = bits & low_bits(f.mantissa);
  int bias = (1 << (f.exponent - 1)) - 1;
  double magnitude;
  if (exponent == low_bits(f.exponent) && f.has_infinity)
    magnitude = mantissa ? std::nan("") : INFINITY;
  else if (!f.has_infinity && exponent == low_bits(f.exponent) && mantissa == low_bits(f.mantissa))
    magnitude = std::nan("");
  else if (exponent == 0)
    magnitude = std::ldexp(static_cast<double>(mantissa), 1 - bias - static_cast<int>(f.mantissa));
  else
    magnitude = std::ldexp(static_cast<double>(mantissa | 1ull << f.mantissa),
                           static_cast<int>(exponent) - bias - static_cast<int>(f.mantissa));
  return negative ? -magnitude : magnitude;
}

std::uint64_t from_double(double value, Type type) {
  if (type == Type::f64) return std::bit_cast<std::uint64_t>(value);
  Format f = format_of(type);
  std::uint64_t sign = std::signbit(value) ? 1ull << (f.exponent + f.mantissa) : 0;
  std::uint64_t infinity = low_bits(f.exponent) << f.mantissa;
  std::uint64_t largest = f.has_infinity ? infinity : infinity | (low_bits(f.mantissa) - 1);
  if (std::isnan(value)) return infinity | 1ull << (f.mantissa - 1);
  double magnitude = std::fabs(value);
  if (std::isinf(value)) return sign | largest;
  if (magnitude == 0) return sign;
  int bias = (1 << (f.exponent - 1)) - 1;
  int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  double scaled = std::ldexp(magnitude, static_cast<int>(f.mantissa) - exponent);
  auto mantissa =
      static_cast<std::uint64_t>(std::nearbyint(scaled));  // a carry moves into the exponent by itself
  std::uint64_t bits = (static_cast<std::uint64_t>(exponent + bias - 1) << f.mantissa) + mantissa;
  return sign | std::min(bits, largest);
}

bool is_nan(std::uint64_t bits, Type type) {
  return isa::is_float(type) && std::isnan(to_double(bits, type));
}

std::string format_value(Bits value, Type type) {
  if (type == Type::pred) return value.lo ? "true" : "false";
  unsigned digits = std::max(1u, isa::byte_size(type) * 2);
  if (isa::bit_size(type) > 64) return fmt::format("0x{:016x}{:016x}", value.hi, value.lo);
  std::string text = fmt::format("0x{:0{}x}", value.lo, digits);
  Elements elements = elements_of(type);
  if (!isa::is_float(elements.type)) return text;
  unsigned width = isa::bit_size(elements.type);
  text += " (";
  for (unsigned i = 0; i < elements.count; ++i)
    text += fmt::format("{}{}", i ? ", " : "",
                        to_double(value.lo >> (i * width) & low_bits(width), elements.type));
  return text + ")";
}

std::string immediate_text(Bits value, Type type) {
  if (type == Type::f32) return fmt::format("0f{:08X}", value.lo);
  if (type == Type::f64) return fmt::format("0d{:016X}", value.lo);
  if (isa::is_signed(type)) {
    unsigned shift = 64 - isa::bit_size(type);
    auto number = static_cast<std::int64_t>(value.lo << shift) >> shift;
    if (number == INT64_MIN) return "0x8000000000000000";
    return fmt::format("{}", number);
  }
  return fmt::format("0x{:x}", value.lo);
}

bool same_value(Bits a, Bits b, Type type) {
  if (a == b) return true;
  Elements elements = elements_of(type);
  if (!isa::is_float(elements.type) || a.hi != b.hi) return false;
  unsigned width = isa::bit_size(elements.type);
  for (unsigned i = 0; i < elements.count; ++i) {
    std::uint64_t x = a.lo >> (i * width) & low_bits(width), y = b.lo >> (i * width) & low_bits(width);
    if (x != y && !(is_nan(x, elements.type) && is_nan(y, elements.type))) return false;
  }
  return true;
}

bool near_value(Bits a, Bits b, Type type, double relative_error) {
  Elements elements = elements_of(type);
  if (!isa::is_float(elements.type)) return a == b;
  unsigned width = isa::bit_size(elements.type);
  Format f = format_of(elements.type);
  double tiny = std::ldexp(4.0, 2 - (1 << (f.exponent - 1)));
  for (unsigned i = 0; i < elements.count; ++i) {
    std::uint64_t x = a.lo >> (i * width) & low_bits(width), y = b.lo >> (i * width) & low_bits(width);
    if (x == y) continue;
    double p = to_double(x, elements.type), q = to_double(y, elements.type);
    if (std::isnan(p) != std::isnan(q)) return false;
    if (std::isnan(p)) continue;
    if (std::isinf(p) || std::isinf(q)) return false;
    if (!(std::fabs(p - q) <= relative_error * std::max(std::fabs(p), std::fabs(q)) + tiny)) return false;
  }
  return true;
}

}  // namespace raddle::testing
