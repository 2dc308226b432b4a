// Device math: lengths of vectors, error functions, the normal distribution and gamma.
// Source: CUDA Math API; C for special values. Measured in tests/cuda_headers.
#pragma once

#include "raddle/cuda/device/math_trigonometric.h"

/// sqrt of the sum of squares of `count` numbers, without overflow in between.
template <int count>
RADDLE_DEVICE double raddle_length(const double (&numbers)[count]) {
  double most = 0;
  bool infinite = false, none = false;
#pragma unroll
  for (int i = 0; i < count; ++i) {
    most = __nv_fmax(most, __builtin_fabs(numbers[i]));
    infinite |= __nv_isinfd(numbers[i]) != 0;
    none |= numbers[i] != numbers[i];
  }
  if (infinite) return raddle_infinity();
  if (none) return raddle_nan();
  if (most == 0) return 0;
  const int exponent = __nv_ilogb(most);
  raddle_double2 sum = {0, 0};
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const double scaled = __nv_ldexp(numbers[i], -exponent);
    const raddle_double2 square = raddle_two_product(scaled, scaled);
    const raddle_double2 next = raddle_two_sum(sum.high, square.high);
    sum = {next.high, sum.low + next.low + square.low};
  }
  return __nv_ldexp(__builtin_sqrt(sum.high + sum.low), exponent);
}
RADDLE_MATH double __nv_hypot(double x, double y) { return raddle_length({x, y}); }
RADDLE_MATH double __nv_norm3d(double x, double y, double z) { return raddle_length({x, y, z}); }
RADDLE_MATH double __nv_norm4d(double x, double y, double z, double w) { return raddle_length({x, y, z, w}); }
RADDLE_MATH double __nv_rhypot(double x, double y) { return 1.0 / __nv_hypot(x, y); }
RADDLE_MATH double __nv_rnorm3d(double x, double y, double z) { return 1.0 / __nv_norm3d(x, y, z); }
RADDLE_MATH double __nv_rnorm4d(double x, double y, double z, double w) {
  return 1.0 / __nv_norm4d(x, y, z, w);
}
// Squares of floats neither overflow nor vanish in double.
RADDLE_MATH float raddle_length_f(double squares, bool infinite) {
  return infinite ? raddle_infinity_f() : (float)__builtin_sqrt(squares);
}
RADDLE_MATH double raddle_square(float x) { return (double)x * x; }
RADDLE_MATH float __nv_hypotf(float x, float y) {
  return raddle_length_f(raddle_square(x) + raddle_square(y), __nv_isinfd(x) || __nv_isinfd(y));
}
RADDLE_MATH float __nv_norm3df(float x, float y, float z) {
  return raddle_length_f(raddle_square(x) + raddle_square(y) + raddle_square(z),
                         __nv_isinfd(x) || __nv_isinfd(y) || __nv_isinfd(z));
}
RADDLE_MATH float __nv_norm4df(float x, float y, float z, float w) {
  return raddle_length_f(raddle_square(x) + raddle_square(y) + raddle_square(z) + raddle_square(w),
                         __nv_isinfd(x) || __nv_isinfd(y) || __nv_isinfd(z) || __nv_isinfd(w));
}
RADDLE_MATH float __nv_rhypotf(float x, float y) { return (float)(1.0 / __nv_hypotf(x, y)); }
RADDLE_MATH float __nv_rnorm3df(float x, float y, float z) { return (float)(1.0 / __nv_norm3df(x, y, z)); }
RADDLE_MATH float __nv_rnorm4df(float x, float y, float z, float w) {
  return (float)(1.0 / __nv_norm4df(x, y, z, w));
}
/// The length of a vector of `dimensions` numbers, and its reciprocal.
RADDLE_MATH double __nv_norm(int dimensions, const double* numbers) {
  double length = 0;
  for (int i = 0; i < dimensions; ++i) length = __nv_hypot(length, numbers[i]);
  return length;
}
RADDLE_MATH float __nv_normf(int dimensions, const float* numbers) {
  double squares = 0;
  bool infinite = false;
  for (int i = 0; i < dimensions; ++i) {
    squares += raddle_square(numbers[i]);
    infinite |= __nv_isinfd(numbers[i]) != 0;
  }
  return raddle_length_f(squares, infinite);
}
RADDLE_MATH double __nv_rnorm(int dimensions, const double* numbers) {
  return 1.0 / __nv_norm(dimensions, numbers);
}
RADDLE_MATH float __nv_rnormf(int dimensions, const float* numbers) {
  return 1.0f / __nv_normf(dimensions, numbers);
}

