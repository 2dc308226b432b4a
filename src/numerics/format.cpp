// Rounding and unpacking of floating-point encodings; see format.h.
#include "numerics/format.h"

#include <bit>
#include <cmath>

namespace raddle::numerics {
namespace {

std::uint64_t one_at(unsigned bit) { return std::uint64_t{1} << bit; }
int bias_of(Format f) { return static_cast<int>(one_at(f.exponent_bits - 1)) - 1; }
std::uint64_t sign_bit(Format f, bool negative) {
  return negative ? one_at(f.exponent_bits + f.mantissa_bits) : 0;
}

bool rounds_up(Rounding rounding, bool sign, bool odd, bool half, bool rest) {
  switch (rounding) {
    case Rounding::rn:
      return half && (rest || odd);
    case Rounding::rna:
      return half;
    case Rounding::rz:
      return false;
    case Rounding::rm:
      return sign && (half || rest);
    case Rounding::rp:
      return !sign && (half || rest);
  }
  return false;
}

bool overflows_to_infinity(Rounding rounding, bool sign) {
  switch (rounding) {
    case Rounding::rz:
      return false;
    case Rounding::rm:
      return sign;
    case Rounding::rp:
      return !sign;
    default:
      return true;
  }
}

/// A 64-bit significand without its `drop` low bits.
struct Cut {
  std::uint64_t kept;
  bool half, rest;
};
Cut cut(std::uint64_t significand, unsigned drop) {
  if (drop > 64) return {0, false, significand != 0};
  if (drop == 64) return {0, (significand >> 63) != 0, (significand << 1) != 0};
  return {significand >> drop, ((significand >> (drop - 1)) & 1) != 0,
          (significand & (one_at(drop - 1) - 1)) != 0};
}

Unpacked unpack_double(double value) {
  auto bits = std::bit_cast<std::uint64_t>(value);
  unsigned exponent = static_cast<unsigned>(bits >> 52) & 0x7ff;
  std::uint64_t mantissa = bits & (one_at(52) - 1);
  if (exponent == 0) return {(bits >> 63) != 0, mantissa, -1074, false};
  return {(bits >> 63) != 0, mantissa | one_at(52), static_cast<int>(exponent) - 1075, false};
}

}  // namespace

std::uint64_t canonical_nan(Format f) {
  if (f.exponent_bits == 11) return 0x7ff8000000000000u;
  return one_at(f.exponent_bits + f.mantissa_bits) - 1;
}

std::uint64_t largest_finite(Format f, bool negative) {
  std::uint64_t bits = f.has_infinity ? infinity_bits(f, false) - 1 : canonical_nan(f) - 1;
  return bits | sign_bit(f, negative);
}

std::uint64_t infinity_bits(Format f, bool negative) {
  std::uint64_t top = (one_at(f.exponent_bits) - 1) << f.mantissa_bits;
  return (f.has_infinity ? top : canonical_nan(f)) | sign_bit(f, negative);
}

std::uint64_t pack(const Unpacked& value, Format f, Rounding rounding) {
  std::uint64_t sign = sign_bit(f, value.sign);
  if (value.significand == 0) return sign;
  int shift = std::countl_zero(value.significand);
  std::uint64_t significand = value.significand << shift;
  int exponent = value.exponent - shift + 63;  // of the leading one
  int lowest = 1 - bias_of(f);
  bool normal = exponent >= lowest;
  unsigned drop = 63 - f.mantissa_bits + static_cast<unsigned>(normal ? 0 : lowest - exponent);
  Cut part = cut(significand, drop);
  bool up = rounds_up(rounding, value.sign, (part.kept & 1) != 0, part.half, part.rest || value.sticky);
  std::uint64_t kept = part.kept + up;
  // A carry out of the mantissa, also out of a subnormal one, lands in the exponent field by itself.
  std::uint64_t bits = kept;
  if (normal) {
    if (exponent > bias_of(f) + 1) kept = one_at(f.mantissa_bits + 1), exponent = bias_of(f) + 1;
    bits = (static_cast<std::uint64_t>(exponent + bias_of(f)) << f.mantissa_bits) + kept -
           one_at(f.mantissa_bits);
  }
  if (bits > largest_finite(f, false)) {
    bool infinite = overflows_to_infinity(rounding, value.sign);
    return infinite ? infinity_bits(f, value.sign) : largest_finite(f, value.sign);
  }
  return sign | bits;
}

std::uint64_t round_double(double value, Format f, Rounding rounding) {
  if (std::isnan(value)) return canonical_nan(f);
  if (std::isinf(value)) return infinity_bits(f, value < 0);
  return pack(unpack_double(value), f, rounding);
}

std::uint64_t round_sum(double a, double b, Format f, Rounding rounding) {
  double sum = a + b;
  if (!std::isfinite(sum)) return round_double(sum, f, rounding);
  if (sum == 0) {
    // Exact zero: x + -x is +0, and -0 when rounding down; zeros of one sign keep it.
    bool same = std::signbit(a) == std::signbit(b);
    return sign_bit(f, same ? std::signbit(a) : rounding == Rounding::rm);
  }
  // Two-sum: sum + error is a + b exactly. A sum made odd where it is inexact ("round to odd") cannot be
  // mistaken for a representable value or a tie of a format with at least two bits fewer.
  double back = sum - a;
  double error = (a - (sum - back)) + (b - back);
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if (error != 0 && (bits & 1) == 0) bits = (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
  return round_double(std::bit_cast<double>(bits), f, rounding);
}

std::uint64_t round_integer(bool negative, std::uint64_t magnitude, Format f, Rounding rounding) {
  return pack({negative && magnitude != 0, magnitude, 0, false}, f, rounding);
}

double to_double(std::uint64_t bits, Format f) {
  bool sign = (bits & sign_bit(f, true)) != 0;
  std::uint64_t mantissa = bits & (one_at(f.mantissa_bits) - 1);
  unsigned top = static_cast<unsigned>(one_at(f.exponent_bits)) - 1;
  unsigned exponent = static_cast<unsigned>(bits >> f.mantissa_bits) & top;
  double value;
  if (!f.has_infinity && (bits & canonical_nan(f)) == canonical_nan(f)) {
    value = std::nan("");
  } else if (f.has_infinity && exponent == top) {
    value = mantissa != 0 ? std::nan("") : HUGE_VAL;
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - bias_of(f) - static_cast<int>(f.mantissa_bits));
  } else {
    value = std::ldexp(static_cast<double>(mantissa | one_at(f.mantissa_bits)),
                       static_cast<int>(exponent) - bias_of(f) - static_cast<int>(f.mantissa_bits));
  }
  return sign ? -value : value;
}

}  // namespace raddle::numerics
