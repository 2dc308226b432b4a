// __half and __half2: types, conversions, arithmetic, comparisons, math, atomics; on host and device. clang's
// _Float16 computes: with PTX's .f16 instructions in kernels, by way of float on the host, rounded after each
// operation. Long, because the API is: one line or one macro call for each function. Source: CUDA Math API,
// "Half Precision Intrinsics".
#pragma once

#define __CUDA_FP16_H__  // programs ask by it whether the types are there

#include "raddle/cuda/cuda_runtime.h"

struct __half_raw {
  unsigned short x;
};
struct __half2_raw {
  unsigned short x, y;
};

struct __align__(2) __half {
  unsigned short __x;  // by this name libcu++ takes its bits

  __half() = default;
  RADDLE_MEMBER constexpr __half(_Float16 value) : __x(__builtin_bit_cast(unsigned short, value)) {}
  RADDLE_MEMBER constexpr __half(float value) : __half((_Float16)value) {}
  RADDLE_MEMBER constexpr __half(double value) : __half((_Float16)value) {}
  RADDLE_MEMBER constexpr __half(int value) : __half((_Float16)value) {}
  RADDLE_MEMBER constexpr __half(unsigned int value) : __half((_Float16)value) {}
  RADDLE_MEMBER constexpr __half(short value) : __half((_Float16)value) {}
  RADDLE_MEMBER constexpr __half(unsigned short value) : __half((_Float16)value) {}
  RADDLE_MEMBER constexpr __half(long value) : __half((_Float16)value) {}
  RADDLE_MEMBER constexpr __half(unsigned long value) : __half((_Float16)value) {}
  RADDLE_MEMBER constexpr __half(long long value) : __half((_Float16)value) {}
  RADDLE_MEMBER constexpr __half(unsigned long long value) : __half((_Float16)value) {}
  RADDLE_MEMBER constexpr __half(__half_raw raw) : __x(raw.x) {}
  RADDLE_MEMBER constexpr operator float() const { return (float)raddle_value; }
  RADDLE_MEMBER constexpr operator __half_raw() const { return __half_raw{__x}; }
  __declspec(property(get = raddle_get_value)) _Float16 raddle_value;
  RADDLE_MEMBER constexpr _Float16 raddle_get_value() const { return __builtin_bit_cast(_Float16, __x); }
#define RADDLE_TO_WHOLE(type) \
  RADDLE_MEMBER constexpr explicit operator type() const { return (type)raddle_value; }
  RADDLE_TO_WHOLE(bool)
  RADDLE_TO_WHOLE(int)
  RADDLE_TO_WHOLE(unsigned int)
  RADDLE_TO_WHOLE(short)
  RADDLE_TO_WHOLE(unsigned short)
  RADDLE_TO_WHOLE(long)
  RADDLE_TO_WHOLE(unsigned long)
  RADDLE_TO_WHOLE(long long)
  RADDLE_TO_WHOLE(unsigned long long)
#undef RADDLE_TO_WHOLE
};
using half = __half;

struct __align__(4) __half2 {
  __half x, y;
  __half2() = default;
  RADDLE_MEMBER constexpr __half2(__half low, __half high) : x(low), y(high) {}
};
using half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;

RADDLE_BOTH __half raddle_half(_Float16 value) { return __half(value); }

