// Loads and stores with cache hints, which change nothing that a program can see, and questions about
// addresses. Source: CUDA C++ Programming Guide, "Read-Only Data Cache Load Function" to "Address Space
// Conversion Functions".
#pragma once

#include "raddle/cuda/device/attributes.h"

#define RADDLE_LOAD(name)                  \
  template <typename T>                    \
  RADDLE_DEVICE T name(const T* address) { \
    return *address;                       \
  }
RADDLE_LOAD(__ldg)
RADDLE_LOAD(__ldca)
RADDLE_LOAD(__ldcg)
RADDLE_LOAD(__ldcs)
RADDLE_LOAD(__ldlu)
#undef RADDLE_LOAD

#define RADDLE_STORE(name)                       \
  template <typename T>                          \
  RADDLE_DEVICE void name(T* address, T value) { \
    *address = value;                            \
  }
RADDLE_STORE(__stwb)
RADDLE_STORE(__stcg)
RADDLE_STORE(__stcs)
RADDLE_STORE(__stwt)
#undef RADDLE_STORE

/// A load that is made each time it is asked for; T has 1, 2, 4, 8 or 16 bytes.
template <typename T>
RADDLE_DEVICE T __ldcv(const T* address) {
  if constexpr (sizeof(T) == 16) {
    struct {
      unsigned long long low, high;
    } words;
    asm volatile("ld.volatile.v2.u64 {%0, %1}, [%2];"
                 : "=l"(words.low), "=l"(words.high)
                 : "l"(address)
                 : "memory");
    return __builtin_bit_cast(T, words);
  } else {
    using Word = raddle_unsigned_of_size<sizeof(T)>;
    return __builtin_bit_cast(T, (Word) * (const volatile Word*)address);
  }
}

#define RADDLE_IS_SPACE(name, space)                                                                    \
  RADDLE_DEVICE unsigned int name(const void* address) {                                                \
    unsigned int is;                                                                                    \
    asm("{ .reg .pred p; isspacep." space " p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(is) : "l"(address)); \
    return is;                                                                                          \
  }
RADDLE_IS_SPACE(__isGlobal, "global")
RADDLE_IS_SPACE(__isShared, "shared")
RADDLE_IS_SPACE(__isConstant, "const")
RADDLE_IS_SPACE(__isLocal, "local")
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
RADDLE_IS_SPACE(__isGridConstant, "param")
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
RADDLE_IS_SPACE(__isClusterShared, "shared::cluster")
#endif
#undef RADDLE_IS_SPACE

#define RADDLE_CONVERT_ADDRESS(space, letter)                             \
  RADDLE_DEVICE size_t __cvta_generic_to_##space(const void* address) {   \
    size_t result;                                                        \
    asm("cvta.to." #letter ".u64 %0, %1;" : "=l"(result) : "l"(address)); \
    return result;                                                        \
  }                                                                       \
  RADDLE_DEVICE void* __cvta_##space##_to_generic(size_t address) {       \
    void* result;                                                         \
    asm("cvta." #letter ".u64 %0, %1;" : "=l"(result) : "l"(address));    \
    return result;                                                        \
  }
RADDLE_CONVERT_ADDRESS(global, global)
RADDLE_CONVERT_ADDRESS(shared, shared)
RADDLE_CONVERT_ADDRESS(constant, const)
RADDLE_CONVERT_ADDRESS(local, local)
#undef RADDLE_CONVERT_ADDRESS

RADDLE_DEVICE size_t __nv_get_dynamic_shared_size() {
  unsigned int bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  return bytes;
}
