// Device math: exponentials, logarithms, powers, roots and hyperbolic functions. The float functions compute
// in double with shorter polynomials, so their results are rounded nearly always as the exact ones would be.
// Source: CUDA Math API; IEEE 754 and C for special values. Measured in tests/cuda_headers.
#pragma once

#include "raddle/cuda/device/math_basic.h"
#include "raddle/cuda/device/math_coefficients.h"

template <int count>
RADDLE_DEVICE double raddle_polynomial(const double (&coefficients)[count], double x) {
  double sum = coefficients[count - 1];
#pragma unroll
  for (int i = count - 2; i >= 0; --i) sum = __nv_fma(sum, x, coefficients[i]);
  return sum;
}
// As device code sees them, the coefficients are literals: the array itself is the host's.
#define RADDLE_POLYNOMIAL(name, x)                                                                 \
  [](double raddle_x) {                                                                            \
    constexpr int count = sizeof(raddle_##name##_coefficients) / sizeof(double);                   \
    double values[count];                                                                          \
    _Pragma("unroll") for (int i = 0; i < count; ++i) values[i] = raddle_##name##_coefficients[i]; \
    return raddle_polynomial(values, raddle_x);                                                    \
  }(x)

/// An unevaluated sum: `low` is at most half a unit in the last place of `high`.
struct raddle_double2 {
  double high, low;
};
RADDLE_MATH raddle_double2 raddle_two_sum(double x, double y) {
  const double sum = __dadd_rn(x, y), other = __dadd_rn(sum, -x);
  return {sum, __dadd_rn(__dadd_rn(x, -__dadd_rn(sum, -other)), __dadd_rn(y, -other))};
}
RADDLE_MATH raddle_double2 raddle_two_product(double x, double y) {
  const double product = __dmul_rn(x, y);
  return {product, __nv_fma(x, y, -product)};
}

static constexpr double raddle_ln2_high = 0x1.62e42fefa39efp-1, raddle_ln2_low = 0x1.abc9e3b39803fp-56;
static constexpr double raddle_log2_e = 0x1.71547652b82fep+0;

/// e^(r + low) 2^n for |r| <= ln(2) / 2, rounded once more where the result is below the normal numbers.
RADDLE_MATH double raddle_exp_reduced(double r, double low, double n) {
  const raddle_double2 sum = raddle_two_sum(r, low);
  const double value =
      1.0 + __nv_fma(sum.high * sum.high, RADDLE_POLYNOMIAL(exp, sum.high), sum.high + sum.low);
  return __nv_ldexp(value, (int)n);
}
/// e^(x + low) for |x| < 800, low tiny.
RADDLE_MATH double raddle_exp_sum(double x, double low) {
  const double n = __builtin_rint(x * raddle_log2_e);
  const double r = __nv_fma(-n, raddle_ln2_high, x);  // exact
  return raddle_exp_reduced(r, __nv_fma(-n, raddle_ln2_low, low), n);
}
RADDLE_MATH double __nv_exp(double x) {
  if (!(x < 710.0)) return x != x ? x : raddle_infinity();
  return x < -746.0 ? 0.0 : raddle_exp_sum(x, 0.0);
}
/// 2^(x) for |x| at most 1100, and 10^x by way of it.
RADDLE_MATH double __nv_exp2(double x) {
  if (!(x < 1024.0)) return x != x ? x : raddle_infinity();
  if (x < -1076.0) return 0.0;
  const double n = __builtin_rint(x);
  const raddle_double2 r = raddle_two_product(x - n, raddle_ln2_high);
  return raddle_exp_reduced(r.high, __nv_fma(x - n, raddle_ln2_low, r.low), n);
}
RADDLE_MATH double __nv_exp10(double x) {
  if (!(x < 309.0)) return x != x ? x : raddle_infinity();
  if (x < -325.0) return 0.0;
  const double n = __builtin_rint(x * 0x1.a934f0979a371p+1);
  double t = __nv_fma(-n, 0x1.34413509f79ffp-2, x);  // exact; x - n log10(2), whose tail is next
  const double tail = n * 0x1.9dc1da994fd21p-59;     // the constant's low part is -0x1.9dc1...p-59
  const raddle_double2 r = raddle_two_product(t, 0x1.26bb1bbb55516p+1);
  return raddle_exp_reduced(r.high, r.low + t * -0x1.f48ad494ea3e9p-53 + tail * 0x1.26bb1bbb55516p+1, n);
}
RADDLE_MATH double __nv_expm1(double x) {
  if (!(x < 710.0)) return x != x ? x : raddle_infinity();
  if (x < -40.0) return -1.0;
  if (__builtin_fabs(x) < 0x1p-54) return x;
  const double n = __builtin_rint(x * raddle_log2_e);
  const raddle_double2 r = raddle_two_sum(__nv_fma(-n, raddle_ln2_high, x), -n * raddle_ln2_low);
  const double less_one = r.high + __nv_fma(r.high * r.high, RADDLE_POLYNOMIAL(exp, r.high), r.low);
  if (n == 0) return less_one;
  if (n > 1000) return __nv_ldexp(1.0 + less_one, (int)n);
  const double scale = raddle_power_of_two((int)n);
  return __nv_fma(less_one, scale, scale - 1.0);
}

// e^x in double, to float's accuracy.
RADDLE_MATH double raddle_exp_short(double x, double to_binary, double from_binary_high,
                                    double from_binary_low) {
  const double n = __builtin_rint(x * to_binary);
  double r = __nv_fma(-n, from_binary_high, x);
  r = __nv_fma(-n, from_binary_low, r);
  r *= to_binary * raddle_ln2_high;
  return (1.0 + __nv_fma(r * r, RADDLE_POLYNOMIAL(exp_short, r), r)) * raddle_power_of_two((int)n);
}
RADDLE_MATH double raddle_clamped(double x, double limit) {  // NaN stays
  return x > limit ? limit : x < -limit ? -limit : x;
}
RADDLE_MATH float __nv_expf(float x) {
  const double n = __builtin_rint(raddle_clamped(x, 150.0) * raddle_log2_e);
  const double r = __nv_fma(-n, raddle_ln2_low, __nv_fma(-n, raddle_ln2_high, raddle_clamped(x, 150.0)));
  return (float)((1.0 + __nv_fma(r * r, RADDLE_POLYNOMIAL(exp_short, r), r)) * raddle_power_of_two((int)n));
}
RADDLE_MATH float __nv_exp2f(float x) {
  const double limited = raddle_clamped(x, 200.0), n = __builtin_rint(limited),
               r = (limited - n) * raddle_ln2_high;
  return (float)((1.0 + __nv_fma(r * r, RADDLE_POLYNOMIAL(exp_short, r), r)) * raddle_power_of_two((int)n));
}
RADDLE_MATH float __nv_exp10f(float x) {
  return (float)raddle_exp_short(raddle_clamped(x, 60.0), 0x1.a934f0979a371p+1, 0x1.34413509f79ffp-2,
                                 -0x1.9dc1da994fd21p-59);
}
RADDLE_MATH float __nv_expm1f(float x) { return (float)__nv_expm1(x); }

/// x = (1 + f) 2^exponent with 1 + f from sqrt(1/2) to sqrt(2), for positive finite x.
RADDLE_MATH double raddle_split(double x, double* exponent) {
  int shift = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    shift = 54;
  }
  const long long bits = __double_as_longlong(x) + (0x3ff0000000000000ll - 0x3fe6a09e667f3bcdll);
  *exponent = (double)((int)(bits >> 52) - 1023 - shift);
  return __longlong_as_double((bits & 0xfffffffffffffll) + 0x3fe6a09e667f3bcdll) - 1.0;
}
/// log(x) for positive finite x to about 100 bits behind the point of log(x)'s leading bit, as a sum.
RADDLE_MATH raddle_double2 raddle_log_sum(double x) {
  double exponent;
  const double f = raddle_split(x, &exponent);
  const raddle_double2 below = raddle_two_sum(2.0, f);  // log(1 + f) = 2 atanh(s), s = f / (2 + f)
  const double s = f / below.high;
  const double s_low = (__nv_fma(-s, below.high, f) - s * below.low) / below.high;
  raddle_double2 z = raddle_two_product(s, s);
  z.low = __nv_fma(2.0 * s, s_low, z.low);
  // 2 s + s z (2/3 + z tail)
  const raddle_double2 inner = raddle_two_product(z.high, RADDLE_POLYNOMIAL(log_tail, z.high));
  raddle_double2 factor = raddle_two_sum(0x1.5555555555555p-1, inner.high);
  factor.low += inner.low + 0x1.5555555555555p-55 + z.low * 0.4;
  raddle_double2 cubic = raddle_two_product(z.high, factor.high);
  cubic.low += __nv_fma(z.high, factor.low, z.low * factor.high);
  raddle_double2 rest = raddle_two_product(s, cubic.high);
  rest.low += __nv_fma(s, cubic.low, s_low * cubic.high);
  raddle_double2 sum = raddle_two_sum(2.0 * s, rest.high);
  sum.low += rest.low + 2.0 * s_low;
  const raddle_double2 binary = raddle_two_product(exponent, raddle_ln2_high);
  const raddle_double2 high = raddle_two_sum(binary.high, sum.high);
  const double low = high.low + (sum.low + __nv_fma(exponent, raddle_ln2_low, binary.low));
  return raddle_two_sum(high.high, low);
}
// The logarithm of 0, negative numbers, infinity and NaN; leaves other numbers alone.
#define RADDLE_LOG_SPECIAL(x)                                      \
  if (!(x > 0)) return x == 0 ? -raddle_infinity() : raddle_nan(); \
  if (x == raddle_infinity()) return x;
