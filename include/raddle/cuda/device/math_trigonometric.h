// Device math: trigonometric functions and their inverses. The float functions compute in double with shorter
// polynomials. Source: CUDA Math API; IEEE 754 and C for special values. Measured in tests/cuda_headers.
#pragma once

#include "raddle/cuda/device/math_exponential.h"

static constexpr double raddle_half_pi = 0x1.921fb54442d18p+0, raddle_half_pi_low = 0x1.1a62633145c07p-54,
                        raddle_half_pi_third = -0x1.f1976b7ed8fbcp-110,
                        raddle_two_over_pi_number = 0x1.45f306dc9c883p-1;

/// An angle's rest after quarter turns: `turns` modulo 4 of them taken away, |high| at most little more than
/// pi / 4.
struct raddle_angle {
  double high, low;
  int turns;
};

/// For |x| from 2^40: x as a whole number times a power of two, times the bits of 2 / pi that matter.
RADDLE_MATH raddle_angle raddle_reduce_huge(double x) {
  const long long bits = __double_as_longlong(x);
  const unsigned long long mantissa = (bits & 0xfffffffffffffll) | 0x10000000000000ll;
  const int exponent = (int)((bits >> 52) & 0x7ff) - 1075;  // |x| = mantissa 2^exponent
  // x 2 / pi modulo 4: bits of 2 / pi above weight 2^(1 - exponent) only make multiples of 4.
  const int skipped = exponent - 2 > 0 ? exponent - 2 : 0, word = skipped >> 6, shift = skipped & 63;
  unsigned long long window[3];
  for (int i = 0; i < 3; ++i) {
    window[i] = raddle_two_over_pi[word + i] << shift;
    if (shift != 0) window[i] |= raddle_two_over_pi[word + i + 1] >> (64 - shift);
  }
  // The product's 192 bits of lowest weight; its top bit weighs 2^(exponent - skipped - 1).
  const unsigned long long middle = mantissa * window[1], high_of_last = __umul64hi(mantissa, window[2]);
  const unsigned long long second = middle + high_of_last;
  const unsigned long long first = mantissa * window[0] + __umul64hi(mantissa, window[1]) + (second < middle);
  const int above =
      exponent - skipped;  // bits of `first` that are whole: 2 for huge x, fewer cannot be as |x| >= 2^40
  unsigned long long fraction = first << above;
  if (above != 0) fraction |= second >> (64 - above);
  int turns = (int)(first >> (64 - above)) & 3;
  double part = (double)(long long)fraction;  // as signed: the quarter turn nearest to it
  const long long rounded_off = (long long)fraction - (long long)part;
  turns += fraction >> 63;
  const double tail = ((double)rounded_off + (double)(second << above) * 0x1p-64) * 0x1p-64;
  part *= 0x1p-64;
  const raddle_double2 product = raddle_two_product(part, raddle_half_pi);
  const double low = __nv_fma(part, raddle_half_pi_low, __nv_fma(tail, raddle_half_pi, product.low));
  return x < 0 ? raddle_angle{-product.high, -low, -turns} : raddle_angle{product.high, low, turns};
}
RADDLE_MATH raddle_angle raddle_reduce(double x) {
  if (__builtin_fabs(x) >= 0x1p40) return raddle_reduce_huge(x);
  const double n = __builtin_rint(x * raddle_two_over_pi_number);
  const double first = __nv_fma(-n, raddle_half_pi, x);  // exact: a multiple of 2^-52 below 1, or n is 0
  const raddle_double2 second = raddle_two_product(n, raddle_half_pi_low);
  const raddle_double2 rest = raddle_two_sum(first, -second.high);
  const double low = rest.low - __nv_fma(n, raddle_half_pi_third, second.low);
  return {rest.high, low, (int)(long long)n};
}
RADDLE_MATH double raddle_sine(double x, double low) {
  const double z = x * x;
  return x + __nv_fma(x * z, RADDLE_POLYNOMIAL(sin, z), __nv_fma(-0.5 * z, low, low));
}
RADDLE_MATH double raddle_cosine(double x, double low) {
  const double z = x * x, half = 0.5 * z, most = 1.0 - half;
  return most + (((1.0 - most) - half) + __nv_fma(z * z, RADDLE_POLYNOMIAL(cos, z), -x * low));
}
RADDLE_MATH void raddle_turn(int turns, double sine, double cosine, double* s, double* c) {
  const double first = (turns & 1) != 0 ? cosine : sine, second = (turns & 1) != 0 ? sine : cosine;
  *s = (turns & 2) != 0 ? -first : first;
  *c = ((turns + 1) & 2) != 0 ? -second : second;
}
RADDLE_MATH void __nv_sincos(double x, double* s, double* c) {
  if (!__nv_isfinited(x)) {
    *s = *c = raddle_nan();
    return;
  }
  const raddle_angle angle = raddle_reduce(x);
  raddle_turn(angle.turns, raddle_sine(angle.high, angle.low), raddle_cosine(angle.high, angle.low), s, c);
  if (x == 0) *s = x;
}
RADDLE_MATH double __nv_sin(double x) {
  double s, c;
  __nv_sincos(x, &s, &c);
  return s;
}
RADDLE_MATH double __nv_cos(double x) {
  double s, c;
  __nv_sincos(x, &s, &c);
  return c;
}
RADDLE_MATH double __nv_tan(double x) {
  if (!__nv_isfinited(x)) return raddle_nan();
  if (x == 0) return x;
  const raddle_angle angle = raddle_reduce(x);
  const double s = raddle_sine(angle.high, angle.low), c = raddle_cosine(angle.high, angle.low);
  return (angle.turns & 1) != 0 ? -c / s : s / c;
}

