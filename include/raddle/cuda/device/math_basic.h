// Device math: the functions that an instruction or a few bit operations compute, for float and double:
// rounding, parts of numbers, remainders, fma, square roots. Names of the form __nv_* are libdevice's; the C
// names in math.h call them. Source: CUDA Math API; IEEE 754.
#pragma once

#include "raddle/cuda/device/conversions.h"
#include "raddle/cuda/device/rounded.h"

#define RADDLE_MATH static __device__ inline

RADDLE_MATH float raddle_infinity_f() { return __builtin_huge_valf(); }
RADDLE_MATH double raddle_infinity() { return __builtin_huge_val(); }
RADDLE_MATH double raddle_nan() { return __builtin_nan(""); }

RADDLE_MATH float __nv_fabsf(float x) { return __builtin_fabsf(x); }
RADDLE_MATH double __nv_fabs(double x) { return __builtin_fabs(x); }
RADDLE_MATH float __nv_fmaf(float x, float y, float z) { return __nvvm_fma_rn_f(x, y, z); }
RADDLE_MATH double __nv_fma(double x, double y, double z) { return __nvvm_fma_rn_d(x, y, z); }
RADDLE_MATH float __nv_sqrtf(float x) { return __builtin_sqrtf(x); }
RADDLE_MATH double __nv_sqrt(double x) { return __builtin_sqrt(x); }
RADDLE_MATH float __nv_rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
RADDLE_MATH double __nv_rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
RADDLE_MATH float __nv_copysignf(float x, float y) { return __builtin_copysignf(x, y); }
RADDLE_MATH double __nv_copysign(double x, double y) { return __builtin_copysign(x, y); }
RADDLE_MATH float __nv_fminf(float x, float y) { return __nvvm_fmin_f(x, y); }
RADDLE_MATH double __nv_fmin(double x, double y) { return __nvvm_fmin_d(x, y); }
RADDLE_MATH float __nv_fmaxf(float x, float y) { return __nvvm_fmax_f(x, y); }
RADDLE_MATH double __nv_fmax(double x, double y) { return __nvvm_fmax_d(x, y); }
RADDLE_MATH float __nv_floorf(float x) { return __builtin_floorf(x); }
RADDLE_MATH double __nv_floor(double x) { return __builtin_floor(x); }
RADDLE_MATH float __nv_ceilf(float x) { return __builtin_ceilf(x); }
RADDLE_MATH double __nv_ceil(double x) { return __builtin_ceil(x); }
RADDLE_MATH float __nv_truncf(float x) { return __builtin_truncf(x); }
RADDLE_MATH double __nv_trunc(double x) { return __builtin_trunc(x); }
RADDLE_MATH float __nv_rintf(float x) { return __builtin_rintf(x); }
RADDLE_MATH double __nv_rint(double x) { return __builtin_rint(x); }
// Halves away from zero.
RADDLE_MATH float __nv_roundf(float x) {
  const float whole = __builtin_truncf(x);
  return __builtin_copysignf(
      __builtin_fabsf(x - whole) >= 0.5f ? whole + __builtin_copysignf(1.0f, x) : whole, x);
}
RADDLE_MATH double __nv_round(double x) {
  const double whole = __builtin_trunc(x);
  return __builtin_copysign(__builtin_fabs(x - whole) >= 0.5 ? whole + __builtin_copysign(1.0, x) : whole, x);
}
RADDLE_MATH float __nv_fdimf(float x, float y) { return x > y || x != x || y != y ? x - y : 0.0f; }
RADDLE_MATH double __nv_fdim(double x, double y) { return x > y || x != x || y != y ? x - y : 0.0; }

// Classes and signs.
RADDLE_MATH int __nv_isinfd(double x) { return __builtin_fabs(x) == raddle_infinity(); }
RADDLE_MATH int __nv_isnand(double x) { return x != x; }
RADDLE_MATH int __nv_isfinited(double x) { return __builtin_fabs(x) < raddle_infinity(); }
RADDLE_MATH int __nv_signbitd(double x) { return __double_as_longlong(x) < 0; }

// 2^n for n from -1022 to 1023.
RADDLE_MATH double raddle_power_of_two(int n) { return __longlong_as_double((long long)(n + 1023) << 52); }

/// x 2^n, rounded once. Steps of 2^1023 or 2^-969: a result below the normal numbers is rounded by the last
/// step alone.
RADDLE_MATH double __nv_ldexp(double x, int n) {
  for (int step = 0; step < 2 && n > 1023; ++step) {
    x *= 0x1p1023;
    n -= 1023;
  }
  for (int step = 0; step < 2 && n < -1022; ++step) {
    x *= 0x1p-969;
    n += 969;
  }
  return x * raddle_power_of_two(n > 1023 ? 1023 : n < -1022 ? -1022 : n);
}
RADDLE_MATH float __nv_ldexpf(float x, int n) {
  return (float)((double)x * raddle_power_of_two(n > 1000 ? 1000 : n < -1000 ? -1000 : n));
}

