// Reads through texture objects: tex1Dfetch, tex1D to tex3D, layered and cube maps, with level or gradient,
// gathers. Source: CUDA C++ Programming Guide, "Texture Functions"; PTX ISA, "tex" and "tld4".
#pragma once

#include "raddle/cuda/cuda_runtime_api.h"
#include "raddle/cuda/device/texels.h"

// The instruction `shape` of a kind of texel, with coordinates as they stand in PTX; `...` are their
// operands.
#define RADDLE_TEX(shape, coordinates, ...)                                               \
  raddle_texel<T> texel;                                                                  \
  if constexpr (raddle_texel<T>::is_float) {                                              \
    asm volatile(RADDLE_TEX_TEXT(shape, "f32", coordinates)                               \
                 : "=f"(texel.f[0]), "=f"(texel.f[1]), "=f"(texel.f[2]), "=f"(texel.f[3]) \
                 : "l"(texture), __VA_ARGS__);                                            \
  } else if constexpr (raddle_texel<T>::is_signed) {                                      \
    asm volatile(RADDLE_TEX_TEXT(shape, "s32", coordinates)                               \
                 : "=r"(texel.i[0]), "=r"(texel.i[1]), "=r"(texel.i[2]), "=r"(texel.i[3]) \
                 : "l"(texture), __VA_ARGS__);                                            \
  } else {                                                                                \
    asm volatile(RADDLE_TEX_TEXT(shape, "u32", coordinates)                               \
                 : "=r"(texel.i[0]), "=r"(texel.i[1]), "=r"(texel.i[2]), "=r"(texel.i[3]) \
                 : "l"(texture), __VA_ARGS__);                                            \
  }                                                                                       \
  return texel.value();
#define RADDLE_TEX_TEXT(shape, type, coordinates) "tex." shape ".v4." type "." coordinates

// tex(name, parameters, PTX's shape, the rest of the instruction, operands): as a value, and into a variable.
#define RADDLE_TEXTURE(name, parameters, arguments, shape, coordinates, ...)                \
  template <typename T>                                                                     \
  RADDLE_DEVICE T name(cudaTextureObject_t texture, RADDLE_LIST parameters) {               \
    RADDLE_TEX(shape, coordinates, __VA_ARGS__)                                             \
  }                                                                                         \
  template <typename T>                                                                     \
  RADDLE_DEVICE void name(T* result, cudaTextureObject_t texture, RADDLE_LIST parameters) { \
    *result = name<T>(texture, RADDLE_LIST arguments);                                      \
  }
#define RADDLE_LIST(...) __VA_ARGS__

RADDLE_TEXTURE(tex1Dfetch, (int x), (x), "1d", "s32 {%0, %1, %2, %3}, [%4, {%5}];", "r"(x))
RADDLE_TEXTURE(tex1D, (float x), (x), "1d", "f32 {%0, %1, %2, %3}, [%4, {%5}];", "f"(x))
RADDLE_TEXTURE(tex2D, (float x, float y), (x, y), "2d", "f32 {%0, %1, %2, %3}, [%4, {%5, %6}];", "f"(x),
               "f"(y))
RADDLE_TEXTURE(tex3D, (float x, float y, float z), (x, y, z), "3d",
               "f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];", "f"(x), "f"(y), "f"(z))
RADDLE_TEXTURE(tex1DLayered, (float x, int layer), (x, layer), "a1d", "f32 {%0, %1, %2, %3}, [%4, {%5, %6}];",
               "r"(layer), "f"(x))
RADDLE_TEXTURE(tex2DLayered, (float x, float y, int layer), (x, y, layer), "a2d",
               "f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];", "r"(layer), "f"(x), "f"(y))
RADDLE_TEXTURE(texCubemap, (float x, float y, float z), (x, y, z), "cube",
               "f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];", "f"(x), "f"(y), "f"(z))
RADDLE_TEXTURE(texCubemapLayered, (float x, float y, float z, int layer), (x, y, z, layer), "acube",
               "f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %8}];", "r"(layer), "f"(x), "f"(y), "f"(z))
#undef RADDLE_TEX_TEXT

#define RADDLE_TEX_TEXT(shape, type, coordinates) "tex.level." shape ".v4." type "." coordinates
RADDLE_TEXTURE(tex1DLod, (float x, float level), (x, level), "1d", "f32 {%0, %1, %2, %3}, [%4, {%5}], %6;",
               "f"(x), "f"(level))