RADDLE_MATH void raddle_sincos_short(double x, double* s, double* c) {
  double r;
  int turns;
  if (__builtin_fabs(x) < 0x1p40) {
    const double n = __builtin_rint(x * raddle_two_over_pi_number);
    r = __nv_fma(-n, raddle_half_pi_low, __nv_fma(-n, raddle_half_pi, x));
    turns = (int)(long long)n;
  } else {
    const raddle_angle angle = raddle_reduce_huge(x);
    r = angle.high;
    turns = angle.turns;
  }
  const double z = r * r;
  raddle_turn(turns, __nv_fma(r * z, RADDLE_POLYNOMIAL(sin_short, z), r),
              __nv_fma(z * z, RADDLE_POLYNOMIAL(cos_short, z), __nv_fma(z, -0.5, 1.0)), s, c);
}
RADDLE_MATH void __nv_sincosf(float x, float* s, float* c) {
  double sine, cosine;
  raddle_sincos_short(x, &sine, &cosine);
  const bool finite = __nv_isfinited(x);
  *s = finite ? x == 0 ? x : (float)sine : (float)raddle_nan();
  *c = finite ? (float)cosine : (float)raddle_nan();
}
RADDLE_MATH float __nv_sinf(float x) {
  float s, c;
  __nv_sincosf(x, &s, &c);
  return s;
}
RADDLE_MATH float __nv_cosf(float x) {
  float s, c;
  __nv_sincosf(x, &s, &c);
  return c;
}
RADDLE_MATH float __nv_tanf(float x) {
  double s, c;
  raddle_sincos_short(x, &s, &c);
  return !__nv_isfinited(x) ? (float)raddle_nan() : x == 0 ? x : (float)(s / c);
}

// Of x pi: the quarter turns are exact.
RADDLE_MATH void __nv_sincospi(double x, double* s, double* c) {
  if (!__nv_isfinited(x)) {
    *s = *c = raddle_nan();
    return;
  }
  const double rest_of_two = x - 2.0 * __builtin_trunc(0.5 * x), n = __builtin_rint(2.0 * rest_of_two);
  const double part = rest_of_two - 0.5 * n;
  const raddle_double2 r = raddle_two_product(part, 0x1.921fb54442d18p+1);
  const double low = __nv_fma(part, 0x1.1a62633145c07p-53, r.low);
  raddle_turn((int)n, raddle_sine(r.high, low), raddle_cosine(r.high, low), s, c);
  if (__builtin_rint(x) == x) *s = __builtin_copysign(0.0, x);
  if (*c == 0) *c = 0.0;
}
RADDLE_MATH double __nv_sinpi(double x) {
  double s, c;
  __nv_sincospi(x, &s, &c);
  return s;
}
RADDLE_MATH double __nv_cospi(double x) {
  double s, c;
  __nv_sincospi(x, &s, &c);
  return c;
}
RADDLE_MATH void __nv_sincospif(float x, float* s, float* c) {
  double sine, cosine;
  __nv_sincospi(x, &sine, &cosine);
  *s = (float)sine;
  *c = (float)cosine;
}
RADDLE_MATH float __nv_sinpif(float x) { return (float)__nv_sinpi(x); }
RADDLE_MATH float __nv_cospif(float x) { return (float)__nv_cospi(x); }