/// x = result 2^exponent with 0.5 <= |result| < 1.
RADDLE_MATH double __nv_frexp(double x, int* exponent) {
  *exponent = 0;
  if (x == 0 || !__nv_isfinited(x)) return x;
  const bool small = __builtin_fabs(x) < 0x1p-1022;
  const long long bits = __double_as_longlong(small ? x * 0x1p54 : x);
  *exponent = (int)((bits >> 52) & 0x7ff) - (small ? 1076 : 1022);
  return __longlong_as_double((bits & 0x800fffffffffffffll) | 0x3fe0000000000000ll);
}
RADDLE_MATH float __nv_frexpf(float x, int* exponent) { return (float)__nv_frexp(x, exponent); }
RADDLE_MATH int __nv_ilogb(double x) {
  if (x == 0 || x != x) return -0x7fffffff - 1;
  if (!__nv_isfinited(x)) return 0x7fffffff;
  int exponent;
  __nv_frexp(x, &exponent);
  return exponent - 1;
}
RADDLE_MATH int __nv_ilogbf(float x) { return __nv_ilogb(x); }
RADDLE_MATH double __nv_logb(double x) {
  if (x == 0) return -raddle_infinity();
  return __nv_isfinited(x) ? (double)__nv_ilogb(x) : x * x;
}
RADDLE_MATH float __nv_logbf(float x) { return (float)__nv_logb(x); }
RADDLE_MATH double __nv_modf(double x, double* whole) {
  *whole = __builtin_trunc(x);
  return __builtin_copysign(__nv_isinfd(x) ? 0.0 : x - *whole, x);
}
RADDLE_MATH float __nv_modff(float x, float* whole) {
  *whole = __builtin_truncf(x);
  return __builtin_copysignf(__nv_isinfd(x) ? 0.0f : x - *whole, x);
}

// The number beside x towards y.
#define RADDLE_NEXT_AFTER(name, type, bits, as_bits, as_float) \
  RADDLE_MATH type name(type x, type y) {                      \
    if (x != x || y != y) return x + y;                        \
    if (x == y) return y;                                      \
    if (x == 0) return __builtin_copysign(as_float(1), y);     \
    const bits step = (x < y) == (x > 0) ? 1 : -1;             \
    return as_float(as_bits(x) + step);                        \
  }
RADDLE_NEXT_AFTER(__nv_nextafterf, float, int, __float_as_int, __int_as_float)
RADDLE_NEXT_AFTER(__nv_nextafter, double, long long, __double_as_longlong, __longlong_as_double)
#undef RADDLE_NEXT_AFTER

/// |x| modulo |y| for finite x and y not 0, exactly, a bit of the quotient a step; `quotient` is its low 31
/// bits.
RADDLE_MATH double raddle_modulo(double x, double y, unsigned int* quotient) {
  int of_x, of_y;
  unsigned long long rest = (unsigned long long)(__nv_frexp(x, &of_x) * 0x1p53);
  const unsigned long long divisor = (unsigned long long)(__nv_frexp(y, &of_y) * 0x1p53);
  unsigned int low = 0;
  if (of_x < of_y) {
    *quotient = 0;
    return x;
  }
  for (int n = of_x - of_y; n >= 0; --n) {
    low <<= 1;
    if (rest >= divisor) {
      rest -= divisor;
      low |= 1;
    }
    if (n > 0) rest <<= 1;
  }
  *quotient = low & 0x7fffffff;
  return __nv_ldexp((double)rest, of_y - 53);
}
RADDLE_MATH double __nv_fmod(double x, double y) {
  if (!__nv_isfinited(x) || y == 0 || x != x || y != y) return raddle_nan();
  if (__nv_isinfd(y) || x == 0) return x;
  unsigned int quotient;
  return __builtin_copysign(raddle_modulo(__builtin_fabs(x), __builtin_fabs(y), &quotient), x);
}
RADDLE_MATH float __nv_fmodf(float x, float y) { return (float)__nv_fmod(x, y); }
/// x - n y for the whole n nearest to x / y, the even one of two; `quotient`: n's sign and low bits.
RADDLE_MATH double __nv_remquo(double x, double y, int* quotient) {
  *quotient = 0;
  if (!__nv_isfinited(x) || y == 0 || x != x || y != y) return raddle_nan();
  if (__nv_isinfd(y) || x == 0) return x;
  unsigned int low;
  const double size = __builtin_fabs(y);
  double rest = raddle_modulo(__builtin_fabs(x), size, &low);
  const double other = size - rest;  // exact where it decides: then rest is at least half of size
  if (rest > other || (rest == other && (low & 1) != 0)) {
    rest = rest - size;
    ++low;
  }
  low &= 0x7fffffff;
  *quotient = __nv_signbitd(x) != __nv_signbitd(y) ? -(int)low : (int)low;
  return __nv_signbitd(x) ? -rest : rest;
}
RADDLE_MATH float __nv_remquof(float x, float y, int* quotient) { return (float)__nv_remquo(x, y, quotient); }
RADDLE_MATH double __nv_remainder(double x, double y) {
  int quotient;
  return __nv_remquo(x, y, &quotient);
}
RADDLE_MATH float __nv_remainderf(float x, float y) { return (float)__nv_remainder(x, y); }
