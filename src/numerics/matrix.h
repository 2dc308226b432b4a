// Elements of matrices and how their products are summed (docs/adr/0049): one step after the other in the
// order of k, each rounded once; integers exactly. The rules of RADDLE_MMA=reference, for the interpreter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "numerics/arithmetic.h"

namespace raddle::numerics {

/// An element's exact value. Of tf32, which takes a register, the low 13 bits do not count.
inline float matrix_float(std::uint32_t bits, Format format) {
  const bool is_tf32 =
      format.exponent_bits == kTf32.exponent_bits && format.mantissa_bits == kTf32.mantissa_bits;
  return static_cast<float>(to_double(is_tf32 ? bits >> 13 : bits, format));
}

/// An integer of `width` bits, the lowest ones of `bits`.
inline std::int32_t matrix_integer(std::uint32_t bits, unsigned width, bool is_signed) {
  const std::uint32_t top = bits << (32 - width);
  return is_signed ? static_cast<std::int32_t>(top) >> (32 - width)
                   : static_cast<std::int32_t>(top >> (32 - width));
}

/// The sum with one more product, rounded once.
inline float matrix_step(float sum, float a, float b) { return fma(a, b, sum); }
inline double matrix_step(double sum, double a, double b, Rounding rounding) {
  return fma(a, b, sum, rounding);
}

/// An exact sum as .s32: the nearest one if `clamps`, else modulo 2^32.
inline std::int32_t matrix_total(std::int64_t sum, bool clamps) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (clamps) sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
  return static_cast<std::int32_t>(sum);
}

}  // namespace raddle::numerics
