// make_int4(x, y, z, w) and the like: one for each vector type.
// Source: CUDA C++ Programming Guide, "Built-in Vector Types".
#pragma once

#include "raddle/cuda/vector_types.h"

#define RADDLE_MAKE_VECTORS(name, type)                                                               \
  static inline __host__ __device__ name##1 make_##name##1(type x) { return name##1 {x}; }            \
  static inline __host__ __device__ name##2 make_##name##2(type x, type y) { return name##2 {x, y}; } \
  static inline __host__ __device__ name##3 make_##name##3(type x, type y, type z) {                  \
    return name##3 {x, y, z};                                                                         \
  }                                                                                                   \
  RADDLE_MAKE_VECTOR_OF_4(name##4, type)
#define RADDLE_MAKE_VECTOR_OF_4(name, type)                                            \
  static inline __host__ __device__ name make_##name(type x, type y, type z, type w) { \
    return name{x, y, z, w};                                                           \
  }
#define RADDLE_MAKE_WIDE_VECTORS(name, type) \
  RADDLE_MAKE_VECTORS(name, type)            \
  RADDLE_MAKE_VECTOR_OF_4(name##4_16a, type) \
  RADDLE_MAKE_VECTOR_OF_4(name##4_32a, type)
RADDLE_MAKE_VECTORS(char, signed char)
RADDLE_MAKE_VECTORS(uchar, unsigned char)
RADDLE_MAKE_VECTORS(short, short)
RADDLE_MAKE_VECTORS(ushort, unsigned short)
RADDLE_MAKE_VECTORS(int, int)
RADDLE_MAKE_VECTORS(uint, unsigned int)
RADDLE_MAKE_VECTORS(float, float)
RADDLE_MAKE_WIDE_VECTORS(long, long)
RADDLE_MAKE_WIDE_VECTORS(ulong, unsigned long)
RADDLE_MAKE_WIDE_VECTORS(longlong, long long)
RADDLE_MAKE_WIDE_VECTORS(ulonglong, unsigned long long)
RADDLE_MAKE_WIDE_VECTORS(double, double)
#undef RADDLE_MAKE_WIDE_VECTORS
#undef RADDLE_MAKE_VECTOR_OF_4
#undef RADDLE_MAKE_VECTORS
