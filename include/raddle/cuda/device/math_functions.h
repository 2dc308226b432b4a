// Device math under its C and CUDA names: sinf(float), sin(double), sin(float), std::sin, ... Included before
// any standard header, so that kernels see these before those of <cmath>. Source: CUDA Math API,
// "Single Precision Mathematical Functions", "Double Precision Mathematical Functions".
#pragma once

#include "raddle/cuda/device/integers.h"
#include "raddle/cuda/device/math_bessel.h"

// name(double), namef(float), name(float). std:: has them by using-declarations, which keep libstdc++'s own
// for the host.
#ifdef RADDLE_FAST_MATH
#define RADDLE_FAST(name) __##name
#else
#define RADDLE_FAST(name) __nv_##name
#endif
#define RADDLE_UNARY(name, for_float)                            \
  RADDLE_DEVICE double name(double x) { return __nv_##name(x); } \
  RADDLE_DEVICE float name##f(float x) { return for_float(x); }  \
  RADDLE_DEVICE float name(float x) { return for_float(x); }
#define RADDLE_BINARY(name, for_float)                                        \
  RADDLE_DEVICE double name(double x, double y) { return __nv_##name(x, y); } \
  RADDLE_DEVICE float name##f(float x, float y) { return for_float(x, y); }   \
  RADDLE_DEVICE float name(float x, float y) { return for_float(x, y); }

// The functions of C, which std has as well.
#define RADDLE_C_UNARY(macro)                                                                               \
  macro(sqrt, __nv_sqrtf) macro(cbrt, __nv_cbrtf) macro(exp, RADDLE_FAST(expf))                             \
      macro(exp2, RADDLE_FAST(exp2f)) macro(expm1, __nv_expm1f) macro(log, RADDLE_FAST(logf))               \
          macro(log2, RADDLE_FAST(log2f)) macro(log10, RADDLE_FAST(log10f)) macro(log1p, __nv_log1pf)       \
              macro(sin, RADDLE_FAST(sinf)) macro(cos, RADDLE_FAST(cosf)) macro(tan, RADDLE_FAST(tanf))     \
                  macro(asin, __nv_asinf) macro(acos, __nv_acosf) macro(atan, __nv_atanf)                   \
                      macro(sinh, __nv_sinhf) macro(cosh, __nv_coshf) macro(tanh, RADDLE_FAST(tanhf))       \
                          macro(asinh, __nv_asinhf) macro(acosh, __nv_acoshf) macro(atanh, __nv_atanhf)     \
                              macro(floor, __nv_floorf) macro(ceil, __nv_ceilf) macro(trunc, __nv_truncf)   \
                                  macro(rint, __nv_rintf) macro(round, __nv_roundf) macro(fabs, __nv_fabsf) \
                                      macro(erf, __nv_erff) macro(erfc, __nv_erfcf)                         \
                                          macro(tgamma, __nv_tgammaf) macro(lgamma, __nv_lgammaf)           \
                                              macro(logb, __nv_logbf)
#define RADDLE_C_BINARY(macro)                                                                              \
  macro(pow, RADDLE_FAST(powf)) macro(atan2, __nv_atan2f) macro(hypot, __nv_hypotf) macro(fmod, __nv_fmodf) \
      macro(remainder, __nv_remainderf) macro(copysign, __nv_copysignf) macro(fdim, __nv_fdimf)             \
          macro(fmin, __nv_fminf) macro(fmax, __nv_fmaxf) macro(nextafter, __nv_nextafterf)
RADDLE_C_UNARY(RADDLE_UNARY)
RADDLE_C_BINARY(RADDLE_BINARY)
RADDLE_UNARY(rsqrt, __nv_rsqrtf)
RADDLE_UNARY(rcbrt, __nv_rcbrtf)
RADDLE_UNARY(exp10, RADDLE_FAST(exp10f))
RADDLE_UNARY(sinpi, __nv_sinpif)
RADDLE_UNARY(cospi, __nv_cospif)
RADDLE_UNARY(erfcx, __nv_erfcxf)
RADDLE_UNARY(erfinv, __nv_erfinvf)
RADDLE_UNARY(erfcinv, __nv_erfcinvf)
RADDLE_UNARY(normcdf, __nv_normcdff)
RADDLE_UNARY(normcdfinv, __nv_normcdfinvf)
RADDLE_BINARY(rhypot, __nv_rhypotf)
RADDLE_UNARY(j0, __nv_j0f)
RADDLE_UNARY(j1, __nv_j1f)
RADDLE_UNARY(y0, __nv_y0f)
RADDLE_UNARY(y1, __nv_y1f)
RADDLE_UNARY(cyl_bessel_i0, __nv_cyl_bessel_i0f)
RADDLE_UNARY(cyl_bessel_i1, __nv_cyl_bessel_i1f)

// name(arguments) for double and float, where the shape is another one.
#define RADDLE_FUNCTION(result, result_f, name, parameters, parameters_f, arguments) \
  RADDLE_DEVICE result name parameters { return __nv_##name arguments; }             \
  RADDLE_DEVICE result_f name##f parameters_f { return __nv_##name##f arguments; }   \
  RADDLE_DEVICE result_f name parameters_f { return __nv_##name##f arguments; }
RADDLE_FUNCTION(double, float, fma, (double x, double y, double z), (float x, float y, float z), (x, y, z))
RADDLE_FUNCTION(double, float, norm3d, (double x, double y, double z), (float x, float y, float z), (x, y, z))
RADDLE_FUNCTION(double, float, rnorm3d, (double x, double y, double z), (float x, float y, float z),
                (x, y, z))
RADDLE_FUNCTION(double, float, norm4d, (double x, double y, double z, double w),
                (float x, float y, float z, float w), (x, y, z, w))
RADDLE_FUNCTION(double, float, rnorm4d, (double x, double y, double z, double w),
                (float x, float y, float z, float w), (x, y, z, w))
RADDLE_FUNCTION(double, float, norm, (int n, const double* p), (int n, const float* p), (n, p))
RADDLE_FUNCTION(double, float, rnorm, (int n, const double* p), (int n, const float* p), (n, p))
RADDLE_FUNCTION(double, float, ldexp, (double x, int n), (float x, int n), (x, n))
RADDLE_FUNCTION(double, float, frexp, (double x, int* n), (float x, int* n), (x, n))
RADDLE_FUNCTION(double, float, modf, (double x, double* y), (float x, float* y), (x, y))
RADDLE_FUNCTION(double, float, remquo, (double x, double y, int* n), (float x, float y, int* n), (x, y, n))
RADDLE_FUNCTION(double, float, jn, (int n, double x), (int n, float x), (n, x))
RADDLE_FUNCTION(double, float, yn, (int n, double x), (int n, float x), (n, x))
RADDLE_FUNCTION(int, int, ilogb, (double x), (float x), (x))
RADDLE_FUNCTION(void, void, sincos, (double x, double* s, double* c), (float x, float* s, float* c),
                (x, s, c))
RADDLE_FUNCTION(void, void, sincospi, (double x, double* s, double* c), (float x, float* s, float* c),
                (x, s, c))
#undef RADDLE_FUNCTION

#ifdef RADDLE_FAST_MATH
#define RADDLE_FAST_DIVISION(x, y) __fdividef(x, y)
#else
#define RADDLE_FAST_DIVISION(x, y) (x) / (y)
#endif

#define RADDLE_ALIAS(result, name, parameters, call) \
  RADDLE_DEVICE result name parameters { return call; }
RADDLE_ALIAS(double, scalbn, (double x, int n), __nv_ldexp(x, n))
RADDLE_ALIAS(float, scalbn, (float x, int n), __nv_ldexpf(x, n))
RADDLE_ALIAS(float, scalbnf, (float x, int n), __nv_ldexpf(x, n))
RADDLE_ALIAS(double, scalbln, (double x, long n), __nv_ldexp(x, (int)max(min(n, 9999l), -9999l)))
RADDLE_ALIAS(float, scalblnf, (float x, long n), __nv_ldexpf(x, (int)max(min(n, 9999l), -9999l)))
RADDLE_ALIAS(double, nearbyint, (double x), __nv_rint(x))
RADDLE_ALIAS(float, nearbyint, (float x), __nv_rintf(x))
RADDLE_ALIAS(float, nearbyintf, (float x), __nv_rintf(x))
RADDLE_ALIAS(double, pow, (double x, int n), __nv_powi(x, n))
RADDLE_ALIAS(float, pow, (float x, int n), __nv_powif(x, n))
RADDLE_ALIAS(double, abs, (double x), __nv_fabs(x))
RADDLE_ALIAS(float, abs, (float x), __nv_fabsf(x))
RADDLE_ALIAS(float, fdividef, (float x, float y), RADDLE_FAST_DIVISION(x, y))
RADDLE_ALIAS(float, saturate, (float x), __saturatef(x))
#undef RADDLE_ALIAS

// On the host, too.
#define RADDLE_EXTREMES(result, first, second, suffix)                               \
  RADDLE_BOTH result min(first x, second y) { return __builtin_fmin##suffix(x, y); } \
  RADDLE_BOTH result max(first x, second y) { return __builtin_fmax##suffix(x, y); }
RADDLE_EXTREMES(float, float, float, f)
RADDLE_EXTREMES(double, double, double, )
RADDLE_EXTREMES(double, float, double, )
RADDLE_EXTREMES(double, double, float, )
#undef RADDLE_EXTREMES
static __host__ inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
static __host__ inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
static __host__ inline double rcbrt(double x) { return 1.0 / __builtin_cbrt(x); }
static __host__ inline float rcbrtf(float x) { return 1.0f / __builtin_cbrtf(x); }
// To whole numbers: lround away from zero at halves, lrint to even.
#define RADDLE_WHOLE(name, type, conversion, round_f, round_d)                          \
  RADDLE_DEVICE type name##f(float x) { return __float2##conversion##_rz(round_f(x)); } \
  RADDLE_DEVICE type name(float x) { return __float2##conversion##_rz(round_f(x)); }    \
  RADDLE_DEVICE type name(double x) { return __double2##conversion##_rz(round_d(x)); }
RADDLE_WHOLE(lrint, long, ll, __nv_rintf, __nv_rint)
RADDLE_WHOLE(llrint, long long, ll, __nv_rintf, __nv_rint)
RADDLE_WHOLE(lround, long, ll, __nv_roundf, __nv_round)
RADDLE_WHOLE(llround, long long, ll, __nv_roundf, __nv_round)
#undef RADDLE_WHOLE

// Classes.
#define RADDLE_CLASS(type)                                               \
  RADDLE_DEVICE bool isnan(type x) { return x != x; }                    \
  RADDLE_DEVICE bool isinf(type x) { return __nv_isinfd(x) != 0; }       \
  RADDLE_DEVICE bool isfinite(type x) { return __nv_isfinited(x) != 0; } \
  RADDLE_DEVICE bool signbit(type x) { return __nv_signbitd(x) != 0; }   \
  RADDLE_DEVICE bool isnormal(type x) { return __builtin_isnormal(x); }
RADDLE_CLASS(float)
RADDLE_CLASS(double)
#undef RADDLE_CLASS
RADDLE_DEVICE double nan(const char*) { return raddle_nan(); }
RADDLE_DEVICE float nanf(const char*) { return (float)raddle_nan(); }

// Whole numbers count as double, as in <cmath>.
#define RADDLE_OF_WHOLE(name, for_float)                   \
  template <typename T, typename = raddle_enable_whole<T>> \
  RADDLE_DEVICE double name(T x) {                         \
    return name((double)x);                                \
  }
template <typename T, bool = __is_integral(T)>
struct raddle_whole {};
template <typename T>
struct raddle_whole<T, true> {
  using type = T;
};
template <typename T>
using raddle_enable_whole = typename raddle_whole<T>::type;
RADDLE_C_UNARY(RADDLE_OF_WHOLE)

namespace std {
#define RADDLE_STD(name, for_float) using ::name;
RADDLE_C_UNARY(RADDLE_STD)
RADDLE_C_BINARY(RADDLE_STD)
using ::fma;
using ::frexp;
using ::ilogb;
using ::ldexp;
using ::llrint;
using ::llround;
using ::lrint;
using ::lround;
using ::modf;
using ::nearbyint;
using ::remquo;
using ::scalbln;
using ::scalbn;
}  // namespace std
#undef RADDLE_STD
#undef RADDLE_OF_WHOLE
#undef RADDLE_C_BINARY
#undef RADDLE_C_UNARY
#undef RADDLE_BINARY
#undef RADDLE_UNARY
#undef RADDLE_FAST_DIVISION
#undef RADDLE_FAST