RADDLE_MATH double __nv_log(double x) {
  RADDLE_LOG_SPECIAL(x)
  double exponent;
  const double f = raddle_split(x, &exponent), s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  // 2 s = f - s f, hence log(1 + f) = f - (f f / 2 - s (f f / 2 + s s P))
  const double correction = __nv_fma(s, half + z * RADDLE_POLYNOMIAL(log, z), exponent * raddle_ln2_low);
  return exponent * raddle_ln2_high - ((half - correction) - f);
}
RADDLE_MATH double __nv_log2(double x) {
  RADDLE_LOG_SPECIAL(x)
  double exponent;
  const double f = raddle_split(x, &exponent);
  const raddle_double2 natural = raddle_log_sum(1.0 + f);
  const raddle_double2 product = raddle_two_product(natural.high, raddle_log2_e);
  const double low =
      __nv_fma(natural.high, 0x1.777d0ffda0d24p-56, __nv_fma(natural.low, raddle_log2_e, product.low));
  const raddle_double2 sum = raddle_two_sum(exponent, product.high);
  return sum.high + (sum.low + low);
}
RADDLE_MATH double __nv_log10(double x) {
  RADDLE_LOG_SPECIAL(x)
  const raddle_double2 natural = raddle_log_sum(x);
  const raddle_double2 product = raddle_two_product(natural.high, 0x1.bcb7b1526e50ep-2);
  return product.high + __nv_fma(natural.high, 0x1.95355baaafad3p-57,
                                 __nv_fma(natural.low, 0x1.bcb7b1526e50ep-2, product.low));
}
RADDLE_MATH double __nv_log1p(double x) {
  if (__builtin_fabs(x) < 0x1p-54) return x;
  if (!(x > -1.0)) return x == -1.0 ? -raddle_infinity() : raddle_nan();
  if (x == raddle_infinity()) return x;
  const double sum = __dadd_rn(1.0, x);
  const double lost = x < 1.0 ? x - (sum - 1.0) : 1.0 - (sum - x);
  return __nv_log(sum) + lost / sum;
}

