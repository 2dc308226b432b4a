// Barriers in shared memory (sm_80), as C functions.
// Source: CUDA C++ Programming Guide, "Asynchronous Barrier", "Memory Barrier Primitives Interface"; PTX ISA,
// "mbarrier".
#pragma once

#include "raddle/cuda/cuda_runtime.h"

typedef unsigned long long __mbarrier_t;
typedef unsigned long long __mbarrier_token_t;

RADDLE_DEVICE unsigned int raddle_in_shared(const void* address) {
  return (unsigned int)__cvta_generic_to_shared(address);
}
RADDLE_DEVICE unsigned int __mbarrier_maximum_count() { return (1u << 20) - 1; }
RADDLE_DEVICE void __mbarrier_init(__mbarrier_t* barrier, unsigned int expected) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(raddle_in_shared(barrier)), "r"(expected)
               : "memory");
}
RADDLE_DEVICE void __mbarrier_inval(__mbarrier_t* barrier) {
  asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(raddle_in_shared(barrier)) : "memory");
}
RADDLE_DEVICE __mbarrier_token_t __mbarrier_arrive(__mbarrier_t* barrier) {
  __mbarrier_token_t token;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];"
               : "=l"(token)
               : "r"(raddle_in_shared(barrier))
               : "memory");
  return token;
}
RADDLE_DEVICE __mbarrier_token_t __mbarrier_arrive_and_drop(__mbarrier_t* barrier) {
  __mbarrier_token_t token;
  asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];"
               : "=l"(token)
               : "r"(raddle_in_shared(barrier))
               : "memory");
  return token;
}
/// Whether the phase of the token is over.
RADDLE_DEVICE bool __mbarrier_test_wait(__mbarrier_t* barrier, __mbarrier_token_t token) {
  unsigned int over;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(over)
               : "r"(raddle_in_shared(barrier)), "l"(token)
               : "memory");
  return over != 0;
}
RADDLE_DEVICE bool __mbarrier_test_wait_parity(__mbarrier_t* barrier, bool parity) {
  unsigned int over;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(over)
               : "r"(raddle_in_shared(barrier)), "r"((unsigned int)parity)
               : "memory");
  return over != 0;
}
/// The same, for which the thread may be put aside for up to `nanoseconds`.
RADDLE_DEVICE bool __mbarrier_try_wait(__mbarrier_t* barrier, __mbarrier_token_t token,
                                       unsigned int nanoseconds) {
  unsigned int over;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.shared.b64 p, [%1], %2, %3; selp.u32 %0, 1, 0, p; }"
               : "=r"(over)
               : "r"(raddle_in_shared(barrier)), "l"(token), "r"(nanoseconds)
               : "memory");
  return over != 0;
}
RADDLE_DEVICE unsigned int __mbarrier_token_pending_count(__mbarrier_token_t token) {
  unsigned int count;
  asm("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(token));
  return count;
}
