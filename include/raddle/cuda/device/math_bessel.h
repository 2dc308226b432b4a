// Device math: Bessel functions. Below 25 by their power series in pairs of doubles, whose terms cancel by at
// most 33 of 106 bits, so that results are exact to an ulp also beside zeros; above by Hankel's expansions.
// Source: NIST Digital Library of Mathematical Functions, 10.2, 10.8, 10.17, 10.40; CUDA Math API for special
// values.
#pragma once

#include "raddle/cuda/device/math_special.h"

static constexpr double raddle_bessel_limit = 25.0;
static constexpr double raddle_two_over_pi_high = 0x1.45f306dc9c883p-1,
                        raddle_two_over_pi_low = -0x1.6b01ec5417056p-55;
static constexpr double raddle_euler_high = 0x1.2788cfc6fb619p-1, raddle_euler_low = -0x1.6cb90701fbfabp-58;

RADDLE_MATH raddle_double2 raddle_sum(raddle_double2 x, raddle_double2 y) {
  raddle_double2 sum = raddle_two_sum(x.high, y.high);
  const raddle_double2 low = raddle_two_sum(x.low, y.low);
  sum = raddle_two_sum(sum.high, sum.low + low.high);
  return raddle_two_sum(sum.high, sum.low + low.low);
}
RADDLE_MATH raddle_double2 raddle_product(raddle_double2 x, raddle_double2 y) {
  const raddle_double2 product = raddle_two_product(x.high, y.high);
  return raddle_two_sum(product.high, product.low + __nv_fma(x.high, y.low, x.low * y.high));
}
RADDLE_MATH raddle_double2 raddle_quotient(raddle_double2 x, double y) {
  const double quotient = x.high / y;
  return raddle_two_sum(quotient, (__nv_fma(-quotient, y, x.high) + x.low) / y);
}

/// Of order n at x from 0 to 25: the sum of (x/2)^(n+2k) s^k / (k! (n+k)!) for s = `sign`, and the same with
/// factors (H(k) + H(n+k)) / 2 of harmonic numbers, for n of 0 or 1.
struct raddle_series {
  raddle_double2 plain, harmonic;
};
RADDLE_MATH raddle_series raddle_bessel_series(int n, double x, double sign) {
  const double half = 0.5 * x;
  raddle_double2 term = {1.0, 0.0};
  for (int i = 1; i <= n && term.high != 0; ++i) term = raddle_quotient(raddle_product(term, {half, 0.0}), i);
  raddle_double2 square = raddle_two_product(half, half);
  square = {sign * square.high, sign * square.low};
  raddle_double2 factor = {n == 0 ? 0.0 : 0.5, 0.0};
  raddle_series sum = {term, raddle_product(term, factor)};
  for (int k = 1; k < 120; ++k) {
    term = raddle_quotient(raddle_product(term, square), (double)k * ((double)k + n));
    factor = raddle_sum(
        factor, raddle_sum(raddle_quotient({0.5, 0.0}, k), raddle_quotient({0.5, 0.0}, (double)k + n)));
    sum.plain = raddle_sum(sum.plain, term);
    sum.harmonic = raddle_sum(sum.harmonic, raddle_product(term, factor));
    const double least = __nv_fmin(__builtin_fabs(sum.plain.high), 1.0);
    if (k > half && __builtin_fabs(term.high) * 64.0 <= least * 0x1p-70) break;
  }
  return sum;
}

/// Sums of Hankel's expansions at x of 25 or more: even and odd terms, with alternating signs or without.
RADDLE_MATH void raddle_hankel(int n, double x, double sign, double* even, double* odd) {
  double term = 1.0;
  *even = 1.0;
  *odd = 0.0;
  for (int k = 1; k < 30; ++k) {
    const double other = 2.0 * k - 1.0;
    term *= (4.0 * n * n - other * other) / (8.0 * k * x);
    const double signed_term = k & 2 ? sign * term : term;
    if (k & 1)
      *odd += signed_term;
    else
      *even += signed_term;
    if (__builtin_fabs(term) < 0x1p-58) break;
  }
}
/// J (first) or Y of order 0 or 1 at finite x of 25 or more.
RADDLE_MATH double raddle_bessel_far(int n, double x, bool first) {
  double even, odd, sine, cosine;
  raddle_hankel(n, x, -1.0, &even, &odd);
  __nv_sincos(x, &sine, &cosine);
  // sqrt(2) times cosine and sine of x - (n / 2 + 1 / 4) pi
  const double c = n == 0 ? cosine + sine : sine - cosine, s = n == 0 ? sine - cosine : -(sine + cosine);
  const double sum = first ? __nv_fma(even, c, -odd * s) : __nv_fma(even, s, odd * c);
  return sum * __builtin_sqrt(0.5 * raddle_two_over_pi_high / x);
}

