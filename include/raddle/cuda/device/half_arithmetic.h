// Arithmetic, comparisons and math of a 16-bit type T and the pair T2 of two: the same functions for __half
// and
// __nv_bfloat16. T has a member raddle_value of clang's type, or converts to float and back.
// Source: CUDA Math API, "Half Precision Intrinsics", "Bfloat16 Precision Intrinsics".
#pragma once

#define RADDLE_PAIRWISE(T2, name, one) \
  RADDLE_BOTH T2 name(T2 x, T2 y) { return {one(x.x, y.x), one(x.y, y.y)}; }

#define RADDLE_HALF_OPERATION(T, T2, name, make, operation)                                   \
  RADDLE_BOTH T __h##name(T x, T y) { return make(x.raddle_value operation y.raddle_value); } \
  RADDLE_BOTH T __h##name##_rn(T x, T y) { return __h##name(x, y); }                          \
  RADDLE_PAIRWISE(T2, __h##name##2, __h##name)                                                \
  RADDLE_PAIRWISE(T2, __h##name##2_rn, __h##name)                                             \
  RADDLE_BOTH T operator operation(T x, T y) { return __h##name(x, y); }                      \
  RADDLE_BOTH T2 operator operation(T2 x, T2 y) { return __h##name##2(x, y); }                \
  RADDLE_BOTH T& operator operation##=(T & x, T y) { return x = __h##name(x, y); }            \
  RADDLE_BOTH T2& operator operation##=(T2 & x, T2 y) { return x = __h##name##2(x, y); }

#define RADDLE_HALF_SATURATED(T, T2, name)                                              \
  RADDLE_BOTH T __h##name##_sat(T x, T y) { return raddle_saturated(__h##name(x, y)); } \
  RADDLE_PAIRWISE(T2, __h##name##2_sat, __h##name##_sat)

// `make` makes a T of a value.
#define RADDLE_HALF_ARITHMETIC(T, T2, make)                               \
  RADDLE_HALF_OPERATION(T, T2, add, make, +)                              \
  RADDLE_HALF_OPERATION(T, T2, sub, make, -)                              \
  RADDLE_HALF_OPERATION(T, T2, mul, make, *)                              \
  RADDLE_BOTH T __hdiv(T x, T y) { return T((float)x / (float)y); }       \
  RADDLE_PAIRWISE(T2, __h2div, __hdiv)                                    \
  RADDLE_BOTH T operator/(T x, T y) { return __hdiv(x, y); }              \
  RADDLE_BOTH T2 operator/(T2 x, T2 y) { return __h2div(x, y); }          \
  RADDLE_BOTH T& operator/=(T& x, T y) { return x = __hdiv(x, y); }       \
  RADDLE_BOTH T2& operator/=(T2& x, T2 y) { return x = __h2div(x, y); }   \
  RADDLE_BOTH T raddle_saturated(T x) {                                   \
    const float number = x;                                               \
    return !(number > 0.0f) ? T(0.0f) : number > 1.0f ? T(1.0f) : x;      \
  }                                                                       \
  RADDLE_HALF_SATURATED(T, T2, add)                                       \
  RADDLE_HALF_SATURATED(T, T2, sub)                                       \
  RADDLE_HALF_SATURATED(T, T2, mul)                                       \
  RADDLE_BOTH T __hneg(T x) { return raddle_flipped(x, 0x8000, 0xffff); } \
  RADDLE_BOTH T __habs(T x) { return raddle_flipped(x, 0, 0x7fff); }      \
  RADDLE_BOTH T2 __hneg2(T2 x) { return {__hneg(x.x), __hneg(x.y)}; }     \
  RADDLE_BOTH T2 __habs2(T2 x) { return {__habs(x.x), __habs(x.y)}; }     \
  RADDLE_BOTH T operator-(T x) { return __hneg(x); }                      \
  RADDLE_BOTH T2 operator-(T2 x) { return __hneg2(x); }                   \
  RADDLE_BOTH T operator+(T x) { return x; }                              \
  RADDLE_BOTH T& operator++(T& x) { return x = x + T(1.0f); }             \
  RADDLE_BOTH T& operator--(T& x) { return x = x - T(1.0f); }

/// x with bits flipped, then reduced to the bits in `kept`.
template <typename T>
RADDLE_BOTH T raddle_flipped(T x, unsigned int flipped, unsigned int kept) {
  return __builtin_bit_cast(T, (unsigned short)((__builtin_bit_cast(unsigned short, x) ^ flipped) & kept));
}

// The comparison `name`; those that end in u hold for NaN as well.
#define RADDLE_HALF_COMPARISON(T, T2, name, operation, inverse)                    \
  RADDLE_BOTH bool __h##name(T x, T y) { return (float)x operation(float) y; }     \
  RADDLE_BOTH bool __h##name##u(T x, T y) { return !((float)x inverse(float) y); } \
  RADDLE_HALF_COMPARISON_OF_PAIRS(T, T2, name)                                     \
  RADDLE_HALF_COMPARISON_OF_PAIRS(T, T2, name##u)                                  \
  RADDLE_BOTH bool operator operation(T x, T y) { return __h##name(x, y); }        \
  RADDLE_BOTH bool operator operation(T2 x, T2 y) { return __hb##name##2(x, y); }
#define RADDLE_HALF_COMPARISON_OF_PAIRS(T, T2, name)                                                \
  RADDLE_BOTH T2 __h##name##2(T2 x, T2 y) {                                                         \
    return {T(__h##name(x.x, y.x) ? 1.0f : 0.0f), T(__h##name(x.y, y.y) ? 1.0f : 0.0f)};            \
  }                                                                                                 \
  RADDLE_BOTH bool __hb##name##2(T2 x, T2 y) { return __h##name(x.x, y.x) && __h##name(x.y, y.y); } \
  RADDLE_BOTH unsigned int __h##name##2_mask(T2 x, T2 y) {                                          \
    return (__h##name(x.x, y.x) ? 0xffffu : 0u) | (__h##name(x.y, y.y) ? 0xffff0000u : 0u);         \
  }
// `ne` holds for NaN in operator!= and not in __hne.
#define RADDLE_HALF_COMPARISONS(T, T2)                                                                  \
  RADDLE_HALF_COMPARISON(T, T2, lt, <, >=)                                                              \
  RADDLE_HALF_COMPARISON(T, T2, le, <=, >)                                                              \
  RADDLE_HALF_COMPARISON(T, T2, gt, >, <=)                                                              \
  RADDLE_HALF_COMPARISON(T, T2, ge, >=, <)                                                              \
  RADDLE_BOTH bool __heq(T x, T y) { return (float)x == (float)y; }                                     \
  RADDLE_BOTH bool __hisnan(T x) { return (float)x != (float)x; }                                       \
  RADDLE_BOTH bool __hequ(T x, T y) { return __heq(x, y) || __hisnan(x) || __hisnan(y); }               \
  RADDLE_BOTH bool __hneu(T x, T y) { return !__heq(x, y); }                                            \
  RADDLE_BOTH bool __hne(T x, T y) { return !__hequ(x, y); }                                            \
  RADDLE_HALF_COMPARISON_OF_PAIRS(T, T2, eq)                                                            \
  RADDLE_HALF_COMPARISON_OF_PAIRS(T, T2, equ)                                                           \
  RADDLE_HALF_COMPARISON_OF_PAIRS(T, T2, ne)                                                            \
  RADDLE_HALF_COMPARISON_OF_PAIRS(T, T2, neu)                                                           \
  RADDLE_BOTH bool operator==(T x, T y) { return __heq(x, y); }                                         \
  RADDLE_BOTH bool operator!=(T x, T y) { return __hneu(x, y); }                                        \
  RADDLE_BOTH bool operator==(T2 x, T2 y) { return __hbeq2(x, y); }                                     \
  RADDLE_BOTH bool operator!=(T2 x, T2 y) { return __hbneu2(x, y); }                                    \
  RADDLE_BOTH int __hisinf(T x) {                                                                       \
    return (float)x == __builtin_huge_valf() ? 1 : (float)x == -__builtin_huge_valf() ? -1 : 0;         \
  }                                                                                                     \
  RADDLE_BOTH T2 __hisnan2(T2 x) {                                                                      \
    return {T(__hisnan(x.x) ? 1.0f : 0.0f), T(__hisnan(x.y) ? 1.0f : 0.0f)};                            \
  }                                                                                                     \
  RADDLE_BOTH T __hmax(T x, T y) {                                                                      \
    if (__hisnan(x)) return y;                                                                          \
    return __hisnan(y) || (float)y < (float)x || ((float)x == (float)y && !raddle_negative(x)) ? x : y; \
  }                                                                                                     \
  RADDLE_BOTH T __hmin(T x, T y) {                                                                      \
    if (__hisnan(x)) return y;                                                                          \
    return __hisnan(y) || (float)x < (float)y || ((float)x == (float)y && raddle_negative(x)) ? x : y;  \
  }                                                                                                     \
  RADDLE_BOTH T __hmax_nan(T x, T y) { return __hisnan(x) ? x : __hisnan(y) ? y : __hmax(x, y); }       \
  RADDLE_BOTH T __hmin_nan(T x, T y) { return __hisnan(x) ? x : __hisnan(y) ? y : __hmin(x, y); }       \
  RADDLE_PAIRWISE(T2, __hmax2, __hmax)                                                                  \
  RADDLE_PAIRWISE(T2, __hmin2, __hmin)                                                                  \
  RADDLE_PAIRWISE(T2, __hmax2_nan, __hmax_nan)                                                          \
  RADDLE_PAIRWISE(T2, __hmin2_nan, __hmin_nan)

template <typename T>
RADDLE_BOTH bool raddle_negative(T x) {
  return (__builtin_bit_cast(unsigned short, x) & 0x8000) != 0;
}

// Kernels' functions of one number, by way of float.
#define RADDLE_HALF_FUNCTION(T, T2, name, of_float)              \
  RADDLE_DEVICE T h##name(T x) { return T(of_float((float)x)); } \
  RADDLE_DEVICE T2 h2##name(T2 x) { return {h##name(x.x), h##name(x.y)}; }
#define RADDLE_HALF_MATH(T, T2)                   \
  RADDLE_HALF_FUNCTION(T, T2, sqrt, __nv_sqrtf)   \
  RADDLE_HALF_FUNCTION(T, T2, rsqrt, __frsqrt_rn) \
  RADDLE_HALF_FUNCTION(T, T2, rcp, __frcp_rn)     \
  RADDLE_HALF_FUNCTION(T, T2, exp, __nv_expf)     \
  RADDLE_HALF_FUNCTION(T, T2, exp2, __nv_exp2f)   \
  RADDLE_HALF_FUNCTION(T, T2, exp10, __nv_exp10f) \
  RADDLE_HALF_FUNCTION(T, T2, log, __nv_logf)     \
  RADDLE_HALF_FUNCTION(T, T2, log2, __nv_log2f)   \
  RADDLE_HALF_FUNCTION(T, T2, log10, __nv_log10f) \
  RADDLE_HALF_FUNCTION(T, T2, sin, __nv_sinf)     \
  RADDLE_HALF_FUNCTION(T, T2, cos, __nv_cosf)     \
  RADDLE_HALF_FUNCTION(T, T2, tanh, __nv_tanhf)   \
  RADDLE_HALF_FUNCTION(T, T2, floor, __nv_floorf) \
  RADDLE_HALF_FUNCTION(T, T2, ceil, __nv_ceilf)   \
  RADDLE_HALF_FUNCTION(T, T2, trunc, __nv_truncf) \
  RADDLE_HALF_FUNCTION(T, T2, rint, __nv_rintf)

// Operations that follow from __hfma of T.
#define RADDLE_HALF_FMA(T, T2)                                                                         \
  RADDLE_BOTH T __hfma_sat(T x, T y, T z) { return raddle_saturated(__hfma(x, y, z)); }                \
  RADDLE_BOTH T __hfma_relu(T x, T y, T z) {                                                           \
    const T value = __hfma(x, y, z);                                                                   \
    return (float)value <= 0.0f ? T(0.0f) : value;                                                     \
  }                                                                                                    \
  RADDLE_BOTH T2 __hfma2(T2 x, T2 y, T2 z) { return {__hfma(x.x, y.x, z.x), __hfma(x.y, y.y, z.y)}; }  \
  RADDLE_BOTH T2 __hfma2_sat(T2 x, T2 y, T2 z) {                                                       \
    return {__hfma_sat(x.x, y.x, z.x), __hfma_sat(x.y, y.y, z.y)};                                     \
  }                                                                                                    \
  RADDLE_BOTH T2 __hfma2_relu(T2 x, T2 y, T2 z) {                                                      \
    return {__hfma_relu(x.x, y.x, z.x), __hfma_relu(x.y, y.y, z.y)};                                   \
  }                                                                                                    \
  /* Complex numbers: x y + z. */                                                                      \
  RADDLE_BOTH T2 __hcmadd(T2 x, T2 y, T2 z) {                                                          \
    return {__hfma(__hneg(x.y), y.y, __hfma(x.x, y.x, z.x)), __hfma(x.y, y.x, __hfma(x.x, y.y, z.y))}; \
  }