// log(x) in double to float's accuracy; x is positive and finite.
RADDLE_MATH double raddle_log_short(double x) {
  double exponent;
  const double f = raddle_split(x, &exponent), s = f / (2.0 + f), z = s * s;
  return __nv_fma(exponent, raddle_ln2_high, __nv_fma(s * z, RADDLE_POLYNOMIAL(log_short, z), 2.0 * s));
}
#define RADDLE_FLOAT_LOG(name, factor)                                           \
  RADDLE_MATH float name(float x) {                                              \
    if (!(x > 0)) return x == 0 ? -raddle_infinity_f() : (float)raddle_nan();    \
    return x == raddle_infinity_f() ? x : (float)(raddle_log_short(x) * factor); \
  }
RADDLE_FLOAT_LOG(__nv_logf, 1.0)
RADDLE_FLOAT_LOG(__nv_log2f, raddle_log2_e)
RADDLE_FLOAT_LOG(__nv_log10f, 0x1.bcb7b1526e50ep-2)
#undef RADDLE_FLOAT_LOG
RADDLE_MATH float __nv_log1pf(float x) { return (float)__nv_log1p(x); }

/// The powers that C fixes: true, and `result` is x^y.
RADDLE_MATH bool raddle_special_power(double x, double y, double* result) {
  const double size = __builtin_fabs(x);
  const bool whole = __builtin_rint(y) == y,
             odd = whole && __builtin_fabs(y) < 0x1p53 && ((long long)y & 1) != 0;
  if (y == 0 || x == 1.0) {
    *result = 1.0;
  } else if (x != x || y != y) {
    *result = raddle_nan();
  } else if (__nv_isinfd(y)) {
    *result = size == 1.0 ? 1.0 : (size > 1.0) == (y > 0) ? raddle_infinity() : 0.0;
  } else if (x == 0 || __nv_isinfd(x)) {
    const double magnitude = (x == 0) == (y > 0) ? 0.0 : raddle_infinity();
    *result = odd ? __builtin_copysign(magnitude, x) : magnitude;
  } else if (x < 0 && !whole) {
    *result = raddle_nan();
  } else {
    *result = x < 0 && odd ? -1.0 : 1.0;  // the sign
    return false;
  }
  return true;
}
RADDLE_MATH double __nv_pow(double x, double y) {
  double sign;
  if (raddle_special_power(x, y, &sign)) return sign;
  const raddle_double2 logarithm = raddle_log_sum(__builtin_fabs(x));
  raddle_double2 product = raddle_two_product(y, logarithm.high);
  if (product.high > 710.0) return sign * raddle_infinity();
  if (product.high < -750.0 || __builtin_fabs(y) > 0x1p70) return product.high < -1.0 ? sign * 0.0 : sign;
  return sign * raddle_exp_sum(product.high, __nv_fma(y, logarithm.low, product.low));
}
RADDLE_MATH float __nv_powf(float x, float y) {
  double sign;
  if (raddle_special_power(x, y, &sign)) return (float)sign;
  double exponent;
  const double f = raddle_split(__builtin_fabs((double)x), &exponent), s = f / (2.0 + f), z = s * s;
  const double logarithm =
      __nv_fma(exponent, raddle_ln2_high, __nv_fma(s * z, RADDLE_POLYNOMIAL(log, z), 2.0 * s));
  const double product = raddle_clamped(y * logarithm, 150.0), n = __builtin_rint(product * raddle_log2_e);
  const double r = __nv_fma(-n, raddle_ln2_high, product);
  return (float)(sign * (1.0 + __nv_fma(r * r, RADDLE_POLYNOMIAL(exp_short, r), r)) *
                 raddle_power_of_two((int)n));
}
/// x^n by way of pow: n is exact in double.
RADDLE_MATH double __nv_powi(double x, int n) { return __nv_pow(x, n); }
RADDLE_MATH float __nv_powif(float x, int n) { return __nv_powf(x, (float)n); }