// Conversions. Those of a named rounding are the kernel's alone, but for the nearest even.
RADDLE_BOTH __half __float2half(float x) { return x; }
RADDLE_BOTH __half __float2half_rn(float x) { return x; }
RADDLE_BOTH __half __double2half(double x) { return x; }
RADDLE_BOTH float __half2float(__half x) { return x; }
#define RADDLE_TO_HALF(name, rounding)                             \
  RADDLE_DEVICE __half name(float x) {                             \
    unsigned short bits;                                           \
    asm("cvt." rounding ".f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); \
    return __half_raw{bits};                                       \
  }
RADDLE_TO_HALF(__float2half_rz, "rz")
RADDLE_TO_HALF(__float2half_rd, "rm")
RADDLE_TO_HALF(__float2half_ru, "rp")
#undef RADDLE_TO_HALF
#define RADDLE_HALF_AND_WHOLE(word, type, ptx, letter, register_type, cuda, rounding, cvt_to_whole) \
  RADDLE_DEVICE type __half2##word##_##cuda(__half x) {                                             \
    register_type whole;                                                                            \
    asm("cvt." cvt_to_whole "." ptx ".f16 %0, %1;" : letter(whole) : "h"(__half_raw(x).x));         \
    return (type)whole;                                                                             \
  }
#define RADDLE_HALF_AND_WHOLE_ROUNDINGS(word, type, ptx, letter, register_type)  \
  RADDLE_HALF_AND_WHOLE(word, type, ptx, letter, register_type, rn, "rn", "rni") \
  RADDLE_HALF_AND_WHOLE(word, type, ptx, letter, register_type, rz, "rz", "rzi") \
  RADDLE_HALF_AND_WHOLE(word, type, ptx, letter, register_type, rd, "rm", "rmi") \
  RADDLE_HALF_AND_WHOLE(word, type, ptx, letter, register_type, ru, "rp", "rpi")
RADDLE_HALF_AND_WHOLE_ROUNDINGS(int, int, "s32", "=r", int)
RADDLE_HALF_AND_WHOLE_ROUNDINGS(uint, unsigned int, "u32", "=r", unsigned int)
RADDLE_HALF_AND_WHOLE_ROUNDINGS(short, short, "s16", "=h", short)
RADDLE_HALF_AND_WHOLE_ROUNDINGS(ushort, unsigned short, "u16", "=h", unsigned short)
RADDLE_HALF_AND_WHOLE_ROUNDINGS(ll, long long, "s64", "=l", long long)
RADDLE_HALF_AND_WHOLE_ROUNDINGS(ull, unsigned long long, "u64", "=l", unsigned long long)
#undef RADDLE_HALF_AND_WHOLE_ROUNDINGS
#undef RADDLE_HALF_AND_WHOLE
#define RADDLE_WHOLE_TO_HALF(word, type, ptx, letter, cuda, rounding)     \
  RADDLE_DEVICE __half __##word##2half_##cuda(type x) {                   \
    unsigned short bits;                                                  \
    asm("cvt." rounding ".f16." ptx " %0, %1;" : "=h"(bits) : letter(x)); \
    return __half_raw{bits};                                              \
  }
#define RADDLE_WHOLE_TO_HALF_ROUNDINGS(word, type, ptx, letter) \
  RADDLE_WHOLE_TO_HALF(word, type, ptx, letter, rn, "rn")       \
  RADDLE_WHOLE_TO_HALF(word, type, ptx, letter, rz, "rz")       \
  RADDLE_WHOLE_TO_HALF(word, type, ptx, letter, rd, "rm")       \
  RADDLE_WHOLE_TO_HALF(word, type, ptx, letter, ru, "rp")
RADDLE_WHOLE_TO_HALF_ROUNDINGS(int, int, "s32", "r")
RADDLE_WHOLE_TO_HALF_ROUNDINGS(uint, unsigned int, "u32", "r")
RADDLE_WHOLE_TO_HALF_ROUNDINGS(short, short, "s16", "h")
RADDLE_WHOLE_TO_HALF_ROUNDINGS(ushort, unsigned short, "u16", "h")
RADDLE_WHOLE_TO_HALF_ROUNDINGS(ll, long long, "s64", "l")
RADDLE_WHOLE_TO_HALF_ROUNDINGS(ull, unsigned long long, "u64", "l")
#undef RADDLE_WHOLE_TO_HALF_ROUNDINGS
#undef RADDLE_WHOLE_TO_HALF
RADDLE_DEVICE signed char __half2char_rz(__half x) {
  return (signed char)max(min(__half2int_rz(x), 127), -128);
}
RADDLE_DEVICE unsigned char __half2uchar_rz(__half x) { return (unsigned char)min(__half2uint_rz(x), 255u); }
RADDLE_BOTH short __half_as_short(__half x) { return (short)__half_raw(x).x; }
RADDLE_BOTH unsigned short __half_as_ushort(__half x) { return __half_raw(x).x; }
RADDLE_BOTH __half __short_as_half(short x) { return __half_raw{(unsigned short)x}; }
RADDLE_BOTH __half __ushort_as_half(unsigned short x) { return __half_raw{x}; }

