// Conversions by search in the list of all values of a format; the other functions by definition.
#include "exhaustive/expected.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace raddle::testing {
namespace {

using isa::Mod;
using isa::Opcode;
using isa::Type;

/// The finite values of a 16- or 8-bit format from 0 up, each at the index that is its encoding, and one step
/// past the largest: what rounds to that overflows.
const std::vector<double>& magnitudes(Type type) {
  static std::map<Type, std::vector<double>> all;
  std::vector<double>& values = all[type];
  if (!values.empty()) return values;
  for (std::uint64_t bits = 0;; ++bits) {
    const double value = to_double(bits, type);
    if (!std::isfinite(value)) break;
    values.push_back(value);
  }
  const double largest = values.back(), step = largest - values[values.size() - 2];
  values.push_back(largest + step);
  return values;
}

std::uint64_t sign_bit(Type type) { return std::uint64_t{1} << (isa::bit_size(type) - 1); }

/// All formats have one NaN as a result: everything but the sign set.
std::uint64_t canonical_nan(Type type) { return sign_bit(type) - 1; }

/// A narrow float nearest to the value in the direction asked for.
std::uint64_t round_narrow(const Opcode& opcode, double value, Type type) {
  if (std::isnan(value)) return canonical_nan(type);
  const auto& list = magnitudes(type);
  const double x = std::fabs(value);
  const bool negative = std::signbit(value), finite_only = opcode.has(Mod::satfinite);
  const std::uint64_t sign = negative ? sign_bit(type) : 0, beyond = list.size() - 1;
  // Index of the largest value that is not above x.
  std::uint64_t below =
      static_cast<std::uint64_t>(std::upper_bound(list.begin(), list.end(), x) - list.begin()) - 1;
  std::uint64_t chosen = below;
  if (below < beyond && list[below] != x) {
    const double down = x - list[below], up = list[below + 1] - x;
    if (opcode.has(Mod::rz))
      chosen = below;
    else if (opcode.has(Mod::rm))
      chosen = below + negative;
    else if (opcode.has(Mod::rp))
      chosen = below + !negative;
    else
      chosen = up < down || (up == down && below % 2 == 1) ? below + 1 : below;
  }
  // Past the largest number: infinity, unless the rounding goes the other way or the opcode forbids it.
  const bool inward =
      opcode.has(Mod::rz) || (opcode.has(Mod::rm) && !negative) || (opcode.has(Mod::rp) && negative);
  if (chosen == beyond && (finite_only || (inward && !std::isinf(value)))) chosen = beyond - 1;
  return sign | chosen;
}

/// Every value here has at most 16 significant bits: f32 and f64 hold it exactly.
std::uint64_t encode(const Opcode& opcode, double value, Type type) {
  if (isa::bit_size(type) <= 16) return round_narrow(opcode, value, type);
  if (opcode.has(Mod::ftz) && type == Type::f32 && std::fabs(value) < 0x1p-126)
    value = std::copysign(0.0, value);
  return from_double(value, type);
}

double to_integral(const Opcode& opcode, double x) {
  if (opcode.has(Mod::rzi)) return std::trunc(x);
  if (opcode.has(Mod::rmi)) return std::floor(x);
  if (opcode.has(Mod::rpi)) return std::ceil(x);
  if (!opcode.has(Mod::rni)) return x;
  const double whole = std::trunc(x), rest = std::fabs(x - whole);
  const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) != 0);
  return std::copysign(std::fabs(whole) + up, x);
}

__int128 lowest(Type type) { return isa::is_signed(type) ? -(__int128{1} << (isa::bit_size(type) - 1)) : 0; }
__int128 highest(Type type) { return (__int128{1} << (isa::bit_size(type) - isa::is_signed(type))) - 1; }

__int128 as_integer(std::uint64_t bits, Type type) {
  const bool negative = isa::is_signed(type) && (bits & sign_bit(type)) != 0;
  return __int128{bits} - (negative ? __int128{1} << isa::bit_size(type) : 0);
}