/// e^(x^2) erfc(x) for x >= 0.
RADDLE_MATH double raddle_scaled_complement(double x) {
  const double t = (x - 3.75) / (x + 3.75);
  return (1.0 + RADDLE_POLYNOMIAL(erfcx, t)) / __nv_fma(2.0, x, 1.0);
}
/// e^(sign x^2), with the square's lost bits.
RADDLE_MATH double raddle_exp_square(double x, double sign) {
  const raddle_double2 square = raddle_two_product(x, x);
  const double high = sign * square.high;
  return high > 709.7 ? raddle_infinity() : high < -746.0 ? 0.0 : raddle_exp_sum(high, sign * square.low);
}
RADDLE_MATH double __nv_erfcx(double x) {
  if (x >= 0) return x > 1e150 ? 0x1.20dd750429b6dp-1 / x : raddle_scaled_complement(x);
  return x < -27.0 ? raddle_infinity() : 2.0 * raddle_exp_square(x, 1.0) - raddle_scaled_complement(-x);
}
RADDLE_MATH double __nv_erf(double x) {
  const double size = __builtin_fabs(x);
  if (size < 1.0) return __nv_fma(x, RADDLE_POLYNOMIAL(erf, x * x), x);
  if (x != x) return x;
  const double rest = size > 6.0 ? 0.0 : raddle_exp_square(size, -1.0) * raddle_scaled_complement(size);
  return __builtin_copysign(1.0 - rest, x);
}
RADDLE_MATH double __nv_erfc(double x) {
  if (x != x) return x;
  if (__builtin_fabs(x) < 0.25) return 1.0 - __nv_erf(x);
  const double size = __builtin_fabs(x);
  const double rest = size > 28.0 ? 0.0 : raddle_exp_square(size, -1.0) * raddle_scaled_complement(size);
  return x < 0 ? 2.0 - rest : rest;
}
/// The root r of erfc(r) = y for 0 < y <= 1: a first guess, then steps of Halley's method on log(erfc), which
/// is smooth.
RADDLE_MATH double raddle_inverse_complement(double y) {
  const double l = __builtin_sqrt(-2.0 * __nv_log(0.5 * y));
  double r = 0x1.6a09e667f3bcdp-1 * (l - (2.30753 + l * 0.27061) / (1.0 + l * (0.99229 + l * 0.04481)));
  for (int i = 0; i < 3; ++i) {
    const double value = __nv_erfc(r), slope = -0x1.20dd750429b6dp+0 * raddle_exp_square(r, -1.0);
    if (slope == 0) break;
    const double step = (value - y) / slope;
    r -= step / (1.0 + r * step);
  }
  return r;
}
RADDLE_MATH double __nv_erfinv(double y) {
  const double size = __builtin_fabs(y);
  if (!(size <= 1.0)) return raddle_nan();
  if (size == 1.0) return __builtin_copysign(raddle_infinity(), y);
  if (size > 0.5) return __builtin_copysign(raddle_inverse_complement(1.0 - size), y);
  double r = y * 0x1.c5bf891b4ef6bp-1;  // sqrt(pi) / 2
  for (int i = 0; i < 4; ++i) {
    const double step = (__nv_erf(r) - y) / (0x1.20dd750429b6dp+0 * raddle_exp_square(r, -1.0));
    r -= step / (1.0 + r * step);
  }
  return r;
}
RADDLE_MATH double __nv_erfcinv(double y) {
  if (!(y >= 0 && y <= 2.0)) return raddle_nan();
  if (y == 0 || y == 2.0) return y == 0 ? raddle_infinity() : -raddle_infinity();
  if (y > 0.5 && y < 1.5) return __nv_erfinv(1.0 - y);  // an exact difference; the root is near 0
  return y <= 1.0 ? raddle_inverse_complement(y) : -raddle_inverse_complement(2.0 - y);
}
RADDLE_MATH double __nv_normcdf(double x) {
  if (x < -38.6) return 0.0;
  const raddle_double2 scaled = raddle_two_product(x, -0x1.6a09e667f3bcdp-1);
  const double low = __nv_fma(x, 0x1.bdd3413b26456p-55, scaled.low);
  const double value = 0.5 * __nv_erfc(scaled.high);
  // erfc(h + low) = erfc(h) - 2 / sqrt(pi) e^(-h h) low
  return value - 0x1.20dd750429b6dp-1 * raddle_exp_square(scaled.high, -1.0) * low;
}
RADDLE_MATH double __nv_normcdfinv(double y) { return -0x1.6a09e667f3bcdp+0 * __nv_erfcinv(2.0 * y); }

