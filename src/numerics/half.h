// Storage types of the 16-bit formats, and conversions between the narrow formats and float.
#pragma once

#include <bit>
#include <cstdint>

#include "numerics/format.h"

namespace raddle::numerics {

struct f16 {
  std::uint16_t bits = 0;
};
struct bf16 {
  std::uint16_t bits = 0;
};

template <class T>
struct FormatOf;
template <>
struct FormatOf<f16> {
  static constexpr Format value = kF16;
};
template <>
struct FormatOf<bf16> {
  static constexpr Format value = kBf16;
};
template <>
struct FormatOf<float> {
  static constexpr Format value = kF32;
};
template <>
struct FormatOf<double> {
  static constexpr Format value = kF64;
};

/// Exact: every format fits a double.
inline double widen(f16 x) { return to_double(x.bits, kF16); }
inline double widen(bf16 x) { return to_double(x.bits, kBf16); }
inline double widen(float x) { return static_cast<double>(x); }
inline double widen(double x) { return x; }

template <class T>
T from_encoding(std::uint64_t bits) {
  if constexpr (sizeof(T) == 2) return T{static_cast<std::uint16_t>(bits)};
  if constexpr (sizeof(T) == 4) return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
  if constexpr (sizeof(T) == 8) return std::bit_cast<T>(bits);
}

/// Rounds a double to T once.
template <class T>
T narrow(double value, Rounding rounding = Rounding::rn) {
  return from_encoding<T>(round_double(value, FormatOf<T>::value, rounding));
}
template <class T>
T from_integer(bool negative, std::uint64_t magnitude, Rounding rounding) {
  return from_encoding<T>(round_integer(negative, magnitude, FormatOf<T>::value, rounding));
}

/// f32 -> tf32, as a 32-bit register holds it (low 13 bits zero); every NaN is the canonical 0x7fffffff.
inline std::uint32_t to_tf32(float x, Rounding rounding) {
  if (x != x) return 0x7fffffff;
  return static_cast<std::uint32_t>(round_double(static_cast<double>(x), kTf32, rounding) << 13);
}
/// f32 or f16 -> e4m3 / e5m2 as cvt.satfinite does: beyond the range the largest finite value, NaN stays NaN.
std::uint8_t to_e4m3(double x, bool relu = false);
std::uint8_t to_e5m2(double x, bool relu = false);
inline double from_e4m3(std::uint8_t bits) { return to_double(bits, kE4m3); }
inline double from_e5m2(std::uint8_t bits) { return to_double(bits, kE5m2); }

/// The NaN that copies of tensors write out of bounds, in 16 bits, wider types have it several times; and of
/// which, whatever its sign, fma.oob makes a zero. The manual does not tell its bits: an H200's.
inline constexpr std::uint16_t kOutOfBoundsNan = 0x7ff7;

template <class T>
bool is_nan(T x) {
  double wide = widen(x);
  return wide != wide;
}
template <class T>
bool sign_of(T x) {
  if constexpr (sizeof(T) == 2) return (x.bits >> 15) != 0;
  if constexpr (sizeof(T) == 4) return (std::bit_cast<std::uint32_t>(x) >> 31) != 0;
  if constexpr (sizeof(T) == 8) return (std::bit_cast<std::uint64_t>(x) >> 63) != 0;
}
template <class T>
T canonical() {
  return from_encoding<T>(canonical_nan(FormatOf<T>::value));
}
template <class T>
T with_sign(T x, bool negative) {
  if constexpr (sizeof(T) == 2) {
    return T{static_cast<std::uint16_t>((x.bits & 0x7fff) | (negative ? 0x8000 : 0))};
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>((std::bit_cast<std::uint32_t>(x) & 0x7fffffffu) | (negative ? 0x80000000u : 0u));
  } else {
    constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
    return std::bit_cast<T>((std::bit_cast<std::uint64_t>(x) & ~kSign) | (negative ? kSign : 0));
  }
}

}  // namespace raddle::numerics
