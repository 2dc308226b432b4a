// The functions of NVIDIA's libdevice, for PTX that calls them without holding them: the arithmetic of
// raddle/cuda/device, which `raddle cc` inlines, as functions with libdevice's names. Compiled to PTX when
// Raddle is built. Source: "Libdevice User's Guide", which lists names and parameters.
#include "raddle/cuda/device/math_functions.h"

// The label is libdevice's name; the C++ name must be another one than that of the header's function.
#define EXPORT(result, name, parameters, value) \
  extern "C" __device__ result raddle_export_##name parameters __asm__("__nv_" #name); \
  extern "C" __device__ result raddle_export_##name parameters { return value; }

// Of one shape, for float and double.
#define UNARY(name)                                   \
  EXPORT(double, name, (double x), __nv_##name(x))    \
  EXPORT(float, name##f, (float x), __nv_##name##f(x))
#define BINARY(name)                                             \
  EXPORT(double, name, (double x, double y), __nv_##name(x, y))  \
  EXPORT(float, name##f, (float x, float y), __nv_##name##f(x, y))
#define BOTH(result, result_f, name, parameters, parameters_f, arguments) \
  EXPORT(result, name, parameters, __nv_##name arguments)                 \
  EXPORT(result_f, name##f, parameters_f, __nv_##name##f arguments)

UNARY(acos) UNARY(acosh) UNARY(asin) UNARY(asinh) UNARY(atan) UNARY(atanh) UNARY(cbrt) UNARY(ceil) UNARY(cos)
UNARY(cosh) UNARY(cospi) UNARY(cyl_bessel_i0) UNARY(cyl_bessel_i1) UNARY(erf) UNARY(erfc) UNARY(erfcinv)
UNARY(erfcx) UNARY(erfinv) UNARY(exp) UNARY(exp10) UNARY(exp2) UNARY(expm1) UNARY(fabs) UNARY(floor) UNARY(j0)
UNARY(j1) UNARY(lgamma) UNARY(log) UNARY(log10) UNARY(log1p) UNARY(log2) UNARY(logb) UNARY(normcdf)
UNARY(normcdfinv) UNARY(rcbrt) UNARY(rint) UNARY(round) UNARY(rsqrt) UNARY(sin) UNARY(sinh) UNARY(sinpi)
UNARY(sqrt) UNARY(tan) UNARY(tanh) UNARY(tgamma) UNARY(trunc) UNARY(y0) UNARY(y1)
BINARY(atan2) BINARY(copysign) BINARY(fdim) BINARY(fmax) BINARY(fmin) BINARY(fmod) BINARY(hypot)
BINARY(nextafter) BINARY(pow) BINARY(remainder) BINARY(rhypot)
EXPORT(double, nearbyint, (double x), __nv_rint(x))
EXPORT(float, nearbyintf, (float x), __nv_rintf(x))
EXPORT(double, nan, (const char*), raddle_nan())
EXPORT(float, nanf, (const char*), (float)raddle_nan())

BOTH(double, float, fma, (double x, double y, double z), (float x, float y, float z), (x, y, z))
BOTH(double, float, norm3d, (double x, double y, double z), (float x, float y, float z), (x, y, z))
BOTH(double, float, rnorm3d, (double x, double y, double z), (float x, float y, float z), (x, y, z))
BOTH(double, float, norm4d, (double x, double y, double z, double w), (float x, float y, float z, float w), (x, y, z, w))
BOTH(double, float, rnorm4d, (double x, double y, double z, double w), (float x, float y, float z, float w), (x, y, z, w))
BOTH(double, float, norm, (int n, const double* p), (int n, const float* p), (n, p))
BOTH(double, float, rnorm, (int n, const double* p), (int n, const float* p), (n, p))
BOTH(double, float, ldexp, (double x, int n), (float x, int n), (x, n))
EXPORT(double, scalbn, (double x, int n), __nv_ldexp(x, n))
EXPORT(float, scalbnf, (float x, int n), __nv_ldexpf(x, n))
BOTH(double, float, frexp, (double x, int* n), (float x, int* n), (x, n))
BOTH(double, float, modf, (double x, double* y), (float x, float* y), (x, y))
BOTH(double, float, powi, (double x, int n), (float x, int n), (x, n))
BOTH(double, float, remquo, (double x, double y, int* n), (float x, float y, int* n), (x, y, n))
BOTH(int, int, ilogb, (double x), (float x), (x))
BOTH(double, float, jn, (int n, double x), (int n, float x), (n, x))
BOTH(double, float, yn, (int n, double x), (int n, float x), (n, x))
BOTH(void, void, sincos, (double x, double* s, double* c), (float x, float* s, float* c), (x, s, c))
BOTH(void, void, sincospi, (double x, double* s, double* c), (float x, float* s, float* c), (x, s, c))
EXPORT(long long, llrint, (double x), __double2ll_rn(x))
EXPORT(long long, llrintf, (float x), __float2ll_rn(x))
EXPORT(long long, llround, (double x), __double2ll_rz(__nv_round(x)))
EXPORT(long long, llroundf, (float x), __float2ll_rz(__nv_roundf(x)))

// Classes and signs.
EXPORT(int, finitef, (float x), __nv_isfinited(x))
EXPORT(int, isfinited, (double x), __nv_isfinited(x))
EXPORT(int, isinff, (float x), __nv_isinfd(x))
EXPORT(int, isinfd, (double x), __nv_isinfd(x))
EXPORT(int, isnanf, (float x), __nv_isnand(x))
EXPORT(int, isnand, (double x), __nv_isnand(x))
EXPORT(int, signbitf, (float x), __float_as_int(x) < 0)
EXPORT(int, signbitd, (double x), __nv_signbitd(x))

// The hardware's approximations.
EXPORT(float, fast_cosf, (float x), __cosf(x))
EXPORT(float, fast_sinf, (float x), __sinf(x))
EXPORT(float, fast_tanf, (float x), __tanf(x))
EXPORT(float, fast_tanhf, (float x), __tanhf(x))
EXPORT(void, fast_sincosf, (float x, float* s, float* c), __sincosf(x, s, c))
EXPORT(float, fast_exp10f, (float x), __exp10f(x))
EXPORT(float, fast_expf, (float x), __expf(x))
EXPORT(float, fast_log10f, (float x), __log10f(x))
EXPORT(float, fast_log2f, (float x), __log2f(x))
EXPORT(float, fast_logf, (float x), __logf(x))
EXPORT(float, fast_powf, (float x, float y), __powf(x, y))
EXPORT(float, fast_fdividef, (float x, float y), __fdividef(x, y))
EXPORT(float, saturatef, (float x), __saturatef(x))
EXPORT(double, rcp64h, (double x), __nvvm_rcp_approx_ftz_d(x))

// Arithmetic and conversions of every rounding.
#define ROUNDED(type, prefix, rounding)                                                               \
  EXPORT(type, prefix##add_##rounding, (type x, type y), __##prefix##add_##rounding(x, y))            \
  EXPORT(type, prefix##sub_##rounding, (type x, type y), __##prefix##sub_##rounding(x, y))            \
  EXPORT(type, prefix##mul_##rounding, (type x, type y), __##prefix##mul_##rounding(x, y))            \
  EXPORT(type, prefix##div_##rounding, (type x, type y), __##prefix##div_##rounding(x, y))            \
  EXPORT(type, prefix##rcp_##rounding, (type x), __##prefix##rcp_##rounding(x))                       \
  EXPORT(type, prefix##sqrt_##rounding, (type x), __##prefix##sqrt_##rounding(x))
#define CONVERSION(to, name, from, rounding) EXPORT(to, name##_##rounding, (from x), __##name##_##rounding(x))
#define ALL_ROUNDED(rounding)                                                                         \
  ROUNDED(float, f, rounding)                                                                         \
  ROUNDED(double, d, rounding)                                                                        \
  EXPORT(float, fmaf_##rounding, (float x, float y, float z), __fmaf_##rounding(x, y, z))             \
  EXPORT(float, fmaf_ieee_##rounding, (float x, float y, float z), __fmaf_##rounding(x, y, z))        \
  EXPORT(double, fma_##rounding, (double x, double y, double z), __fma_##rounding(x, y, z))           \
  CONVERSION(float, double2float, double, rounding)                                                   \
  CONVERSION(int, double2int, double, rounding)                                                       \
  CONVERSION(unsigned, double2uint, double, rounding)                                                 \
  CONVERSION(long long, double2ll, double, rounding)                                                  \
  CONVERSION(unsigned long long, double2ull, double, rounding)                                        \
  CONVERSION(int, float2int, float, rounding)                                                         \
  CONVERSION(unsigned, float2uint, float, rounding)                                                   \
  CONVERSION(long long, float2ll, float, rounding)                                                    \
  CONVERSION(unsigned long long, float2ull, float, rounding)                                          \
  CONVERSION(float, int2float, int, rounding)                                                         \
  CONVERSION(float, uint2float, unsigned, rounding)                                                   \
  CONVERSION(float, ll2float, long long, rounding)                                                    \
  CONVERSION(float, ull2float, unsigned long long, rounding)                                          \
  CONVERSION(double, ll2double, long long, rounding)                                                  \
  CONVERSION(double, ull2double, unsigned long long, rounding)
ALL_ROUNDED(rn)
ALL_ROUNDED(rz)
ALL_ROUNDED(ru)
ALL_ROUNDED(rd)
CONVERSION(double, int2double, int, rn)
CONVERSION(double, uint2double, unsigned, rn)
EXPORT(float, frsqrt_rn, (float x), __frsqrt_rn(x))
EXPORT(unsigned short, float2half_rn, (float x), __builtin_bit_cast(unsigned short, (_Float16)x))
EXPORT(float, half2float, (unsigned short x), (float)__builtin_bit_cast(_Float16, x))

// Numbers as their bits.
EXPORT(int, double2hiint, (double x), __double2hiint(x))
EXPORT(int, double2loint, (double x), __double2loint(x))
EXPORT(double, hiloint2double, (int high, int low), __hiloint2double(high, low))
EXPORT(long long, double_as_longlong, (double x), __double_as_longlong(x))
EXPORT(double, longlong_as_double, (long long x), __longlong_as_double(x))
EXPORT(int, float_as_int, (float x), __float_as_int(x))
EXPORT(unsigned, float_as_uint, (float x), __float_as_uint(x))
EXPORT(float, int_as_float, (int x), __int_as_float(x))
EXPORT(float, uint_as_float, (unsigned x), __uint_as_float(x))

// Whole numbers.
EXPORT(int, abs, (int x), abs(x))
EXPORT(long long, llabs, (long long x), llabs(x))
EXPORT(int, min, (int x, int y), min(x, y))
EXPORT(int, max, (int x, int y), max(x, y))
EXPORT(unsigned, umin, (unsigned x, unsigned y), min(x, y))
EXPORT(unsigned, umax, (unsigned x, unsigned y), max(x, y))
EXPORT(long long, llmin, (long long x, long long y), min(x, y))
EXPORT(long long, llmax, (long long x, long long y), max(x, y))
EXPORT(unsigned long long, ullmin, (unsigned long long x, unsigned long long y), min(x, y))
EXPORT(unsigned long long, ullmax, (unsigned long long x, unsigned long long y), max(x, y))
EXPORT(unsigned, brev, (unsigned x), __brev(x))
EXPORT(unsigned long long, brevll, (unsigned long long x), __brevll(x))
EXPORT(unsigned, byte_perm, (unsigned x, unsigned y, unsigned s), __byte_perm(x, y, s))
EXPORT(int, clz, (int x), __clz(x))
EXPORT(int, clzll, (long long x), __clzll(x))
EXPORT(int, ffs, (int x), __ffs(x))
EXPORT(int, ffsll, (long long x), __ffsll(x))
EXPORT(int, popc, (unsigned x), __popc(x))
EXPORT(int, popcll, (unsigned long long x), __popcll(x))
EXPORT(int, hadd, (int x, int y), __hadd(x, y))
EXPORT(int, rhadd, (int x, int y), __rhadd(x, y))
EXPORT(unsigned, uhadd, (unsigned x, unsigned y), __uhadd(x, y))
EXPORT(unsigned, urhadd, (unsigned x, unsigned y), __urhadd(x, y))
EXPORT(int, mul24, (int x, int y), __mul24(x, y))
EXPORT(unsigned, umul24, (unsigned x, unsigned y), __umul24(x, y))
EXPORT(int, mulhi, (int x, int y), __mulhi(x, y))
EXPORT(unsigned, umulhi, (unsigned x, unsigned y), __umulhi(x, y))
EXPORT(long long, mul64hi, (long long x, long long y), __mul64hi(x, y))
EXPORT(unsigned long long, umul64hi, (unsigned long long x, unsigned long long y), __umul64hi(x, y))
EXPORT(unsigned, sad, (int x, int y, unsigned z), __sad(x, y, z))
EXPORT(unsigned, usad, (unsigned x, unsigned y, unsigned z), __usad(x, y, z))
