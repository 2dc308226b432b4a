// Reads and writes through surface objects: surf1D to surf3D, layered. x counts bytes.
// Source: CUDA C++ Programming Guide, "Surface Functions"; PTX ISA, "suld" and "sust".
#pragma once

#include "raddle/cuda/cuda_runtime_api.h"
#include "raddle/cuda/device/texels.h"

// One instruction by element size; `place` are the coordinates in PTX, `...` their operands.
#define RADDLE_SULD(shape, mode, bits, letter, place, ...)                   \
  asm volatile("suld.b." shape "." bits "." mode " %[r], [%[s], " place "];" \
               : [r] letter(word)                                            \
               : [s] "l"(surface), __VA_ARGS__                               \
               : "memory")
#define RADDLE_SULD_WIDE(shape, mode, place, ...)                                    \
  asm volatile("suld.b." shape ".v2.b64." mode " {%[r0], %[r1]}, [%[s], " place "];" \
               : [r0] "=l"(words.x), [r1] "=l"(words.y)                              \
               : [s] "l"(surface), __VA_ARGS__                                       \
               : "memory")
#define RADDLE_SUST(shape, mode, bits, letter, place, ...)                   \
  asm volatile("sust.b." shape "." bits "." mode " [%[s], " place "], %[v];" \
               :                                                             \
               : [s] "l"(surface), [v] letter(word), __VA_ARGS__             \
               : "memory")
#define RADDLE_SUST_WIDE(shape, mode, place, ...)                                    \
  asm volatile("sust.b." shape ".v2.b64." mode " [%[s], " place "], {%[v0], %[v1]};" \
               :                                                                     \
               : [s] "l"(surface), [v0] "l"(words.x), [v1] "l"(words.y), __VA_ARGS__ \
               : "memory")

// The three modes at a surface's edge; the mode is a constant in nearly all programs.
#define RADDLE_AT_EDGE(instruction, shape, ...) \
  if (mode == cudaBoundaryModeZero) {           \
    instruction(shape, "zero", __VA_ARGS__);    \
  } else if (mode == cudaBoundaryModeClamp) {   \
    instruction(shape, "clamp", __VA_ARGS__);   \
  } else {                                      \
    instruction(shape, "trap", __VA_ARGS__);    \
  }

template <typename T>
struct raddle_surface_element {
  static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16,
                "a surface's element has 1, 2, 4, 8 or 16 bytes");
  static constexpr unsigned long bytes = sizeof(T) == 16 ? 8 : sizeof(T);
  using word = raddle_unsigned_of_size<bytes == 1 ? 2 : bytes>;  // PTX has no registers of 8 bits
};

#define RADDLE_SURFACE(kind, parameters, arguments, shape, place, ...)                               \
  template <typename T>                                                                              \
  RADDLE_DEVICE T surf##kind##read(cudaSurfaceObject_t surface, RADDLE_LIST parameters,              \
                                   cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {            \
    ulonglong2 words;                                                                                \
    typename raddle_surface_element<T>::word word;                                                   \
    T value;                                                                                         \
    if constexpr (sizeof(T) == 16) {                                                                 \
      RADDLE_AT_EDGE(RADDLE_SULD_WIDE, shape, place, __VA_ARGS__)                                    \
      __builtin_memcpy(&value, &words, sizeof(T));                                                   \
      return value;                                                                                  \
    } else if constexpr (sizeof(T) == 8) {                                                           \
      RADDLE_AT_EDGE(RADDLE_SULD, shape, "b64", "=l", place, __VA_ARGS__)                            \
    } else if constexpr (sizeof(T) == 4) {                                                           \
      RADDLE_AT_EDGE(RADDLE_SULD, shape, "b32", "=r", place, __VA_ARGS__)                            \
    } else if constexpr (sizeof(T) == 2) {                                                           \
      RADDLE_AT_EDGE(RADDLE_SULD, shape, "b16", "=h", place, __VA_ARGS__)                            \
    } else {                                                                                         \
      RADDLE_AT_EDGE(RADDLE_SULD, shape, "b8", "=h", place, __VA_ARGS__)                             \
    }                                                                                                \
    __builtin_memcpy(&value, &word, sizeof(T) == 16 ? 0 : sizeof(T));                                \
    return value;                                                                                    \
  }                                                                                                  \
  template <typename T>                                                                              \
  RADDLE_DEVICE void surf##kind##read(T* value, cudaSurfaceObject_t surface, RADDLE_LIST parameters, \
                                      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {         \
    *value = surf##kind##read<T>(surface, RADDLE_LIST arguments, mode);                              \
  }                                                                                                  \
  template <typename T>                                                                              \
  RADDLE_DEVICE void surf##kind##write(T value, cudaSurfaceObject_t surface, RADDLE_LIST parameters, \
                                       cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {        \
    ulonglong2 words = {};                                                                           \
    typename raddle_surface_element<T>::word word = 0;                                               \
    if constexpr (sizeof(T) == 16) {                                                                 \
      __builtin_memcpy(&words, &value, sizeof(T));                                                   \
      RADDLE_AT_EDGE(RADDLE_SUST_WIDE, shape, place, __VA_ARGS__)                                    \
      return;                                                                                        \
    }                                                                                                \
    __builtin_memcpy(&word, &value, sizeof(T) == 16 ? 0 : sizeof(T));                                \
    if constexpr (sizeof(T) == 8) {                                                                  \
      RADDLE_AT_EDGE(RADDLE_SUST, shape, "b64", "l", place, __VA_ARGS__)                             \
    } else if constexpr (sizeof(T) == 4) {                                                           \
      RADDLE_AT_EDGE(RADDLE_SUST, shape, "b32", "r", place, __VA_ARGS__)                             \
    } else if constexpr (sizeof(T) == 2) {                                                           \
      RADDLE_AT_EDGE(RADDLE_SUST, shape, "b16", "h", place, __VA_ARGS__)                             \
    } else if constexpr (sizeof(T) == 1) {                                                           \
      RADDLE_AT_EDGE(RADDLE_SUST, shape, "b8", "h", place, __VA_ARGS__)                              \
    }                                                                                                \
  }
#define RADDLE_LIST(...) __VA_ARGS__
RADDLE_SURFACE(1D, (int x), (x), "1d", "{%[x]}", [x] "r"(x))
RADDLE_SURFACE(2D, (int x, int y), (x, y), "2d", "{%[x], %[y]}", [x] "r"(x), [y] "r"(y))
RADDLE_SURFACE(3D, (int x, int y, int z), (x, y, z), "3d",
               "{%[x], %[y], %[z], %[z]}", [x] "r"(x), [y] "r"(y), [z] "r"(z))
RADDLE_SURFACE(1DLayered, (int x, int layer), (x, layer), "a1d", "{%[l], %[x]}", [x] "r"(x), [l] "r"(layer))
RADDLE_SURFACE(2DLayered, (int x, int y, int layer), (x, y, layer), "a2d",
               "{%[l], %[x], %[y], %[y]}", [x] "r"(x), [y] "r"(y), [l] "r"(layer))
#undef RADDLE_LIST
#undef RADDLE_SURFACE
#undef RADDLE_AT_EDGE
#undef RADDLE_SUST_WIDE
#undef RADDLE_SUST
#undef RADDLE_SULD_WIDE
#undef RADDLE_SULD
