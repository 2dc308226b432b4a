// mbarriers as programs use them: cuda::barrier, cuda::ptx, and loops in inline assembly as CUTLASS writes them.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

__device__ void wait_in_assembly(unsigned bar, unsigned parity) {
  asm volatile(
      "{\n\t.reg .pred P1;\n\tLAB_WAIT:\n\tmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n\t"
      "@P1 bra DONE;\n\tbra LAB_WAIT;\n\tDONE:\n\t}" ::"r"(bar), "r"(parity) : "memory");
}

// Warp 0 fills a ring of four slots, the others empty it: out[i] = in[i] * 3.
extern "C" __global__ void ring(const int* in, int* out, int tiles) {
  constexpr int kSlots = 4;
  __shared__ int slots[kSlots][32];
  __shared__ alignas(8) unsigned long long full[kSlots], empty[kSlots];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, consumers = blockDim.x / 32 - 1;
  if (threadIdx.x == 0)
    for (int s = 0; s < kSlots; ++s) {
      ptx::mbarrier_init(reinterpret_cast<std::uint64_t*>(&full[s]), 32);
      ptx::mbarrier_init(reinterpret_cast<std::uint64_t*>(&empty[s]), 32);
    }
  __syncthreads();
  const int base = blockIdx.x * tiles * 32;
  if (warp == 0) {
    for (int i = 0; i < tiles; ++i) {
      wait_in_assembly(shared_address(&empty[i % kSlots]), (i / kSlots & 1) ^ 1);
      slots[i % kSlots][lane] = in[base + i * 32 + lane];
      ptx::mbarrier_arrive(reinterpret_cast<std::uint64_t*>(&full[i % kSlots]));
    }
  } else {
    for (int i = warp - 1; i < tiles; i += consumers) {
      while (!ptx::mbarrier_try_wait_parity(reinterpret_cast<std::uint64_t*>(&full[i % kSlots]), i / kSlots & 1)) {
      }
      out[base + i * 32 + lane] = slots[i % kSlots][lane] * 3;
      ptx::mbarrier_arrive(reinterpret_cast<std::uint64_t*>(&empty[i % kSlots]));
    }
  }
}

// One lane of the first warp waits, and the rest of the warp for it: at a barrier of the block, or of the warp.
extern "C" __global__ void one_lane_waits(int* out, int at_warp) {
  __shared__ alignas(8) unsigned long long bar;
  __shared__ int value[64];
  const int t = threadIdx.x;
  if (t == 0) ptx::mbarrier_init(reinterpret_cast<std::uint64_t*>(&bar), blockDim.x - 32);
  __syncthreads();
  if (t >= 32) {
    value[t % 64] = t;
    ptx::mbarrier_arrive(reinterpret_cast<std::uint64_t*>(&bar));
  } else {
    if (t == 0) wait_in_assembly(shared_address(&bar), 0);
    if (at_warp) __syncwarp();
    if (at_warp) out[t] = value[t + 32];
  }
  __syncthreads();
  if (!at_warp && t < 32) out[t] = value[t + 32];
}

// Lanes of one warp wait for each other.
extern "C" __global__ void lanes_wait(int* out) {
  __shared__ alignas(8) unsigned long long bars[33];
  const int t = threadIdx.x;
  ptx::mbarrier_init(reinterpret_cast<std::uint64_t*>(&bars[t]), 1);
  __syncwarp();
  // Lane t waits for lane t + 1, which arrives after its own wait.
  if (t != 31)
    while (!ptx::mbarrier_try_wait_parity(reinterpret_cast<std::uint64_t*>(&bars[t + 1]), 0)) {
    }
  out[t] = t == 31 ? 0 : out[t + 1] + 1;
  __threadfence_block();
  ptx::mbarrier_arrive(reinterpret_cast<std::uint64_t*>(&bars[t]));
}

