#include "cli/element.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/count.h"
#include "numerics/half.h"

namespace raddle::cli {
namespace {

using isa::Type;

numerics::Format format_of(Type type) {
  switch (type) {
    case Type::f16:
      return numerics::kF16;
    case Type::bf16:
      return numerics::kBf16;
    case Type::e4m3:
      return numerics::kE4m3;
    case Type::e5m2:
      return numerics::kE5m2;
    case Type::f64:
      return numerics::kF64;
    default:
      return numerics::kF32;
  }
}

std::uint64_t low_bits(unsigned count) { return count >= 64 ? ~0ull : (1ull << count) - 1; }

std::int64_t sign_extended(Type type, std::uint64_t bits) {
  unsigned unused = 64 - isa::bit_size(type);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

Result<std::uint64_t> parse_integer(Type type, const std::string& text) {
  const bool negative = text.starts_with('-');
  const auto parsed = parse_count(std::string_view(text).substr(negative || text.starts_with('+') ? 1 : 0));
  if (!parsed) return Error::invalid("{} is no {}: {}", text, isa::type_name(type), parsed.error().message);
  const std::uint64_t magnitude = *parsed;
  unsigned bits = isa::bit_size(type);
  std::uint64_t limit = negative               ? 1ull << (bits - 1)
                        : isa::is_signed(type) ? low_bits(bits - 1)
                                               : low_bits(bits);
  if (magnitude > limit || (negative && isa::type_class(type) == isa::TypeClass::unsigned_ && magnitude))
    return Error::invalid("{} does not fit {}", text, isa::type_name(type));
  return (negative ? 0 - magnitude : magnitude) & low_bits(bits);
}

std::uint64_t random_element(Type type, std::mt19937_64& generator) {
  std::uint64_t bits = generator();
  if (!isa::is_float(type)) return bits & low_bits(isa::bit_size(type));
  double unit = static_cast<double>(bits >> 11) * 0x1p-53;
  return numerics::round_double(unit, format_of(type), numerics::Rounding::rz);  // rounding up could give 1
}

std::uint64_t iota_element(Type type, std::uint64_t index) {
  if (!isa::is_float(type)) return index & low_bits(isa::bit_size(type));
  return numerics::round_integer(false, index, format_of(type), numerics::Rounding::rn);
}

bool equal(Type type, std::uint64_t actual, std::uint64_t expected, double tolerance) {
  if (actual == expected) return true;
  if (!isa::is_float(type)) return false;
  double a = element_value(type, actual), e = element_value(type, expected);
  if (std::isnan(a) || std::isnan(e)) return std::isnan(a) && std::isnan(e);
  if (std::isinf(a) || std::isinf(e)) return a == e;
  return std::fabs(a - e) <= tolerance * std::max(1.0, std::fabs(e));
}

}  // namespace

Result<Type> parse_element_type(std::string_view name) {
  std::string spelled(name);
  if (spelled.size() > 1 && spelled[0] == 'i') spelled[0] = 's';
  Type type = isa::type_from_name(spelled);
  unsigned bits = isa::bit_size(type);
  isa::TypeClass type_class = isa::type_class(type);
  bool plain = isa::is_float(type) || isa::is_integer(type) || type_class == isa::TypeClass::bits;
  if (!plain || type == Type::tf32 || bits < 8 || bits > 64)
    return Error::invalid("{} is no element type (such as f32, f64, f16, bf16, i32, u8, b64)", name);
  return type;
}

Result<std::uint64_t> parse_scalar(Type type, const std::string& text) {
  if (!isa::is_float(type)) return parse_integer(type, text);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double value = std::numeric_limits<double>::quiet_NaN();
  if (text != "nan") {
    const auto parsed = parse_real(text, -kInfinity, kInfinity);
    if (!parsed) return Error::invalid("{} is no {}: {}", text, isa::type_name(type), parsed.error().message);
    value = *parsed;
  }
  const std::uint64_t bits = numerics::round_double(value, format_of(type), numerics::Rounding::rn);
  if (std::isfinite(value) && !std::isfinite(element_value(type, bits)))
    return Error::invalid("{} does not fit {}", text, isa::type_name(type));
  return bits;
}

std::uint64_t load_element(Type type, const std::byte* at) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, isa::byte_size(type));
  return bits;
}

void store_element(Type type, std::byte* at, std::uint64_t bits) {
  std::memcpy(at, &bits, isa::byte_size(type));
}

double element_value(Type type, std::uint64_t bits) {
  if (isa::is_float(type)) return numerics::to_double(bits, format_of(type));
  if (isa::is_signed(type)) return static_cast<double>(sign_extended(type, bits));
  return static_cast<double>(bits);
}

std::string element_text(Type type, std::uint64_t bits) {
  if (type == Type::f64) return fmt::format("{}", element_value(type, bits));
  if (isa::is_float(type)) return fmt::format("{}", static_cast<float>(element_value(type, bits)));
  if (isa::is_signed(type)) return fmt::format("{}", sign_extended(type, bits));
  return fmt::format("{}", bits);
}

Result<Fill> parse_fill(Type type, const std::string& text, std::uint64_t default_seed) {
  Fill fill;
  if (text == "zeros") return fill;
  if (text == "iota") {
    fill.kind = Fill::Kind::iota;
  } else if (text == "random" || text.starts_with("random:")) {
    fill.kind = Fill::Kind::random;
    fill.seed = default_seed;
    if (text.size() > 6) {
      TRY_ASSIGN(fill.seed, parse_scalar(Type::u64, text.substr(7)));
    }
  } else if (text.ends_with(".npy")) {
    fill.kind = Fill::Kind::file;
    fill.file = text;
  } else {
    Result<std::uint64_t> bits = parse_scalar(type, text);
    if (!bits)
      return Error::invalid(
          "{} is no way to fill a buffer of {}: zeros, iota, random[:seed], a number, or a .npy file", text,
          isa::type_name(type));
    fill.kind = Fill::Kind::value;
    fill.bits = *bits;
  }
  return fill;
}

void fill_elements(Type type, const Fill& fill, std::vector<std::byte>& bytes) {
  std::size_t step = isa::byte_size(type);
  std::mt19937_64 generator(fill.seed);
  for (std::size_t i = 0; i < bytes.size() / step; ++i) {
    std::uint64_t bits = 0;
    if (fill.kind == Fill::Kind::iota) bits = iota_element(type, i);
    if (fill.kind == Fill::Kind::random) bits = random_element(type, generator);
    if (fill.kind == Fill::Kind::value) bits = fill.bits;
    store_element(type, bytes.data() + i * step, bits);
  }
}

std::string first_difference(Type type, const std::vector<std::byte>& actual,
                             const std::vector<std::byte>& expected, double tolerance) {
  if (actual.size() != expected.size())
    return fmt::format("holds {} elements, expected {}", actual.size() / isa::byte_size(type),
                       expected.size() / isa::byte_size(type));
  std::size_t step = isa::byte_size(type), different = 0;
  std::string first;
  for (std::size_t i = 0; i < actual.size() / step; ++i) {
    std::uint64_t a = load_element(type, actual.data() + i * step),
                  e = load_element(type, expected.data() + i * step);
    if (equal(type, a, e, tolerance)) continue;
    if (different++ == 0)
      first = fmt::format("element {} is {}, expected {}", i, element_text(type, a), element_text(type, e));
  }
  if (different == 0) return "";
  return fmt::format("{} ({} of {} elements differ)", first, different, actual.size() / step);
}

}  // namespace raddle::cli
