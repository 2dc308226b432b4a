// Asynchronous copies from global to shared memory (sm_80), as C functions.
// Source: CUDA C++ Programming Guide, "Pipeline Primitives Interface"; PTX ISA, "cp.async".
#pragma once

#include "raddle/cuda/cuda_awbarrier_primitives.h"

/// Copies 4, 8 or 16 bytes; the last `zeroes` of them are zero instead.
RADDLE_DEVICE void __pipeline_memcpy_async(void* shared, const void* global, size_t bytes,
                                           size_t zeroes = 0) {
  const unsigned int to = (unsigned int)__cvta_generic_to_shared(shared),
                     from_global = (unsigned int)(bytes - zeroes);
  if (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(from_global)
                 : "memory");
  } else if (bytes == 8) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(global), "r"(from_global)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(global), "r"(from_global)
                 : "memory");
  }
}
RADDLE_DEVICE void __pipeline_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits for all groups of copies but the last `groups`, 0 to 8.
RADDLE_DEVICE void __pipeline_wait_prior(size_t groups) {
#define RADDLE_WAIT(n)                                        \
  case n:                                                     \
    asm volatile("cp.async.wait_group " #n ";" ::: "memory"); \
    break;
  switch (groups) {
    RADDLE_WAIT(1)
    RADDLE_WAIT(2)
    RADDLE_WAIT(3)
    RADDLE_WAIT(4)
    RADDLE_WAIT(5)
    RADDLE_WAIT(6)
    RADDLE_WAIT(7)
    RADDLE_WAIT(8)
    default:
      asm volatile("cp.async.wait_group 0;" ::: "memory");
  }
#undef RADDLE_WAIT
}
RADDLE_DEVICE void __pipeline_arrive_on(__mbarrier_t* barrier) {
  asm volatile(
      "cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"((unsigned int)__cvta_generic_to_shared(barrier))
      : "memory");
}