RADDLE_MATH double raddle_bessel_first(int n, double x) {  // order 0 or 1, x from 0
  if (x != x) return x;
  if (x == raddle_infinity()) return 0.0;
  return x < raddle_bessel_limit ? raddle_bessel_series(n, x, -1.0).plain.high
                                 : raddle_bessel_far(n, x, true);
}
RADDLE_MATH double raddle_bessel_second(int n, double x) {  // order 0 or 1
  if (x != x || x < 0) return raddle_nan();
  if (x == 0) return -raddle_infinity();
  if (x == raddle_infinity()) return 0.0;
  if (x >= raddle_bessel_limit) return raddle_bessel_far(n, x, false);
  if (n == 1 && x < 0x1p-600) return -raddle_two_over_pi_high / x;
  const raddle_series series = raddle_bessel_series(n, x, -1.0);
  const raddle_double2 logarithm = raddle_sum(raddle_log_sum(0.5 * x), {raddle_euler_high, raddle_euler_low});
  raddle_double2 sum = raddle_product(logarithm, series.plain);
  sum = raddle_sum(sum, {-series.harmonic.high, -series.harmonic.low});
  if (n == 1) sum = raddle_sum(sum, raddle_quotient({-1.0, 0.0}, x));
  return raddle_product(sum, {raddle_two_over_pi_high, raddle_two_over_pi_low}).high;
}
RADDLE_MATH double __nv_j0(double x) { return raddle_bessel_first(0, __builtin_fabs(x)); }
RADDLE_MATH double __nv_j1(double x) {
  const double value = raddle_bessel_first(1, __builtin_fabs(x));
  return x < 0 ? -value : x == 0 ? x : value;
}
RADDLE_MATH double __nv_y0(double x) { return raddle_bessel_second(0, x); }
RADDLE_MATH double __nv_y1(double x) { return raddle_bessel_second(1, x); }

/// By ratios from above, for order n above x of 25 or more: recurrences upwards lose all digits there.
RADDLE_MATH double raddle_bessel_downwards(int n, double x) {
  const double order = n;
  if (order * (1.0 + __nv_log(0.5 * x / order)) < -760.0) return 0.0;  // (x/2)^n / n! is above it
  const int start = 2 * ((n + 20 + (int)__builtin_sqrt(160.0 * order)) / 2);
  double above = 0.0, here = 0x1p-900, result = 0.0, sum = 0.0;
  for (int k = start; k > 0; --k) {
    const double below = 2.0 * k / x * here - above;
    above = here;
    here = below;
    if (__builtin_fabs(here) > 0x1p500) {
      here *= 0x1p-600;
      above *= 0x1p-600;
      result *= 0x1p-600;
      sum *= 0x1p-600;
    }
    if (k - 1 == n) result = here;
    if (((k - 1) & 1) == 0) sum += k - 1 == 0 ? here : 2.0 * here;  // J0 + 2 J2 + 2 J4 + ... is 1
  }
  return result / sum;
}
RADDLE_MATH double __nv_jn(int n, double x) {
  if (n < 0 || x != x) return raddle_nan();
  if (n == 0) return __nv_j0(x);
  if (n == 1) return __nv_j1(x);
  const double size = __builtin_fabs(x);
  double value = 0.0;
  if (size == raddle_infinity()) return 0.0;
  if (size < raddle_bessel_limit) {
    value = raddle_bessel_series(n, size, -1.0).plain.high;
  } else if (n > size) {
    value = raddle_bessel_downwards(n, size);
  } else {
    double before = __nv_j0(size);
    value = __nv_j1(size);
    for (int k = 1; k < n; ++k) {
      const double next = 2.0 * k / size * value - before;
      before = value;
      value = next;
    }
  }
  return x < 0 && (n & 1) ? -value : value;
}
RADDLE_MATH double __nv_yn(int n, double x) {
  if (n < 0) return raddle_nan();
  if (n == 0) return __nv_y0(x);
  double before = __nv_y0(x), value = __nv_y1(x);
  for (int k = 1; k < n && value > -raddle_infinity(); ++k) {
    const double next = 2.0 * k / x * value - before;
    before = value;
    value = next;
  }
  return value;
}

/// The modified functions of order 0 and 1 at x from 0.
RADDLE_MATH double raddle_bessel_modified(int n, double x) {
  if (!(x < 714.0)) return x != x ? x : raddle_infinity();
  if (x < raddle_bessel_limit) return raddle_bessel_series(n, x, 1.0).plain.high;
  double even, odd;
  raddle_hankel(n, x, 1.0, &even, &odd);
  const double root = __nv_exp(0.5 * x);  // the whole power may be too large
  return root * ((even - odd) * __builtin_sqrt(0.25 * raddle_two_over_pi_high / x)) * root;
}
RADDLE_MATH double __nv_cyl_bessel_i0(double x) { return raddle_bessel_modified(0, __builtin_fabs(x)); }
RADDLE_MATH double __nv_cyl_bessel_i1(double x) {
  const double value = raddle_bessel_modified(1, __builtin_fabs(x));
  return x < 0 ? -value : x == 0 ? x : value;
}

#define RADDLE_BY_WAY_OF_DOUBLE(name) \
  RADDLE_MATH float __nv_##name##f(float x) { return (float)__nv_##name(x); }
RADDLE_BY_WAY_OF_DOUBLE(j0)
RADDLE_BY_WAY_OF_DOUBLE(j1)
RADDLE_BY_WAY_OF_DOUBLE(y0)
RADDLE_BY_WAY_OF_DOUBLE(y1)
RADDLE_BY_WAY_OF_DOUBLE(cyl_bessel_i0)
RADDLE_BY_WAY_OF_DOUBLE(cyl_bessel_i1)
#undef RADDLE_BY_WAY_OF_DOUBLE
RADDLE_MATH float __nv_jnf(int n, float x) { return (float)__nv_jn(n, x); }
RADDLE_MATH float __nv_ynf(int n, float x) { return (float)__nv_yn(n, x); }
