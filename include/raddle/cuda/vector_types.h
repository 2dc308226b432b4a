// CUDA's vector types: one to four components of a scalar type, and dim3. Those of two and four components
// are aligned as one value, up to 16 bytes; of four 64-bit components there is one of each alignment.
#pragma once

// Type, number of components, components, alignment in bytes.
#define RADDLE_CUDA_VECTOR(name, type, components, alignment) \
  typedef struct name name;                                   \
  struct __attribute__((aligned(alignment))) name {           \
    type components;                                          \
  };
#define RADDLE_CUDA_COMMA ,
#define RADDLE_CUDA_VECTORS_TO_3(name, type, one, two)          \
  RADDLE_CUDA_VECTOR(name##1, type, x, one)                     \
  RADDLE_CUDA_VECTOR(name##2, type, x RADDLE_CUDA_COMMA y, two) \
  RADDLE_CUDA_VECTOR(name##3, type, x RADDLE_CUDA_COMMA y RADDLE_CUDA_COMMA z, one)
#define RADDLE_CUDA_VECTOR_OF_4(name, type, alignment) \
  RADDLE_CUDA_VECTOR(name, type, x RADDLE_CUDA_COMMA y RADDLE_CUDA_COMMA z RADDLE_CUDA_COMMA w, alignment)
#define RADDLE_CUDA_VECTORS(name, type, one, two, four) \
  RADDLE_CUDA_VECTORS_TO_3(name, type, one, two)        \
  RADDLE_CUDA_VECTOR_OF_4(name##4, type, four)
#define RADDLE_CUDA_WIDE_VECTORS(name, type)     \
  RADDLE_CUDA_VECTORS(name, type, 8, 16, 16)     \
  RADDLE_CUDA_VECTOR_OF_4(name##4_16a, type, 16) \
  RADDLE_CUDA_VECTOR_OF_4(name##4_32a, type, 32)

RADDLE_CUDA_VECTORS(char, signed char, 1, 2, 4)
RADDLE_CUDA_VECTORS(uchar, unsigned char, 1, 2, 4)
RADDLE_CUDA_VECTORS(short, short, 2, 4, 8)
RADDLE_CUDA_VECTORS(ushort, unsigned short, 2, 4, 8)
RADDLE_CUDA_VECTORS(int, int, 4, 8, 16)
RADDLE_CUDA_VECTORS(uint, unsigned int, 4, 8, 16)
RADDLE_CUDA_VECTORS(float, float, 4, 8, 16)
RADDLE_CUDA_WIDE_VECTORS(long, long)
RADDLE_CUDA_WIDE_VECTORS(ulong, unsigned long)
RADDLE_CUDA_WIDE_VECTORS(longlong, long long)
RADDLE_CUDA_WIDE_VECTORS(ulonglong, unsigned long long)
RADDLE_CUDA_WIDE_VECTORS(double, double)

#undef RADDLE_CUDA_WIDE_VECTORS
#undef RADDLE_CUDA_VECTORS
#undef RADDLE_CUDA_VECTOR_OF_4
#undef RADDLE_CUDA_VECTORS_TO_3
#undef RADDLE_CUDA_COMMA
#undef RADDLE_CUDA_VECTOR

/// Sizes of grids, clusters and blocks; 1 where nothing is said.
struct dim3 {
#ifdef __cplusplus
  // constexpr: clang gives such functions to host and device.
  constexpr dim3(unsigned int x_size = 1, unsigned int y_size = 1, unsigned int z_size = 1)
      : x(x_size), y(y_size), z(z_size) {}
  constexpr dim3(uint3 sizes) : x(sizes.x), y(sizes.y), z(sizes.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
#endif
  unsigned int x, y, z;
};
typedef struct dim3 dim3;
