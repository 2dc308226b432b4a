// __nv_bfloat16 and __nv_bfloat162: types, conversions, arithmetic, comparisons, math, atomics; on host and
// device. One operation is computed in float and rounded once, which is what PTX's .bf16 instructions give;
// fma in double, by odd rounding. Source: CUDA Math API, "Bfloat16 Precision Intrinsics".
#pragma once

#define __CUDA_BF16_H__  // programs ask by it whether the types are there

#include "raddle/cuda/cuda_runtime.h"

struct __nv_bfloat16_raw {
  unsigned short x;
};

/// The bfloat16 nearest to x, the even one of two; bits.
RADDLE_BOTH constexpr unsigned short raddle_bfloat16_bits(float x) {
  const unsigned int bits = __builtin_bit_cast(unsigned int, x);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
RADDLE_BOTH constexpr float raddle_bfloat16_value(unsigned short bits) {
  return __builtin_bit_cast(float, (unsigned int)bits << 16);
}

struct __align__(2) __nv_bfloat16 {
  unsigned short __x;

  __nv_bfloat16() = default;
  RADDLE_MEMBER constexpr __nv_bfloat16(float value) : __x(raddle_bfloat16_bits(value)) {}
  RADDLE_MEMBER constexpr __nv_bfloat16(double value) : __x(raddle_bfloat16_bits(raddle_odd(value))) {}
#define RADDLE_FROM_WHOLE(type) \
  RADDLE_MEMBER constexpr __nv_bfloat16(type value) : __nv_bfloat16((double)value) {}
  RADDLE_FROM_WHOLE(int)
  RADDLE_FROM_WHOLE(unsigned int)
  RADDLE_FROM_WHOLE(short)
  RADDLE_FROM_WHOLE(unsigned short)
#undef RADDLE_FROM_WHOLE
  RADDLE_MEMBER constexpr __nv_bfloat16(__nv_bfloat16_raw raw) : __x(raw.x) {}
  RADDLE_MEMBER constexpr operator float() const { return raddle_bfloat16_value(__x); }
  RADDLE_MEMBER constexpr operator __nv_bfloat16_raw() const { return __nv_bfloat16_raw{__x}; }
  RADDLE_MEMBER constexpr explicit operator bool() const { return (__x & 0x7fff) != 0; }
  RADDLE_MEMBER constexpr explicit operator int() const { return (int)(float)*this; }
  RADDLE_MEMBER constexpr explicit operator unsigned int() const { return (unsigned int)(float)*this; }

  /// x as a float whose last bit is set where bits were lost: rounding it again is as rounding x.
  static RADDLE_MEMBER constexpr float raddle_odd(double x) {
    const float near = (float)x;
    if ((double)near == x || near != near) return near;
    unsigned int bits = __builtin_bit_cast(unsigned int, near);
    const bool away = (near < 0 ? -(double)near : (double)near) > (x < 0 ? -x : x);
    if (away) --bits;  // towards zero
    return __builtin_bit_cast(float, bits | 1);
  }
  // Arithmetic for half_arithmetic.h.
  __declspec(property(get = raddle_get_value)) float raddle_value;
  RADDLE_MEMBER constexpr float raddle_get_value() const { return *this; }
};
struct __align__(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  RADDLE_MEMBER constexpr __nv_bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) : x(low), y(high) {}
};
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

RADDLE_BOTH __nv_bfloat16 raddle_bfloat16(float x) { return x; }
RADDLE_BOTH __nv_bfloat16 __float2bfloat16(float x) { return x; }
RADDLE_BOTH __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
RADDLE_BOTH __nv_bfloat16 __float2bfloat16_rz(float x) {
  const unsigned int bits = __builtin_bit_cast(unsigned int, x);
  return __nv_bfloat16_raw{(bits & 0x7fffffff) > 0x7f800000 ? (unsigned short)0x7fff
                                                            : (unsigned short)(bits >> 16)};
}
RADDLE_BOTH __nv_bfloat16 __double2bfloat16(double x) { return x; }
RADDLE_BOTH float __bfloat162float(__nv_bfloat16 x) { return x; }
RADDLE_BOTH __nv_bfloat16 __int2bfloat16_rn(int x) { return x; }
RADDLE_BOTH __nv_bfloat16 __uint2bfloat16_rn(unsigned int x) { return x; }
RADDLE_DEVICE int __bfloat162int_rn(__nv_bfloat16 x) { return __float2int_rn(x); }
RADDLE_DEVICE int __bfloat162int_rz(__nv_bfloat16 x) { return __float2int_rz(x); }
RADDLE_DEVICE unsigned int __bfloat162uint_rn(__nv_bfloat16 x) { return __float2uint_rn(x); }
RADDLE_DEVICE unsigned int __bfloat162uint_rz(__nv_bfloat16 x) { return __float2uint_rz(x); }
// Other whole numbers: every one of 16 bits or fewer is exact in float, and of 64 bits in the sense of
// raddle_odd.
RADDLE_BOTH __nv_bfloat16 __short2bfloat16_rn(short x) { return (float)x; }
RADDLE_BOTH __nv_bfloat16 __ushort2bfloat16_rn(unsigned short x) { return (float)x; }
RADDLE_DEVICE __nv_bfloat16 __ll2bfloat16_rn(long long x) {  // to zero in double, odd where that lost bits
  const double near = __ll2double_rz(x);
  return __longlong_as_double(__double_as_longlong(near) | (__double2ll_rz(near) != x));
}
RADDLE_DEVICE __nv_bfloat16 __ull2bfloat16_rn(unsigned long long x) {
  const double near = __ull2double_rz(x);
  return __longlong_as_double(__double_as_longlong(near) | (__double2ull_rz(near) != x));
}
RADDLE_DEVICE short __bfloat162short_rn(__nv_bfloat16 x) {
  return (short)max(min(__float2int_rn(x), 32767), -32768);
}
RADDLE_DEVICE unsigned short __bfloat162ushort_rn(__nv_bfloat16 x) {
  return (unsigned short)min(__float2uint_rn(x), 65535u);
}
RADDLE_DEVICE long long __bfloat162ll_rn(__nv_bfloat16 x) { return __float2ll_rn(x); }
RADDLE_DEVICE unsigned long long __bfloat162ull_rn(__nv_bfloat16 x) { return __float2ull_rn(x); }
RADDLE_BOTH short __bfloat16_as_short(__nv_bfloat16 x) { return (short)x.__x; }
RADDLE_BOTH unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.__x; }
RADDLE_BOTH __nv_bfloat16 __short_as_bfloat16(short x) { return __nv_bfloat16_raw{(unsigned short)x}; }
RADDLE_BOTH __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __nv_bfloat16_raw{x}; }

