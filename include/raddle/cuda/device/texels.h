// Texels in C++: a number or a vector of 1, 2 or 4, and how PTX's four components become it.
#pragma once

#include "raddle/cuda/device/attributes.h"
#include "raddle/cuda/vector_types.h"

/// A type's components: their type and number.
template <typename T>
struct raddle_components {
  using component = T;
  static constexpr int count = 1;
};
#define RADDLE_COMPONENTS(name, type) \
  template <>                         \
  struct raddle_components<name##1> { \
    using component = type;           \
    static constexpr int count = 1;   \
  };                                  \
  template <>                         \
  struct raddle_components<name##2> { \
    using component = type;           \
    static constexpr int count = 2;   \
  };                                  \
  template <>                         \
  struct raddle_components<name##4> { \
    using component = type;           \
    static constexpr int count = 4;   \
  };
RADDLE_COMPONENTS(char, signed char)
RADDLE_COMPONENTS(uchar, unsigned char)
RADDLE_COMPONENTS(short, short)
RADDLE_COMPONENTS(ushort, unsigned short)
RADDLE_COMPONENTS(int, int)
RADDLE_COMPONENTS(uint, unsigned int)
RADDLE_COMPONENTS(float, float)
#undef RADDLE_COMPONENTS

/// PTX's result of a texture read, on its way to T.
template <typename T>
struct raddle_texel {
  using component = typename raddle_components<T>::component;
  static constexpr int count = raddle_components<T>::count;
  static constexpr bool is_float = (component)0.5f != 0,
                        is_signed = !is_float && (component)-1 < (component)0;
  float f[4];
  int i[4];

  __device__ T value() const {
    component components[count];
#pragma unroll
    for (int k = 0; k < count; ++k) components[k] = is_float ? (component)f[k] : (component)i[k];
    T result;
    __builtin_memcpy(&result, components, sizeof result);
    return result;
  }
};
