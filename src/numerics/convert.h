// Conversions between floats and integers with PTX's rounding, clamping and NaN rules (PTX ISA "cvt").
#pragma once

#include <cstdint>

#include "numerics/half.h"

namespace raddle::numerics {

/// Nearest integral value in the given direction (rn: ties to even), sign of zero kept; NaN stays.
double round_to_integral(double x, Rounding rounding);

struct IntegerShape {
  unsigned bits;  ///< 8, 16, 32, 64
  bool is_signed;
};

/// Float to integer, clamped to the destination's range.
/// @param source_bits  width of the source format: NaN gives 0 where the source is not f64 and the
///                     destination is narrower than 64 bits, else 1 << (bits - 1)
/// @returns the result, sign- or zero-extended to 64 bits
/// @source PTX ISA 9.0 "cvt"
std::uint64_t to_integer(double x, unsigned source_bits, IntegerShape to, Rounding rounding);

/// Integer to integer with clamping (`cvt.sat`): the value at its own sign into the destination's range.
/// @param value  sign- or zero-extended to 64 bits per `from`
std::uint64_t clamp_integer(std::uint64_t value, IntegerShape from, IntegerShape to);

}  // namespace raddle::numerics
