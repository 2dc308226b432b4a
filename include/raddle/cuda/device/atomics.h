// Atomic functions: relaxed, at device scope; with _block and _system at the other scopes.
// Source: CUDA C++ Programming Guide, "Atomic Functions". Types of 16 bits and vectors are in cuda_fp16.h and
// cuda_bf16.h.
#pragma once

#include "raddle/cuda/device/attributes.h"

// RADDLE_ATOMIC(function, type, builtin's operation, builtin's suffix, type that the builtin takes)
#define RADDLE_ATOMIC(name, type, operation, suffix, word)                                \
  RADDLE_DEVICE type name(type* address, type value) {                                    \
    return (type)__nvvm_atom_##operation##_gen_##suffix((word*)address, (word)value);     \
  }                                                                                       \
  RADDLE_DEVICE type name##_block(type* address, type value) {                            \
    return (type)__nvvm_atom_cta_##operation##_gen_##suffix((word*)address, (word)value); \
  }                                                                                       \
  RADDLE_DEVICE type name##_system(type* address, type value) {                           \
    return (type)__nvvm_atom_sys_##operation##_gen_##suffix((word*)address, (word)value); \
  }
#define RADDLE_ATOMIC_32(name, operation)     \
  RADDLE_ATOMIC(name, int, operation, i, int) \
  RADDLE_ATOMIC(name, unsigned int, operation, i, int)
#define RADDLE_ATOMIC_64(name, operation) RADDLE_ATOMIC(name, unsigned long long, operation, ll, long long)
#define RADDLE_ATOMIC_EXTREME(name, operation)                   \
  RADDLE_ATOMIC(name, int, operation, i, int)                    \
  RADDLE_ATOMIC(name, unsigned int, operation, ui, unsigned int) \
  RADDLE_ATOMIC(name, long long, operation, ll, long long)       \
  RADDLE_ATOMIC(name, unsigned long long, operation, ull, unsigned long long)

RADDLE_ATOMIC_32(atomicAdd, add)
RADDLE_ATOMIC_64(atomicAdd, add)
RADDLE_ATOMIC(atomicAdd, float, add, f, float)
RADDLE_ATOMIC(atomicAdd, double, add, d, double)
RADDLE_ATOMIC_32(atomicExch, xchg)
RADDLE_ATOMIC_64(atomicExch, xchg)
RADDLE_ATOMIC_EXTREME(atomicMin, min)
RADDLE_ATOMIC_EXTREME(atomicMax, max)
RADDLE_ATOMIC(atomicInc, unsigned int, inc, ui, unsigned int)
RADDLE_ATOMIC(atomicDec, unsigned int, dec, ui, unsigned int)
RADDLE_ATOMIC_32(atomicAnd, and)
RADDLE_ATOMIC_64(atomicAnd, and)
RADDLE_ATOMIC_32(atomicOr, or)
RADDLE_ATOMIC_64(atomicOr, or)
RADDLE_ATOMIC_32(atomicXor, xor)
RADDLE_ATOMIC_64(atomicXor, xor)
#undef RADDLE_ATOMIC_EXTREME
#undef RADDLE_ATOMIC_64
#undef RADDLE_ATOMIC_32
#undef RADDLE_ATOMIC

#define RADDLE_ATOMIC_VARIANTS(scope)                                                                   \
  RADDLE_DEVICE int atomicSub##scope(int* address, int value) {                                         \
    return atomicAdd##scope(address, (int)(0u - (unsigned int)value));                                  \
  }                                                                                                     \
  RADDLE_DEVICE unsigned int atomicSub##scope(unsigned int* address, unsigned int value) {              \
    return atomicAdd##scope(address, 0u - value);                                                       \
  }                                                                                                     \
  RADDLE_DEVICE float atomicExch##scope(float* address, float value) {                                  \
    return __builtin_bit_cast(float, atomicExch##scope((int*)address, __builtin_bit_cast(int, value))); \
  }
RADDLE_ATOMIC_VARIANTS()
RADDLE_ATOMIC_VARIANTS(_block)
RADDLE_ATOMIC_VARIANTS(_system)
#undef RADDLE_ATOMIC_VARIANTS

#define RADDLE_CAS(scope, infix)                                                                             \
  RADDLE_DEVICE int atomicCAS##scope(int* address, int compare, int value) {                                 \
    return __nvvm_atom_##infix##cas_gen_i(address, compare, value);                                          \
  }                                                                                                          \
  RADDLE_DEVICE unsigned int atomicCAS##scope(unsigned int* address, unsigned int compare,                   \
                                              unsigned int value) {                                          \
    return __nvvm_atom_##infix##cas_gen_i((int*)address, (int)compare, (int)value);                          \
  }                                                                                                          \
  RADDLE_DEVICE unsigned long long atomicCAS##scope(unsigned long long* address, unsigned long long compare, \
                                                    unsigned long long value) {                              \
    return __nvvm_atom_##infix##cas_gen_ll((long long*)address, (long long)compare, (long long)value);       \
  }
RADDLE_CAS(, )
RADDLE_CAS(_block, cta_)
RADDLE_CAS(_system, sys_)
#undef RADDLE_CAS

#define RADDLE_CAS_16(scope, modifier)                                                           \
  RADDLE_DEVICE unsigned short atomicCAS##scope(unsigned short* address, unsigned short compare, \
                                                unsigned short value) {                          \
    unsigned short old;                                                                          \
    asm volatile("atom" modifier ".cas.b16 %0, [%1], %2, %3;"                                    \
                 : "=h"(old)                                                                     \
                 : "l"(address), "h"(compare), "h"(value)                                        \
                 : "memory");                                                                    \
    return old;                                                                                  \
  }
RADDLE_CAS_16(, "")
RADDLE_CAS_16(_block, ".cta")
RADDLE_CAS_16(_system, ".sys")
#undef RADDLE_CAS_16
