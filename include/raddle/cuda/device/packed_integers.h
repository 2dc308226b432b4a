// Two halves or four bytes of a word at once: __vadd2, __vcmpeq4, ...; minima and maxima of three, and after
// a sum. Source: CUDA Math API, "SIMD Intrinsics"; PTX ISA, "SIMD Video Instructions".
#pragma once

#include "raddle/cuda/device/integers.h"

// A video instruction of two operands; PTX's third gives unwritten parts or is added to.
#define RADDLE_VIDEO(name, instruction)                                          \
  RADDLE_DEVICE unsigned int name(unsigned int a, unsigned int b) {              \
    unsigned int result;                                                         \
    asm(instruction " %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(0)); \
    return result;                                                               \
  }
// For n parts: name(s)n and name(u)n.
#define RADDLE_VIDEO_OF(n, name, suffix, operation, type, modifier) \
  RADDLE_VIDEO(__v##name##suffix##n, "v" operation #n "." type "." type "." type modifier)
#define RADDLE_VIDEO_BOTH(n, name, operation)       \
  RADDLE_VIDEO_OF(n, name, s, operation, "s32", "") \
  RADDLE_VIDEO_OF(n, name, u, operation, "u32", "")
// Comparisons: 1 in each part where it holds (set), or all ones (cmp).
#define RADDLE_VIDEO_SET(n, ones, name, type, comparison)                      \
  RADDLE_VIDEO(__vset##name##n, "vset" #n "." type "." type "." comparison)    \
  RADDLE_DEVICE unsigned int __vcmp##name##n(unsigned int a, unsigned int b) { \
    return __vset##name##n(a, b) * ones;                                       \
  }
#define RADDLE_VIDEO_ALL(n, ones)                                                       \
  RADDLE_VIDEO_OF(n, add, , "add", "u32", "")                                           \
  RADDLE_VIDEO_OF(n, sub, , "sub", "u32", "")                                           \
  RADDLE_VIDEO_OF(n, add, ss, "add", "s32", ".sat")                                     \
  RADDLE_VIDEO_OF(n, add, us, "add", "u32", ".sat")                                     \
  RADDLE_VIDEO_OF(n, sub, ss, "sub", "s32", ".sat")                                     \
  RADDLE_VIDEO_OF(n, sub, us, "sub", "u32", ".sat")                                     \
  RADDLE_VIDEO_BOTH(n, avg, "avrg")                                                     \
  RADDLE_VIDEO_BOTH(n, min, "min")                                                      \
  RADDLE_VIDEO_BOTH(n, max, "max")                                                      \
  RADDLE_VIDEO_BOTH(n, absdiff, "absdiff")                                              \
  RADDLE_VIDEO_OF(n, sad, s, "absdiff", "s32", ".add")                                  \
  RADDLE_VIDEO_OF(n, sad, u, "absdiff", "u32", ".add")                                  \
  RADDLE_VIDEO_SET(n, ones, eq, "u32", "eq")                                            \
  RADDLE_VIDEO_SET(n, ones, ne, "u32", "ne")                                            \
  RADDLE_VIDEO_SET(n, ones, ges, "s32", "ge")                                           \
  RADDLE_VIDEO_SET(n, ones, geu, "u32", "ge")                                           \
  RADDLE_VIDEO_SET(n, ones, gts, "s32", "gt")                                           \
  RADDLE_VIDEO_SET(n, ones, gtu, "u32", "gt")                                           \
  RADDLE_VIDEO_SET(n, ones, les, "s32", "le")                                           \
  RADDLE_VIDEO_SET(n, ones, leu, "u32", "le")                                           \
  RADDLE_VIDEO_SET(n, ones, lts, "s32", "lt")                                           \
  RADDLE_VIDEO_SET(n, ones, ltu, "u32", "lt")                                           \
  RADDLE_DEVICE unsigned int __vneg##n(unsigned int a) { return __vsub##n(0, a); }      \
  RADDLE_DEVICE unsigned int __vnegss##n(unsigned int a) { return __vsubss##n(0, a); }  \
  RADDLE_DEVICE unsigned int __vabs##n(unsigned int a) { return __vabsdiffs##n(a, 0); } \
  RADDLE_DEVICE unsigned int __vabsss##n(unsigned int a) { return __vmaxs##n(a, __vsubss##n(0, a)); }
RADDLE_VIDEO_ALL(2, 0xffffu)
RADDLE_VIDEO_ALL(4, 0xffu)
#undef RADDLE_VIDEO_ALL
#undef RADDLE_VIDEO_SET
#undef RADDLE_VIDEO_BOTH
#undef RADDLE_VIDEO_OF
#undef RADDLE_VIDEO
// Averages rounded down, without carries between parts.
RADDLE_DEVICE unsigned int __vhaddu2(unsigned int a, unsigned int b) {
  return (a & b) + (((a ^ b) & 0xfffefffeu) >> 1);
}
RADDLE_DEVICE unsigned int __vhaddu4(unsigned int a, unsigned int b) {
  return (a & b) + (((a ^ b) & 0xfefefefeu) >> 1);
}

// Of three numbers, of a sum and a number; with _relu at least 0. For pairs of 16 bits too.
#define RADDLE_EXTREME(kind, suffix, type, function)                                                        \
  RADDLE_DEVICE type __vi##kind##3_##suffix(type a, type b, type c) { return function(function(a, b), c); } \
  RADDLE_DEVICE type __viadd##kind##_##suffix(type a, type b, type c) { return function((type)(a + b), c); }
RADDLE_EXTREME(max, u32, unsigned int, max)
RADDLE_EXTREME(min, u32, unsigned int, min)
RADDLE_EXTREME(max, u16x2, unsigned int, __vmaxu2)
RADDLE_EXTREME(min, u16x2, unsigned int, __vminu2)
#undef RADDLE_EXTREME
#define RADDLE_EXTREME(kind)                                                                              \
  RADDLE_DEVICE int __vi##kind##3_s32(int a, int b, int c) { return kind(kind(a, b), c); }                \
  RADDLE_DEVICE int __viadd##kind##_s32(int a, int b, int c) {                                            \
    return kind((int)((unsigned int)a + (unsigned int)b), c);                                             \
  }                                                                                                       \
  RADDLE_DEVICE int __vi##kind##_s32_relu(int a, int b) { return max(kind(a, b), 0); }                    \
  RADDLE_DEVICE int __vi##kind##3_s32_relu(int a, int b, int c) {                                         \
    return max(__vi##kind##3_s32(a, b, c), 0);                                                            \
  }                                                                                                       \
  RADDLE_DEVICE int __viadd##kind##_s32_relu(int a, int b, int c) {                                       \
    return max(__viadd##kind##_s32(a, b, c), 0);                                                          \
  }                                                                                                       \
  RADDLE_DEVICE unsigned int __vi##kind##3_s16x2(unsigned int a, unsigned int b, unsigned int c) {        \
    return __v##kind##s2(__v##kind##s2(a, b), c);                                                         \
  }                                                                                                       \
  RADDLE_DEVICE unsigned int __viadd##kind##_s16x2(unsigned int a, unsigned int b, unsigned int c) {      \
    return __v##kind##s2(__vadd2(a, b), c);                                                               \
  }                                                                                                       \
  RADDLE_DEVICE unsigned int __vi##kind##_s16x2_relu(unsigned int a, unsigned int b) {                    \
    return __vmaxs2(__v##kind##s2(a, b), 0);                                                              \
  }                                                                                                       \
  RADDLE_DEVICE unsigned int __vi##kind##3_s16x2_relu(unsigned int a, unsigned int b, unsigned int c) {   \
    return __vmaxs2(__vi##kind##3_s16x2(a, b, c), 0);                                                     \
  }                                                                                                       \
  RADDLE_DEVICE unsigned int __viadd##kind##_s16x2_relu(unsigned int a, unsigned int b, unsigned int c) { \
    return __vmaxs2(__viadd##kind##_s16x2(a, b, c), 0);                                                   \
  }
RADDLE_EXTREME(max)
RADDLE_EXTREME(min)
#undef RADDLE_EXTREME