// cuda::barrier: phases with tokens, and threads that drop out.
extern "C" __global__ void phases(int* out, int rounds) {
  __shared__ Barrier bar;
  __shared__ int words[1024];
  const int t = threadIdx.x;
  if (t == 0) init(&bar, blockDim.x);
  __syncthreads();
  words[t] = t;
  for (int k = 0; k < rounds; ++k) {
    auto token = bar.arrive();
    bar.wait(std::move(token));
    const int v = words[(t + 1) % blockDim.x];
    bar.arrive_and_wait();
    words[t] = v;
  }
  bar.arrive_and_wait();
  out[t] = words[t];
  if (t % 2) {
    bar.arrive_and_drop();
    return;
  }
  bar.arrive_and_wait();
  words[t] = t;
  bar.arrive_and_wait();  // of the even threads
  out[t] += words[(t + 2) % blockDim.x];
}

// A poll between pieces of work that the awaited warp needs: must not sleep at the poll.
extern "C" __global__ void works_while_waiting(int* out) {
  __shared__ alignas(8) unsigned long long bar;
  __shared__ volatile int work;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(reinterpret_cast<std::uint64_t*>(&bar), 1);
    work = 0;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    int polls = 0;
    while (!ptx::mbarrier_try_wait_parity(reinterpret_cast<std::uint64_t*>(&bar), 0)) {
      ++polls;
      work = polls;
    }
    *out = work;
  } else if (threadIdx.x == 32) {
    while (work < 10) {
    }
    ptx::mbarrier_arrive(reinterpret_cast<std::uint64_t*>(&bar));
  }
}

// Gives up after so many polls.
extern "C" __global__ void gives_up(int* out, int most) {
  __shared__ alignas(8) unsigned long long bar;
  if (threadIdx.x == 0) ptx::mbarrier_init(reinterpret_cast<std::uint64_t*>(&bar), 1);
  __syncthreads();
  int polls = 0;
  while (polls < most && !ptx::mbarrier_try_wait_parity(reinterpret_cast<std::uint64_t*>(&bar), 0)) ++polls;
  if (threadIdx.x == 0) *out = polls;
}

// Values go around the ring of CTAs of a cluster, by arrivals at the next one's barrier.
extern "C" __global__ void __cluster_dims__(4, 1, 1) around(int* out, int rounds) {
  __shared__ alignas(8) std::uint64_t full, empty;
  __shared__ int words[64];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), next = (rank + 1) % 4, before = (rank + 3) % 4;
  const int t = threadIdx.x;
  if (t == 0) {
    ptx::mbarrier_init(&full, blockDim.x);
    ptx::mbarrier_init(&empty, blockDim.x);
  }
  cluster.sync();
  int* far = cluster.map_shared_rank(&words[t], next);
  const std::uint64_t* far_full = cluster.map_shared_rank(&full, next);
  const std::uint64_t* far_empty = cluster.map_shared_rank(&empty, before);
  int v = static_cast<int>(rank) * 100 + t;
  for (int k = 0; k < rounds; ++k) {
    *far = v;
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, const_cast<std::uint64_t*>(far_full));
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &full, k & 1)) {
    }
    v = words[t] + 1;
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, const_cast<std::uint64_t*>(far_empty));
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &empty, k & 1)) {
    }
  }
  out[blockIdx.x * blockDim.x + t] = v;
  cluster.sync();
}

// One arrival or some bytes are missing, so everyone waits for ever: in a block, or all CTAs of a cluster.
extern "C" __global__ void starves(int arrivals, int bytes, int elected) {
  __shared__ alignas(8) std::uint64_t bar;
  if (threadIdx.x == 0) ptx::mbarrier_init(&bar, arrivals);
  __syncthreads();
  if (threadIdx.x == 0) ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, bytes);
  if (!elected || threadIdx.x % 32 == 0) wait_in_assembly(shared_address(&bar), 0);
  __syncthreads();
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) starves_in_cluster(int rank_that_arrives) {
  __shared__ alignas(8) std::uint64_t bar;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) ptx::mbarrier_init(&bar, 1);
  cluster.sync();
  if (static_cast<int>(cluster.block_rank()) == rank_that_arrives && threadIdx.x == 0)
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster,
                         cluster.map_shared_rank(&bar, rank_that_arrives ^ 1));
  wait_in_assembly(shared_address(&bar), 0);
  cluster.sync();
}
