// Services of the machine for kernels: printf, assert, the heap, clocks, sleeping, stopping.
// Source: CUDA C++ Programming Guide, "Formatted Output", "Assertion", "Dynamic Global Memory Allocation",
// "Time Function".
#pragma once

#include <stddef.h>
#include <time.h>

#include "raddle/cuda/device/attributes.h"

extern "C" {
// The names that Raddle answers. clang turns a kernel's printf into vprintf and packs its arguments.
__device__ int vprintf(const char* format, const char* arguments);
__device__ void __assertfail(const char* message, const char* file, unsigned int line, const char* function,
                             size_t character_size);
__device__ int printf(const char* format, ...);
__device__ void* malloc(size_t bytes) __attribute__((nothrow, malloc));
__device__ void free(void* address) __attribute__((nothrow));

// Called by <assert.h>.
static __device__ inline void __assert_fail(const char* message, const char* file, unsigned int line,
                                            const char* function) {
  __assertfail(message, file, line, function, sizeof(char));
}
}

// Copies and fills within a kernel: clang expands them.
RADDLE_DEVICE void* memcpy(void* to, const void* from, size_t bytes) {
  return __builtin_memcpy(to, from, bytes);
}
RADDLE_DEVICE void* memset(void* to, int value, size_t bytes) { return __builtin_memset(to, value, bytes); }

RADDLE_DEVICE void __trap() { asm volatile("trap;"); }
RADDLE_DEVICE void __brkpt() { asm volatile("brkpt;"); }
RADDLE_DEVICE void __prof_trigger(int) {}
RADDLE_DEVICE void __nanosleep(unsigned int nanoseconds) {
  asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds));
}
RADDLE_DEVICE long long int clock64() {
  long long ticks;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(ticks)::"memory");
  return ticks;
}
RADDLE_DEVICE clock_t clock() {
  int ticks;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(ticks)::"memory");
  return ticks;
}
RADDLE_DEVICE unsigned long long __globaltimer() {
  unsigned long long nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds)::"memory");
  return nanoseconds;
}

// `new` and `delete` in kernels: clang's own <new> adds them.
#include <new>

// A virtual function that is abstract or deleted, when it is called.
extern "C" __device__ inline __attribute__((weak)) void __cxa_pure_virtual() { __trap(); }
extern "C" __device__ inline __attribute__((weak)) void __cxa_deleted_virtual() { __trap(); }