RADDLE_MATH double __nv_cbrt(double x) {
  if (x == 0 || !__nv_isfinited(x)) return x;
  int exponent;
  double m = __nv_frexp(__builtin_fabs(x), &exponent);
  int third = (exponent + 3 * 400) / 3 - 400;  // rounded down
  m = __nv_ldexp(m, exponent - 3 * third);     // from 1/2 to 4
  double root = __nv_exp2f(__nv_log2f((float)m) * (1.0f / 3.0f));
  root += (m - root * root * root) / (3.0 * root * root);
  const raddle_double2 square = raddle_two_product(root, root);
  const double rest = __nv_fma(-root, square.low, __nv_fma(-root, square.high, m));
  root += rest / (3.0 * square.high);
  return __builtin_copysign(__nv_ldexp(root, third), x);
}
RADDLE_MATH float __nv_cbrtf(float x) { return (float)__nv_cbrt(x); }
RADDLE_MATH double __nv_rcbrt(double x) { return 1.0 / __nv_cbrt(x); }
RADDLE_MATH float __nv_rcbrtf(float x) { return (float)__nv_rcbrt(x); }

RADDLE_MATH double __nv_sinh(double x) {
  const double size = __builtin_fabs(x);
  if (size > 709.0) return __builtin_copysign(__nv_exp(size * 0.5) * 0.5 * __nv_exp(size * 0.5), x);
  const double e = __nv_expm1(size);
  return __builtin_copysign(0.5 * (e + e / (e + 1.0)), x);
}
RADDLE_MATH double __nv_cosh(double x) {
  const double size = __builtin_fabs(x);
  if (size > 709.0) return __nv_exp(size * 0.5) * 0.5 * __nv_exp(size * 0.5);
  const double e = __nv_exp(size);
  return 0.5 * e + 0.5 / e;
}
RADDLE_MATH double __nv_tanh(double x) {
  const double size = __builtin_fabs(x);
  if (size > 22.0) return __builtin_copysign(1.0, x);
  const double e = __nv_expm1(2.0 * size);
  return x != x ? x : __builtin_copysign(e / (e + 2.0), x);
}
RADDLE_MATH double __nv_asinh(double x) {
  const double size = __builtin_fabs(x);
  if (size > 0x1p28) return __builtin_copysign(__nv_log(size) + raddle_ln2_high, x);
  const double square = size * size;
  return __builtin_copysign(__nv_log1p(size + square / (1.0 + __builtin_sqrt(square + 1.0))), x);
}
RADDLE_MATH double __nv_acosh(double x) {
  if (!(x >= 1.0)) return raddle_nan();
  if (x > 0x1p28) return __nv_log(x) + raddle_ln2_high;
  const double less = x - 1.0;
  return __nv_log1p(less + __builtin_sqrt(__nv_fma(less, less, 2.0 * less)));
}
RADDLE_MATH double __nv_atanh(double x) {
  const double size = __builtin_fabs(x);
  return __builtin_copysign(0.5 * __nv_log1p(2.0 * size / (1.0 - size)), x);
}
RADDLE_MATH float __nv_sinhf(float x) { return (float)__nv_sinh(x); }
RADDLE_MATH float __nv_coshf(float x) { return (float)__nv_cosh(x); }
RADDLE_MATH float __nv_tanhf(float x) { return (float)__nv_tanh(x); }
RADDLE_MATH float __nv_asinhf(float x) { return (float)__nv_asinh(x); }
RADDLE_MATH float __nv_acoshf(float x) { return (float)__nv_acosh(x); }
RADDLE_MATH float __nv_atanhf(float x) { return (float)__nv_atanh(x); }
