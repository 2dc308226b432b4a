// Waiting as CUDA C++ says it, and nvcc spells it. Each kernel as waiting_kernels.h says: every `group`
// threads are a unit, which waits for flags[unit + 1] and then sets flags[unit].
#include <cuda/atomic>

__device__ __noinline__ unsigned look(volatile unsigned* flag) { return *flag; }
__device__ __noinline__ void wait(unsigned* flag) {
  while (atomicAdd(flag, 0u) == 0) {
  }
}
__device__ __noinline__ void wait_below(volatile unsigned* flag, int depth) {
  if (depth > 0) return wait_below(flag, depth - 1), __threadfence();
  while (*flag == 0) {
  }
}

template <cuda::thread_scope Scope>
__device__ unsigned read(unsigned* flag, cuda::memory_order order) {
  return cuda::atomic_ref<unsigned, Scope>(*flag).load(order);
}

template <class Wait>
__device__ void chain(unsigned* flags, unsigned* held, unsigned group, Wait wait) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, unit = i / group;
  volatile unsigned* begun = &held[i];
  *begun = 1;
  wait(&flags[unit + 1]);
  cuda::atomic_ref<unsigned>(flags[unit]).store(1, cuda::memory_order_release);
  held[i] = i * 2654435761u;
}

#define SPIN(name, ...)                                                              \
  extern "C" __global__ void name(unsigned* flags, unsigned* held, unsigned group) { \
    chain(flags, held, group, [](unsigned* flag) { __VA_ARGS__; });                  \
  }

SPIN(ldcg, while (__ldcg(flag) == 0);)
SPIN(ldcv, while (__ldcv(flag) == 0);)
SPIN(volatile_cast, while (*(volatile unsigned*)flag == 0);)
SPIN(volatile_with_sleep, while (*(volatile unsigned*)flag == 0) __nanosleep(100);)
SPIN(noinline_reader, while (look(flag) == 0);)
SPIN(noinline_waiter, wait(flag))
SPIN(recursive_waiter, wait_below(flag, 3))
SPIN(compare_and_swap, while (atomicCAS(flag, 0u, 0u) == 0);)
SPIN(atomic_or_system, while (atomicOr_system(flag, 0u) == 0);)
SPIN(ref_relaxed_block, while (read<cuda::thread_scope_block>(flag, cuda::memory_order_relaxed) == 0);)
SPIN(ref_acquire_device, while (read<cuda::thread_scope_device>(flag, cuda::memory_order_acquire) == 0);)
SPIN(ref_seq_cst_system, while (read<cuda::thread_scope_system>(flag, cuda::memory_order_seq_cst) == 0);)
SPIN(ref_wait, cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*flag).wait(0))
SPIN(
    switched, for (;;) switch (*(volatile unsigned*)flag) {
      case 0:
        continue;
      case 1:
        return;
      case 2:
        __trap();
      case 3:
        __threadfence();
        continue;
      default:
        __nanosleep(1);
    })
SPIN(locked, {
  unsigned seen = 0;
  while (seen == 0) {
    if (atomicAdd(flag, 0u) != 0) {
      __threadfence();
      seen = 1;
    }
  }
})