std::uint64_t cut(__int128 value, Type type) {
  return static_cast<std::uint64_t>(value) & (~std::uint64_t{0} >> (64 - isa::bit_size(type)));
}

/// Out of range goes to the nearest end, whatever .sat says; NaN is 0, or the highest bit alone in 64 bits.
std::uint64_t float_to_integer(const Opcode& opcode, double x, Type to) {
  if (std::isnan(x)) return isa::bit_size(to) == 64 ? sign_bit(to) : 0;
  x = to_integral(opcode, x);
  if (x <= static_cast<double>(lowest(to))) return cut(lowest(to), to);
  if (x >= static_cast<double>(highest(to))) return cut(highest(to), to);
  return cut(static_cast<__int128>(x), to);
}

std::uint64_t convert(const Opcode& opcode, Type from, Type to, std::uint64_t bits) {
  const bool from_float = isa::is_float(from);
  if (!from_float && !isa::is_float(to)) {
    __int128 value = as_integer(bits, from);
    if (opcode.has(Mod::sat)) value = std::clamp(value, lowest(to), highest(to));
    return cut(value, to);
  }
  double value = from_float ? to_double(bits, from) : static_cast<double>(as_integer(bits, from));
  if (!isa::is_float(to)) return float_to_integer(opcode, value, to);
  if (from_float) value = to_integral(opcode, value);
  if (opcode.has(Mod::sat)) value = value >= 1 ? 1 : value > 0 ? value : 0;  // NaN too
  if (opcode.has(Mod::relu) && (value < 0 || (value == 0 && std::signbit(value)))) value = 0;
  return encode(opcode, value, to);
}

/// Narrow floats without arithmetic: bits of the source, subnormals to zero for .ftz.
std::uint64_t change_sign(const Opcode& opcode, Type type, std::uint64_t bits, std::uint64_t sign) {
  if (is_nan(bits, type)) return canonical_nan(type);
  const double magnitude = std::fabs(to_double(bits, type));
  const double smallest_normal = type == Type::f16 ? 0x1p-14 : 0x1p-126;
  const bool flushed = opcode.has(Mod::ftz) && magnitude < smallest_normal;
  return (flushed ? 0 : bits & ~sign_bit(type)) | sign;
}

}  // namespace

std::optional<std::uint64_t> expected_element(const Opcode& opcode, Type from, Type to, std::uint64_t bits) {
  const std::string& name = opcode.row->mnemonic;
  const bool is_float = isa::is_float(from);
  if (name == "cvt") return convert(opcode, from, to, bits);
  if (name == "mov") return bits;
  if (name == "not") return cut(~__int128{bits}, to);
  if (name == "cnot") return bits == 0 ? 1 : 0;
  if (name == "neg" && is_float)
    return change_sign(opcode, from, bits, (bits & sign_bit(from)) ^ sign_bit(from));
  if (name == "abs" && is_float) return change_sign(opcode, from, bits, 0);
  if (name == "neg") return cut(-as_integer(bits, from), to);
  if (name == "abs") return cut(std::max(as_integer(bits, from), -as_integer(bits, from)), to);
  return std::nullopt;
}

bool is_near(const Opcode& opcode, Type type, std::uint64_t bits, std::uint64_t result) {
  double x = to_double(bits, type);
  if (opcode.has(Mod::ftz) && std::fabs(x) < 0x1p-126) x = 0;
  const std::string& name = opcode.row->mnemonic;
  const double truth = name == "ex2" ? std::exp2(x) : name == "tanh" ? std::tanh(x) : -1;
  const double y = to_double(result, type), error = opcode.row->text->error;
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  const auto& list = magnitudes(type);
  if (std::isinf(y)) return truth * (1 + error) >= (list[list.size() - 2] + list.back()) / 2;
  const bool flushed = opcode.has(Mod::ftz) && std::fabs(truth) < 0x1p-126 && y == 0;
  return flushed || std::fabs(y - truth) <= std::max(error * std::fabs(truth), list[1] * 0.5);
}

}  // namespace raddle::testing
