// What kernels with asynchronous copies share: mbarriers and bulk copies in inline assembly, which nvcc and `raddle cc`
// compile alike.
#pragma once

/// cuda.h's CUtensorMap, for which no header is needed.
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

struct alignas(8) Mbarrier {
  unsigned long long word;
};

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/// By one thread, before a barrier of all.
__device__ inline void init(Mbarrier* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Arrives, and tells how many bytes the phase waits for.
__device__ inline void arrive_expecting(Mbarrier* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}

/// Until the phase of this parity is over.
__device__ inline void wait(Mbarrier* barrier, unsigned parity) {
  asm volatile(
      "{\n\t.reg .pred over;\n"
      "again:\n\tmbarrier.try_wait.parity.shared.b64 over, [%0], %1;\n\t@!over bra again;\n\t}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

/// What threads wrote to shared memory, for copies out of it; before a barrier.
__device__ inline void fence_for_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ inline void load_tile(void* to, const TensorMap* map, int x, int y, Mbarrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared_address(to)),
      "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
      : "memory");
}

__device__ inline void store_tile(const TensorMap* map, int x, int y, const void* from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y),
               "r"(shared_address(from))
               : "memory");
}

__device__ inline void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Until the stores of all groups are done.
__device__ inline void wait_for_stores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

__device__ inline unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ inline unsigned cluster_size() {
  unsigned size;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}
__device__ inline void sync_cluster() {
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}
