// Arithmetic in the narrow formats by exact double arithmetic and one rounding; f64 by the host in the right
// mode.
#include "numerics/arithmetic.h"

#include <cfenv>
#include <cmath>
#include <cstdlib>

#pragma STDC FENV_ACCESS ON

namespace raddle::numerics {
namespace {

int host_mode(Rounding r) {
  switch (r) {
    case Rounding::rz:
      return FE_TOWARDZERO;
    case Rounding::rm:
      return FE_DOWNWARD;
    case Rounding::rp:
      return FE_UPWARD;
    default:
      return FE_TONEAREST;
  }
}

/// Sets the host's rounding mode for one f64 operation.
class HostRounding {
 public:
  explicit HostRounding(Rounding r) : before_(std::fegetround()) { std::fesetround(host_mode(r)); }
  ~HostRounding() { std::fesetround(before_); }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;

 private:
  int before_;
};

// volatile keeps each operation between the two mode changes.
enum class Operation { add, mul, fma, div, sqrt };
[[gnu::noinline]] double host(Operation op, double a, double b, double c, Rounding r) {
  HostRounding mode(r);
  volatile double x = a, y = b, z = c, result = 0;
  switch (op) {
    case Operation::add:
      result = x + y;
      break;
    case Operation::mul:
      result = x * y;
      break;
    case Operation::fma:
      result = std::fma(x, y, z);
      break;
    case Operation::div:
      result = x / y;
      break;
    case Operation::sqrt:
      result = std::sqrt(x);
      break;
  }
  return result;
}

/// quotient or root q with exact = q + (something of remainder's sign): made odd where inexact; see
/// round_sum.
double to_odd(double q, double remainder_sign) {
  auto bits = std::bit_cast<std::uint64_t>(q);
  if (remainder_sign != 0 && (bits & 1) == 0) bits = (remainder_sign > 0) == (q > 0) ? bits + 1 : bits - 1;
  return std::bit_cast<double>(bits);
}

template <class T>
T round_to(double value, Rounding r) {
  return narrow<T>(value, r);
}

/// The host itself rounds f32 to nearest; only NaNs must be made canonical.
template <class T>
T quiet(T x) {
  return is_nan(x) ? canonical<T>() : x;
}

}  // namespace

template <class T>
T add(T a, T b, Rounding r) {
  if constexpr (sizeof(T) == 8) return host(Operation::add, a, b, 0, r);
  if constexpr (sizeof(T) == 4) {
    if (r == Rounding::rn) return quiet<T>(a + b);
  }
  return from_encoding<T>(round_sum(widen(a), widen(b), FormatOf<T>::value, r));
}

template <class T>
T sub(T a, T b, Rounding r) {
  if (is_nan(b)) return canonical<T>();
  return add(a, with_sign(b, !sign_of(b)), r);
}

template <class T>
T mul(T a, T b, Rounding r) {
  if constexpr (sizeof(T) == 8) return host(Operation::mul, a, b, 0, r);
  if constexpr (sizeof(T) == 4) {
    if (r == Rounding::rn) return quiet<T>(a * b);
  }
  return round_to<T>(widen(a) * widen(b), r);  // at most 48 bits: exact in double
}

template <class T>
T fma(T a, T b, T c, Rounding r) {
  if constexpr (sizeof(T) == 8) return host(Operation::fma, a, b, c, r);
  if constexpr (sizeof(T) == 4) {
    if (r == Rounding::rn) return quiet<T>(std::fma(a, b, c));
  }
  return from_encoding<T>(round_sum(widen(a) * widen(b), widen(c), FormatOf<T>::value, r));
}

template <class T>
T div(T a, T b, Rounding r) {
  if constexpr (sizeof(T) == 8) return host(Operation::div, a, b, 0, r);
  if constexpr (sizeof(T) == 4) {
    if (r == Rounding::rn) return quiet<T>(a / b);
  }
  double x = widen(a), y = widen(b), q = x / y;
  if (!std::isfinite(q) || q == 0 || !std::isfinite(y)) return round_to<T>(q, r);
  double remainder = std::fma(-q, y, x);  // exact; exact quotient is q + remainder / y
  return round_to<T>(to_odd(q, std::signbit(y) ? -remainder : remainder), r);
}

template <class T>
T sqrt(T a, Rounding r) {
  if constexpr (sizeof(T) == 8) return host(Operation::sqrt, a, 0, 0, r);
  if constexpr (sizeof(T) == 4) {
    if (r == Rounding::rn) return quiet<T>(std::sqrt(a));
  }
  double x = widen(a), root = std::sqrt(x);
  if (!std::isfinite(root) || root == 0) return round_to<T>(root, r);
  return round_to<T>(to_odd(root, std::fma(-root, root, x)), r);
}

template <class T>
T rcp(T a, Rounding r) {
  return div(narrow<T>(1.0), a, r);
}

float flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

template <class T>
T saturate(T x) {
  double wide = widen(x);
  if (!(wide > 0)) return T{};  // negative, zero of either sign, NaN
  return wide > 1 ? narrow<T>(1.0) : x;
}

template <class T>
T relu(T x) {
  if (is_nan(x)) return canonical<T>();
  return sign_of(x) ? T{} : x;
}

namespace {
/// @param larger  picks the maximum, else the minimum; zeros of unlike sign are ordered
template <class T>
T extreme(T a, T b, MinMax mode, bool larger) {
  bool sign = sign_of(a) != sign_of(b);
  if (mode.nan && (is_nan(a) || is_nan(b))) return canonical<T>();
  if (is_nan(a) && is_nan(b)) return canonical<T>();
  if (mode.xorsign) a = with_sign(a, false), b = with_sign(b, false);
  T result = a;
  if (is_nan(a)) {
    result = b;
  } else if (!is_nan(b)) {
    double x = widen(a), y = widen(b);
    bool a_less = x < y || (x == y && std::signbit(x) && !std::signbit(y));
    result = a_less == larger ? b : a;
  }
  return mode.xorsign ? with_sign(result, sign) : result;
}
}  // namespace

template <class T>
T min(T a, T b, MinMax mode) {
  return extreme(a, b, mode, false);
}
template <class T>
T max(T a, T b, MinMax mode) {
  return extreme(a, b, mode, true);
}

#define RADDLE_INSTANTIATE(T)        \
  template T add(T, T, Rounding);    \
  template T sub(T, T, Rounding);    \
  template T mul(T, T, Rounding);    \
  template T fma(T, T, T, Rounding); \
  template T div(T, T, Rounding);    \
  template T sqrt(T, Rounding);      \
  template T rcp(T, Rounding);       \
  template T saturate(T);            \
  template T relu(T);                \
  template T min(T, T, MinMax);      \
  template T max(T, T, MinMax);
RADDLE_INSTANTIATE(f16)
RADDLE_INSTANTIATE(bf16)
RADDLE_INSTANTIATE(float)
RADDLE_INSTANTIATE(double)
#undef RADDLE_INSTANTIATE

}  // namespace raddle::numerics