/// The sum in Lanczos' approximation, g = 607 / 128: gamma(x + 1) = sqrt(2 pi) (x + g + 1/2)^(x + 1/2) e^-(x
/// + g + 1/2) sum(x).
RADDLE_MATH double raddle_lanczos(double x) {
  const double weights[] = {57.156235665862923517,     -59.597960355475491248,    14.136097974741747174,
                            -0.49191381609762019978,   .33994649984811888699e-4,  .46523628927048575665e-4,
                            -.98374475304879564677e-4, .15808870322491248884e-3,  -.21026444172410488319e-3,
                            .21743961811521264320e-3,  -.16431810653676389022e-3, .84418223983852743293e-4,
                            -.26190838401581408670e-4, .36899182659531622704e-5};
  double sum = 0.99999999999999709182;
#pragma unroll
  for (int i = 0; i < 14; ++i) sum += weights[i] / (x + (double)(i + 1));
  return sum;
}
/// gamma(x) for 0.5 <= x <= 171.7.
RADDLE_MATH double raddle_gamma(double x) {
  if (__builtin_rint(x) == x && x < 24.0) {  // small factorials are exact
    double product = 1.0;
    for (double i = 2.0; i < x; i += 1.0) product *= i;
    return product;
  }
  const raddle_double2 sum = raddle_two_sum(x, 607.0 / 128.0 - 0.5);
  const double t = sum.high, half = __nv_pow(t, 0.5 * (x - 0.5));
  const double lost = 1.0 + ((x - 0.5) / t - 1.0) * sum.low;  // what rounding t changes
  return half * __nv_exp(-t) * half * (0x1.40d931ff62706p+1 * raddle_lanczos(x - 1.0) * lost);
}
RADDLE_MATH double __nv_tgamma(double x) {
  if (x != x || x == raddle_infinity()) return x;
  if (x == 0) return __builtin_copysign(raddle_infinity(), x);
  if (x < 0 && __builtin_rint(x) == x) return raddle_nan();
  if (x > 171.7) return raddle_infinity();
  if (x >= 0.5) return raddle_gamma(x);
  if (x < -184.0) return __builtin_copysign(0.0, __nv_sinpi(x));
  const double far = x < -170.0 ? 1.0 - x - 14.0 : 1.0 - x;  // gamma(1 - x) overflows: 14 factors apart
  double result = 0x1.921fb54442d18p+1 / __nv_sinpi(x) / raddle_gamma(far);
  for (double factor = far; factor < 1.0 - x; factor += 1.0) result /= factor;
  return result;
}
/// log |gamma(x)| for x >= 0.5.
RADDLE_MATH double raddle_log_gamma(double x) {
  if (x < 20.0) return __nv_log(raddle_gamma(x));
  // Stirling's series
  const double r = 1.0 / x, z = r * r;
  const double series =
      r * (1.0 / 12 -
           z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680 - z * (1.0 / 1188 - z * (691.0 / 360360))))));
  return __nv_fma(x - 0.5, __nv_log(x) - 1.0, 0x1.d67f1c864beb5p-1 - 0.5) + series;
}
RADDLE_MATH double __nv_lgamma(double x) {
  if (x != x) return x;
  if (__nv_isinfd(x) || (x <= 0 && __builtin_rint(x) == x)) return raddle_infinity();
  if (x >= 0.5) return raddle_log_gamma(x);
  return __nv_log(0x1.921fb54442d18p+1 / __builtin_fabs(__nv_sinpi(x))) - raddle_log_gamma(1.0 - x);
}

#define RADDLE_BY_WAY_OF_DOUBLE(name) \
  RADDLE_MATH float __nv_##name##f(float x) { return (float)__nv_##name(x); }
RADDLE_BY_WAY_OF_DOUBLE(erf)
RADDLE_BY_WAY_OF_DOUBLE(erfc)
RADDLE_BY_WAY_OF_DOUBLE(erfcx)
RADDLE_BY_WAY_OF_DOUBLE(erfinv)
RADDLE_BY_WAY_OF_DOUBLE(erfcinv)
RADDLE_BY_WAY_OF_DOUBLE(normcdf)
RADDLE_BY_WAY_OF_DOUBLE(normcdfinv)
RADDLE_BY_WAY_OF_DOUBLE(tgamma)
RADDLE_BY_WAY_OF_DOUBLE(lgamma)
#undef RADDLE_BY_WAY_OF_DOUBLE
