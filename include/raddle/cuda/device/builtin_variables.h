// threadIdx, blockIdx, blockDim, gridDim and warpSize. Each is an object without storage whose members read a
// special register. Source: CUDA C++ Programming Guide, "Built-in Variables"; PTX ISA, "Special Registers".
#pragma once

#include "raddle/cuda/device/attributes.h"
#include "raddle/cuda/vector_types.h"

#ifdef __CUDA_ARCH__

#define RADDLE_INDEX_MEMBER(member, register_name)                       \
  __declspec(property(get = raddle_get_##member)) unsigned int member;   \
  static __device__ __forceinline__ unsigned int raddle_get_##member() { \
    return __nvvm_read_ptx_sreg_##register_name##_##member();            \
  }

#define RADDLE_INDEX(name, register_name)                                        \
  struct raddle_##name {                                                         \
    RADDLE_INDEX_MEMBER(x, register_name)                                        \
    RADDLE_INDEX_MEMBER(y, register_name)                                        \
    RADDLE_INDEX_MEMBER(z, register_name)                                        \
    __device__ __forceinline__ operator uint3() const { return uint3{x, y, z}; } \
    __device__ __forceinline__ operator dim3() const { return dim3(x, y, z); }   \
    raddle_##name(const raddle_##name&) = delete;                                \
    void operator=(const raddle_##name&) = delete;                               \
    raddle_##name* operator&() const = delete;                                   \
  };                                                                             \
  extern const __device__ __attribute__((weak)) raddle_##name name

RADDLE_INDEX(threadIdx, tid);
RADDLE_INDEX(blockIdx, ctaid);
RADDLE_INDEX(blockDim, ntid);
RADDLE_INDEX(gridDim, nctaid);
#undef RADDLE_INDEX
#undef RADDLE_INDEX_MEMBER

#else  // the host reads kernels, too, and never runs them: the types that the guide gives

extern const __device__ __attribute__((weak)) uint3 threadIdx, blockIdx;
extern const __device__ __attribute__((weak)) dim3 blockDim, gridDim;

#endif

static constexpr int warpSize = 32;
