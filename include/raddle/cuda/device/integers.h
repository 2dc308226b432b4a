// Integer functions: bits, bytes, products, averages, dot products, minima and absolute values.
// Source: CUDA Math API, "Integer Mathematical Functions" and "Integer Intrinsics".
#pragma once

#include "raddle/cuda/device/attributes.h"
#include "raddle/cuda/vector_types.h"

// Bits and bytes.
RADDLE_DEVICE int __popc(unsigned int x) { return __builtin_popcount(x); }
RADDLE_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
RADDLE_DEVICE int __clz(int x) { return x != 0 ? __builtin_clz(x) : 32; }
RADDLE_DEVICE int __clzll(long long x) { return x != 0 ? __builtin_clzll(x) : 64; }
RADDLE_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
RADDLE_DEVICE int __ffsll(long long x) { return __builtin_ffsll(x); }
RADDLE_DEVICE unsigned int __brev(unsigned int x) { return __builtin_bitreverse32(x); }
RADDLE_DEVICE unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
RADDLE_DEVICE unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
  return __nvvm_prmt(x, y, selector);
}
RADDLE_DEVICE unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
  unsigned int bit;
  asm("fns.b32 %0, %1, %2, %3;" : "=r"(bit) : "r"(mask), "r"(base), "r"(offset));
  return bit;
}

// The high or low word of (high:low) shifted by `count` modulo 32, or by at most 32 with `c`.
#define RADDLE_FUNNEL_SHIFT(name, instruction)                                                       \
  RADDLE_DEVICE unsigned int name(unsigned int low, unsigned int high, unsigned int count) {         \
    unsigned int result;                                                                             \
    asm("shf." instruction ".b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(count)); \
    return result;                                                                                   \
  }
RADDLE_FUNNEL_SHIFT(__funnelshift_l, "l.wrap")
RADDLE_FUNNEL_SHIFT(__funnelshift_lc, "l.clamp")
RADDLE_FUNNEL_SHIFT(__funnelshift_r, "r.wrap")
RADDLE_FUNNEL_SHIFT(__funnelshift_rc, "r.clamp")
#undef RADDLE_FUNNEL_SHIFT

// High halves of products, products of 24 bits, sums of absolute differences.
RADDLE_DEVICE int __mulhi(int x, int y) { return (int)(((long long)x * y) >> 32); }
RADDLE_DEVICE unsigned int __umulhi(unsigned int x, unsigned int y) {
  return (unsigned int)(((unsigned long long)x * y) >> 32);
}
RADDLE_DEVICE long long __mul64hi(long long x, long long y) { return __nvvm_mulhi_ll(x, y); }
RADDLE_DEVICE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return __nvvm_mulhi_ull(x, y);
}
RADDLE_DEVICE int __mul24(int x, int y) { return __nvvm_mul24_i(x, y); }
RADDLE_DEVICE unsigned int __umul24(unsigned int x, unsigned int y) { return __nvvm_mul24_ui(x, y); }
RADDLE_DEVICE unsigned int __sad(int x, int y, unsigned int z) { return __nvvm_sad_i(x, y, z); }
RADDLE_DEVICE unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) {
  return __nvvm_sad_ui(x, y, z);
}

// Averages, rounded down and up.
RADDLE_DEVICE int __hadd(int x, int y) { return (int)(((long long)x + y) >> 1); }
RADDLE_DEVICE int __rhadd(int x, int y) { return (int)(((long long)x + y + 1) >> 1); }
RADDLE_DEVICE unsigned int __uhadd(unsigned int x, unsigned int y) {
  return (unsigned int)(((unsigned long long)x + y) >> 1);
}
RADDLE_DEVICE unsigned int __urhadd(unsigned int x, unsigned int y) {
  return (unsigned int)(((unsigned long long)x + y + 1) >> 1);
}

// Dot products of bytes, and of two of them with 16-bit numbers, added to a sum.
#define RADDLE_DOT(name, instruction, type)                                        \
  RADDLE_DEVICE type name(type a, type b, type sum) {                              \
    type result;                                                                   \
    asm(instruction " %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum)); \
    return result;                                                                 \
  }
RADDLE_DOT(__dp4a, "dp4a.s32.s32", int)
RADDLE_DOT(__dp4a, "dp4a.u32.u32", unsigned int)
RADDLE_DOT(__dp2a_lo, "dp2a.lo.s32.s32", int)
RADDLE_DOT(__dp2a_lo, "dp2a.lo.u32.u32", unsigned int)
RADDLE_DOT(__dp2a_hi, "dp2a.hi.s32.s32", int)
RADDLE_DOT(__dp2a_hi, "dp2a.hi.u32.u32", unsigned int)
#undef RADDLE_DOT
RADDLE_DEVICE int __dp4a(char4 a, char4 b, int sum) {
  return __dp4a(__builtin_bit_cast(int, a), __builtin_bit_cast(int, b), sum);
}
RADDLE_DEVICE unsigned int __dp4a(uchar4 a, uchar4 b, unsigned int sum) {
  return __dp4a(__builtin_bit_cast(unsigned int, a), __builtin_bit_cast(unsigned int, b), sum);
}

// Minima and maxima, on the host too, and absolute values. Mixed signs compare as unsigned numbers, as in C.
#define RADDLE_EXTREMES(type)                                    \
  RADDLE_BOTH type min(type a, type b) { return b < a ? b : a; } \
  RADDLE_BOTH type max(type a, type b) { return a < b ? b : a; }
RADDLE_EXTREMES(int)
RADDLE_EXTREMES(unsigned int)
RADDLE_EXTREMES(long)
RADDLE_EXTREMES(unsigned long)
RADDLE_EXTREMES(long long)
RADDLE_EXTREMES(unsigned long long)
#undef RADDLE_EXTREMES
#define RADDLE_MIXED_EXTREMES(with_sign, type)                          \
  RADDLE_BOTH type min(with_sign a, type b) { return min((type)a, b); } \
  RADDLE_BOTH type min(type a, with_sign b) { return min(a, (type)b); } \
  RADDLE_BOTH type max(with_sign a, type b) { return max((type)a, b); } \
  RADDLE_BOTH type max(type a, with_sign b) { return max(a, (type)b); }
RADDLE_MIXED_EXTREMES(int, unsigned int)
RADDLE_MIXED_EXTREMES(long, unsigned long)
RADDLE_MIXED_EXTREMES(long long, unsigned long long)
#undef RADDLE_MIXED_EXTREMES
RADDLE_DEVICE unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
RADDLE_DEVICE unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }
RADDLE_DEVICE long long llmin(long long a, long long b) { return min(a, b); }
RADDLE_DEVICE long long llmax(long long a, long long b) { return max(a, b); }
RADDLE_DEVICE unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
RADDLE_DEVICE unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
RADDLE_DEVICE int abs(int x) { return x < 0 ? (int)(0u - (unsigned int)x) : x; }
RADDLE_DEVICE long abs(long x) { return x < 0 ? (long)(0ul - (unsigned long)x) : x; }
RADDLE_DEVICE long long abs(long long x) { return x < 0 ? (long long)(0ull - (unsigned long long)x) : x; }
RADDLE_DEVICE long labs(long x) { return abs(x); }
RADDLE_DEVICE long long llabs(long long x) { return abs(x); }