RADDLE_BOTH __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
RADDLE_BOTH __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
RADDLE_BOTH __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
RADDLE_BOTH __nv_bfloat162 __float2bfloat162_rn(float x) { return {x, x}; }
RADDLE_BOTH __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
RADDLE_BOTH __nv_bfloat162 __float22bfloat162_rn(float2 x) { return {x.x, x.y}; }
RADDLE_BOTH float2 __bfloat1622float2(__nv_bfloat162 x) { return float2{x.x, x.y}; }
RADDLE_BOTH __nv_bfloat16 __low2bfloat16(__nv_bfloat162 x) { return x.x; }
RADDLE_BOTH __nv_bfloat16 __high2bfloat16(__nv_bfloat162 x) { return x.y; }
RADDLE_BOTH float __low2float(__nv_bfloat162 x) { return x.x; }
RADDLE_BOTH float __high2float(__nv_bfloat162 x) { return x.y; }
RADDLE_BOTH __nv_bfloat162 __low2bfloat162(__nv_bfloat162 x) { return {x.x, x.x}; }
RADDLE_BOTH __nv_bfloat162 __high2bfloat162(__nv_bfloat162 x) { return {x.y, x.y}; }
RADDLE_BOTH __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 x) { return {x.y, x.x}; }

#include "raddle/cuda/device/half_arithmetic.h"
RADDLE_HALF_ARITHMETIC(__nv_bfloat16, __nv_bfloat162, raddle_bfloat16)
RADDLE_HALF_COMPARISONS(__nv_bfloat16, __nv_bfloat162)
RADDLE_HALF_MATH(__nv_bfloat16, __nv_bfloat162)
RADDLE_BOTH __nv_bfloat16 __hfma(__nv_bfloat16 x, __nv_bfloat16 y, __nv_bfloat16 z) {
#ifdef __CUDA_ARCH__
  unsigned short bits;
  asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(bits) : "h"(x.__x), "h"(y.__x), "h"(z.__x));
  return __nv_bfloat16_raw{bits};
#else
  // The product is exact in double; the sum's lost bits are kept as an odd last bit before it is rounded.
  const double product = (double)(float)x * (double)(float)y, addend = (double)(float)z,
               sum = product + addend;
  const double other = sum - product, lost = (product - (sum - other)) + (addend - other);
  long long bits = __builtin_bit_cast(long long, sum);
  if (lost == lost && lost != 0 && (bits & 1) == 0) bits += (lost > 0) == (sum > 0) ? 1 : -1;
  return lost == lost && lost != 0 ? __builtin_bit_cast(double, bits) : sum;
#endif
}
RADDLE_HALF_FMA(__nv_bfloat16, __nv_bfloat162)

// atomicAdd of one and of two.
RADDLE_DEVICE __nv_bfloat16 atomicAdd(__nv_bfloat16* address, __nv_bfloat16 value) {
  unsigned short old;
  asm volatile("atom.add.noftz.bf16 %0, [%1], %2;" : "=h"(old) : "l"(address), "h"(value.__x) : "memory");
  return __nv_bfloat16_raw{old};
}
RADDLE_DEVICE __nv_bfloat162 atomicAdd(__nv_bfloat162* address, __nv_bfloat162 value) {
  unsigned int old;
  asm volatile("atom.add.noftz.bf16x2 %0, [%1], %2;"
               : "=r"(old)
               : "l"(address), "r"(__builtin_bit_cast(unsigned int, value))
               : "memory");
  return __builtin_bit_cast(__nv_bfloat162, old);
}
