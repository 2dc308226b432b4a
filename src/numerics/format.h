// Binary floating-point formats and the one rounding routine that every conversion here goes through.
// A finite value is (-1)^sign * significand * 2^exponent, plus a sticky bit for what lies below; `pack`
// rounds it once, in integer arithmetic, so that no result depends on the host's rounding mode. Start reading
// at pack().
#pragma once

#include <cstdint>

namespace raddle::numerics {

/// PTX rounding modifiers; rna is "nearest, ties away from zero".
enum class Rounding : std::uint8_t { rn, rz, rm, rp, rna };

/// An IEEE-style format: sign, exponent with bias 2^(e-1)-1, mantissa without the leading one.
struct Format {
  unsigned exponent_bits, mantissa_bits;
  bool has_infinity = true;  ///< e4m3 has none: its largest exponent holds numbers, all ones is NaN
};
inline constexpr Format kF16{5, 10}, kBf16{8, 7}, kTf32{8, 10}, kF32{8, 23}, kF64{11, 52};
inline constexpr Format kE4m3{4, 3, false}, kE5m2{5, 2};

struct Unpacked {
  bool sign = false;
  std::uint64_t significand = 0;
  int exponent = 0;
  bool sticky = false;  ///< the true value is a little larger in magnitude than significand * 2^exponent
};

/// Rounds to the format; overflow gives infinity or the largest finite value as the rounding mode says.
/// @returns the encoding, right-aligned (tf32: without its 13 low zero bits)
std::uint64_t pack(const Unpacked& value, Format format, Rounding rounding);

/// Rounds a double: NaN becomes the format's canonical NaN (all ones below the sign, positive).
std::uint64_t round_double(double value, Format format, Rounding rounding);
/// Rounds sum's exact value a + b, both taken as exact; only for formats narrower than f64.
std::uint64_t round_sum(double a, double b, Format format, Rounding rounding);
/// Rounds an integer of magnitude `magnitude`.
std::uint64_t round_integer(bool negative, std::uint64_t magnitude, Format format, Rounding rounding);

/// Exact value of an encoding; all formats here fit a double.
double to_double(std::uint64_t bits, Format format);

std::uint64_t canonical_nan(Format format);
std::uint64_t infinity_bits(Format format, bool negative);
std::uint64_t largest_finite(Format format, bool negative);

}  // namespace raddle::numerics