// Pairs.
RADDLE_BOTH __half2 make_half2(__half x, __half y) { return {x, y}; }
RADDLE_BOTH __half2 __halves2half2(__half x, __half y) { return {x, y}; }
RADDLE_BOTH __half2 __half2half2(__half x) { return {x, x}; }
RADDLE_BOTH __half2 __float2half2_rn(float x) { return {x, x}; }
RADDLE_BOTH __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
RADDLE_BOTH __half2 __float22half2_rn(float2 x) { return {x.x, x.y}; }
RADDLE_BOTH float2 __half22float2(__half2 x) { return float2{x.x, x.y}; }
RADDLE_BOTH __half __low2half(__half2 x) { return x.x; }
RADDLE_BOTH __half __high2half(__half2 x) { return x.y; }
RADDLE_BOTH float __low2float(__half2 x) { return x.x; }
RADDLE_BOTH float __high2float(__half2 x) { return x.y; }
RADDLE_BOTH __half2 __low2half2(__half2 x) { return {x.x, x.x}; }
RADDLE_BOTH __half2 __high2half2(__half2 x) { return {x.y, x.y}; }
RADDLE_BOTH __half2 __lows2half2(__half2 x, __half2 y) { return {x.x, y.x}; }
RADDLE_BOTH __half2 __highs2half2(__half2 x, __half2 y) { return {x.y, y.y}; }
RADDLE_BOTH __half2 __lowhigh2highlow(__half2 x) { return {x.y, x.x}; }

#include "raddle/cuda/device/half_arithmetic.h"
RADDLE_HALF_ARITHMETIC(__half, __half2, raddle_half)
RADDLE_HALF_COMPARISONS(__half, __half2)
RADDLE_HALF_MATH(__half, __half2)
RADDLE_BOTH __half __hfma(__half x, __half y, __half z) {
#ifdef __CUDA_ARCH__
  return (_Float16)__nvvm_fma_rn_f16(x.raddle_value, y.raddle_value, z.raddle_value);
#else
  return (_Float16)__builtin_fma((double)x.raddle_value, (double)y.raddle_value, (double)z.raddle_value);
#endif
}
RADDLE_HALF_FMA(__half, __half2)
RADDLE_DEVICE __half htanh_approx(__half x) { return __tanhf(x); }
RADDLE_DEVICE __half2 h2tanh_approx(__half2 x) { return {htanh_approx(x.x), htanh_approx(x.y)}; }

// atomicAdd of one and of two.
#define RADDLE_HALF_ATOMIC(scope, modifier)                                   \
  RADDLE_DEVICE __half atomicAdd##scope(__half* address, __half value) {      \
    unsigned short old;                                                       \
    asm volatile("atom" modifier ".add.noftz.f16 %0, [%1], %2;"               \
                 : "=h"(old)                                                  \
                 : "l"(address), "h"(__half_raw(value).x)                     \
                 : "memory");                                                 \
    return __half_raw{old};                                                   \
  }                                                                           \
  RADDLE_DEVICE __half2 atomicAdd##scope(__half2* address, __half2 value) {   \
    unsigned int old;                                                         \
    asm volatile("atom" modifier ".add.noftz.f16x2 %0, [%1], %2;"             \
                 : "=r"(old)                                                  \
                 : "l"(address), "r"(__builtin_bit_cast(unsigned int, value)) \
                 : "memory");                                                 \
    return __builtin_bit_cast(__half2, old);                                  \
  }
RADDLE_HALF_ATOMIC(, "")
RADDLE_HALF_ATOMIC(_block, ".cta")
RADDLE_HALF_ATOMIC(_system, ".sys")
#undef RADDLE_HALF_ATOMIC