/// atan(x) + low for x >= 0: by the nearest of 0, 0.5, 1, 1.5 and infinity.
RADDLE_MATH double raddle_arctangent(double x, double low) {
  double base = 0, base_low = 0, t = x, t_low = low;
  if (x > 0.4375) {
    if (x < 2.4375) {
      const double c = x < 0.6875 ? 0.5 : x < 1.1875 ? 1.0 : 1.5;
      base = x < 0.6875 ? 0x1.dac670561bb4fp-2 : x < 1.1875 ? 0x1.921fb54442d18p-1 : 0x1.f730bd281f69bp-1;
      base_low = x < 0.6875   ? 0x1.a2b7f222f65e2p-56
                 : x < 1.1875 ? 0x1.1a62633145c07p-55
                              : 0x1.007887af0cbbdp-56;
      const double below = __nv_fma(x, c, 1.0);
      t = (x - c) / below;
      t_low = low / (1.0 + x * x);
    } else {
      base = raddle_half_pi;
      base_low = raddle_half_pi_low;
      t = -1.0 / x;
      t_low = low * t * t;
    }
  }
  const double z = t * t;
  return base + (t + (__nv_fma(t * z, RADDLE_POLYNOMIAL(atan, z), base_low) + t_low));
}
RADDLE_MATH double __nv_atan(double x) {
  return x != x ? x : __builtin_copysign(raddle_arctangent(__builtin_fabs(x), 0.0), x);
}
RADDLE_MATH double __nv_atan2(double y, double x) {
  if (x != x || y != y) return raddle_nan();
  const double up = __builtin_fabs(y), along = __builtin_fabs(x);
  double angle;
  if (up == 0 && along == 0) {
    angle = 0;
  } else if (__nv_isinfd(up) && __nv_isinfd(along)) {
    angle = 0.5 * raddle_half_pi;
  } else {
    const double ratio = up / along;
    const bool exact = ratio < 0x1p900 && ratio > 0x1p-900 && along < 0x1p1000 && along > 0x1p-900;
    angle = raddle_arctangent(ratio, exact ? __nv_fma(-ratio, along, up) / along : 0.0);
  }
  if (__nv_signbitd(x)) angle = 2.0 * raddle_half_pi - (angle - 2.0 * raddle_half_pi_low);
  return __builtin_copysign(angle, y);
}
/// asin for |x| <= 0.5.
RADDLE_MATH double raddle_arcsine(double x) { return __nv_fma(x * x * x, RADDLE_POLYNOMIAL(asin, x * x), x); }
/// asin(root of (1 - x) / 2) for 0.5 < x, as a sum: pi / 4 - asin(x) / 2.
RADDLE_MATH raddle_double2 raddle_half_complement(double x) {
  const double square = 0.5 * (1.0 - x), root = __builtin_sqrt(square);
  const double low = root == 0 ? 0.0 : __nv_fma(-root, root, square) / (2.0 * root);
  return {root, __nv_fma(root * square, RADDLE_POLYNOMIAL(asin, square), low)};
}
RADDLE_MATH double __nv_asin(double x) {
  const double size = __builtin_fabs(x);
  if (!(size <= 1.0)) return raddle_nan();
  if (size <= 0.5) return raddle_arcsine(x);
  const raddle_double2 half = raddle_half_complement(size);
  return __builtin_copysign(raddle_half_pi - (2.0 * half.high - (raddle_half_pi_low - 2.0 * half.low)), x);
}
RADDLE_MATH double __nv_acos(double x) {
  const double size = __builtin_fabs(x);
  if (!(size <= 1.0)) return raddle_nan();
  if (size <= 0.5) {
    const double rest = __nv_fma(x * x * x, RADDLE_POLYNOMIAL(asin, x * x), -raddle_half_pi_low);
    return raddle_half_pi - (x + rest);
  }
  const raddle_double2 half = raddle_half_complement(size);
  if (x > 0) return 2.0 * (half.high + half.low);
  return 2.0 * (raddle_half_pi - (half.high + (half.low - raddle_half_pi_low)));
}
RADDLE_MATH float __nv_atanf(float x) { return (float)__nv_atan(x); }
RADDLE_MATH float __nv_atan2f(float y, float x) { return (float)__nv_atan2(y, x); }
RADDLE_MATH float __nv_asinf(float x) { return (float)__nv_asin(x); }
RADDLE_MATH float __nv_acosf(float x) { return (float)__nv_acos(x); }
