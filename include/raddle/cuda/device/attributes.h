// CUDA's words for where a function runs and where a variable lives, as clang's attributes; to be included
// before all else. What clang 19 does not know itself is left in the code as an annotation that `raddle cc`
// turns into PTX (src/cli/cc/annotations.h). Source: CUDA C++ Programming Guide, "C++ Language Extensions".
#pragma once

#if defined(__clang__) && defined(__CUDA__)

#define __CUDACC__ 1
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define __inline_hint__ inline
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __device_builtin__
#define __builtin_align__(bytes) __align__(bytes)
#define __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_END
#define __nv_pure__ __attribute__((pure))

#define __cluster_dims__(...) __attribute__((annotate("raddle.cluster_dims", __VA_ARGS__)))
#define __maxnreg__(count) __attribute__((annotate("raddle.maxnreg", count)))
#define __grid_constant__ __attribute__((annotate("raddle.grid_constant")))
#define __managed__ __attribute__((section("raddle.managed"))) __device__
// An attribute that cannot be added is an error where it stands.
#define __block_size__(...) _Pragma("GCC error \"raddle cc: no __block_size__; launch with this block size\"")
#define __nv_tex_surf_handler _Pragma("GCC error \"raddle cc: no texture references; use texture objects\"")

#else  // a C++ file for the host alone, which may use the runtime API and the types

#define __host__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))

#endif

// How the functions of these headers are declared.
#define RADDLE_DEVICE static __device__ __forceinline__
#define RADDLE_BOTH static __host__ __device__ __forceinline__
#define RADDLE_MEMBER __host__ __device__ __forceinline__

// Plain words of a size, to move values of any type.
template <unsigned long bytes>
struct raddle_unsigned;
template <>
struct raddle_unsigned<1> {
  using type = unsigned char;
};
template <>
struct raddle_unsigned<2> {
  using type = unsigned short;
};
template <>
struct raddle_unsigned<4> {
  using type = unsigned int;
};
template <>
struct raddle_unsigned<8> {
  using type = unsigned long long;
};
template <unsigned long bytes>
using raddle_unsigned_of_size = typename raddle_unsigned<bytes>::type;