RADDLE_TEXTURE(tex2DLod, (float x, float y, float level), (x, y, level), "2d",
               "f32 {%0, %1, %2, %3}, [%4, {%5, %6}], %7;", "f"(x), "f"(y), "f"(level))
RADDLE_TEXTURE(tex3DLod, (float x, float y, float z, float level), (x, y, z, level), "3d",
               "f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}], %8;", "f"(x), "f"(y), "f"(z), "f"(level))
RADDLE_TEXTURE(tex1DLayeredLod, (float x, int layer, float level), (x, layer, level), "a1d",
               "f32 {%0, %1, %2, %3}, [%4, {%5, %6}], %7;", "r"(layer), "f"(x), "f"(level))
RADDLE_TEXTURE(tex2DLayeredLod, (float x, float y, int layer, float level), (x, y, layer, level), "a2d",
               "f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}], %8;", "r"(layer), "f"(x), "f"(y), "f"(level))
RADDLE_TEXTURE(texCubemapLod, (float x, float y, float z, float level), (x, y, z, level), "cube",
               "f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}], %8;", "f"(x), "f"(y), "f"(z), "f"(level))
#undef RADDLE_TEX_TEXT

#define RADDLE_TEX_TEXT(shape, type, coordinates) "tex.grad." shape ".v4." type "." coordinates
RADDLE_TEXTURE(tex1DGrad, (float x, float dx, float dy), (x, dx, dy), "1d",
               "f32 {%0, %1, %2, %3}, [%4, {%5}], {%6}, {%7};", "f"(x), "f"(dx), "f"(dy))
RADDLE_TEXTURE(tex2DGrad, (float x, float y, float2 dx, float2 dy), (x, y, dx, dy), "2d",
               "f32 {%0, %1, %2, %3}, [%4, {%5, %6}], {%7, %8}, {%9, %10};", "f"(x), "f"(y), "f"(dx.x),
               "f"(dx.y), "f"(dy.x), "f"(dy.y))
RADDLE_TEXTURE(tex3DGrad, (float x, float y, float z, float4 dx, float4 dy), (x, y, z, dx, dy), "3d",
               "f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}], {%8, %9, %10, %10}, {%11, %12, %13, %13};",
               "f"(x), "f"(y), "f"(z), "f"(dx.x), "f"(dx.y), "f"(dx.z), "f"(dy.x), "f"(dy.y), "f"(dy.z))
#undef RADDLE_TEX_TEXT

// One component of the four texels that a linear filter would take.
#define RADDLE_TEX_TEXT(shape, type, coordinates) "tld4." shape ".2d.v4." type "." coordinates
#define RADDLE_GATHER(letter) RADDLE_TEX(letter, "f32 {%0, %1, %2, %3}, [%4, {%5, %6}];", "f"(x), "f"(y))
template <typename T>
RADDLE_DEVICE T raddle_gather_r(cudaTextureObject_t texture, float x, float y) {
  RADDLE_GATHER("r")
}
template <typename T>
RADDLE_DEVICE T raddle_gather_g(cudaTextureObject_t texture, float x, float y) {
  RADDLE_GATHER("g")
}
template <typename T>
RADDLE_DEVICE T raddle_gather_b(cudaTextureObject_t texture, float x, float y) {
  RADDLE_GATHER("b")
}
template <typename T>
RADDLE_DEVICE T raddle_gather_a(cudaTextureObject_t texture, float x, float y) {
  RADDLE_GATHER("a")
}
/// @param component  0 to 3
template <typename T>
RADDLE_DEVICE T tex2Dgather(cudaTextureObject_t texture, float x, float y, int component = 0) {
  switch (component) {
    case 0:
      return raddle_gather_r<T>(texture, x, y);
    case 1:
      return raddle_gather_g<T>(texture, x, y);
    case 2:
      return raddle_gather_b<T>(texture, x, y);
    default:
      return raddle_gather_a<T>(texture, x, y);
  }
}
#undef RADDLE_GATHER
#undef RADDLE_TEX_TEXT
#undef RADDLE_TEXTURE
#undef RADDLE_TEX
#undef RADDLE_LIST
