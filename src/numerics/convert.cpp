// Float and integer conversions; see convert.h.
#include "numerics/convert.h"

#include <cmath>

namespace raddle::numerics {
namespace {

std::uint64_t largest(IntegerShape s) {
  return (~std::uint64_t{0} >> (64 - s.bits)) >> (s.is_signed ? 1 : 0);
}
std::uint64_t smallest(IntegerShape s) { return s.is_signed ? ~std::uint64_t{0} << (s.bits - 1) : 0; }

}  // namespace

double round_to_integral(double x, Rounding rounding) {
  switch (rounding) {
    case Rounding::rz:
      return std::trunc(x);
    case Rounding::rm:
      return std::floor(x);
    case Rounding::rp:
      return std::ceil(x);
    case Rounding::rna:
      return std::round(x);
    case Rounding::rn:
      break;
  }
  double down = std::floor(x), difference = x - down;  // exact: both have x's ulp or a larger one
  bool up = difference > 0.5 || (difference == 0.5 && std::fmod(down, 2.0) != 0);
  return std::copysign(up ? down + 1 : down, x);
}

std::uint64_t to_integer(double x, unsigned source_bits, IntegerShape to, Rounding rounding) {
  if (std::isnan(x)) {
    if (source_bits < 64 && to.bits < 64) return 0;
    return to.is_signed ? smallest(to) : std::uint64_t{1} << (to.bits - 1);
  }
  double whole = round_to_integral(x, rounding);
  double limit = std::ldexp(1.0, static_cast<int>(to.bits) - (to.is_signed ? 1 : 0));
  if (whole >= limit) return largest(to);
  if (to.is_signed) {
    if (whole < -limit) return smallest(to);
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(whole));
  }
  if (whole <= 0) return 0;
  return static_cast<std::uint64_t>(whole);
}

std::uint64_t clamp_integer(std::uint64_t value, IntegerShape from, IntegerShape to) {
  bool negative = from.is_signed && (value >> 63) != 0;
  if (negative) {
    if (!to.is_signed) return 0;
    auto low = static_cast<std::int64_t>(smallest(to));
    return static_cast<std::int64_t>(value) < low ? smallest(to) : value;
  }
  return value > largest(to) ? largest(to) : value;
}

}  // namespace raddle::numerics
