// Bulk copies as nvcc compiles them: through shared memory and back by cuda::ptx, cuda::memcpy_async with a
// cuda::barrier, multicast over a cluster, blocks of tensors by the cuda::device::experimental wrappers.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace ptx = cuda::ptx;
namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kTile = 1024;

__device__ void init(uint64_t* bar) {
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(bar, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
}

/// out = 2 * in + 1, a tile per block.
extern "C" __global__ void through(const int* in, int* out) {
  __shared__ alignas(128) int tile[kTile];
  __shared__ uint64_t bar;
  init(&bar);
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in + blockIdx.x * kTile, sizeof tile, &bar);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, sizeof tile);
  }
  while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {
  }
  for (int i = threadIdx.x; i < kTile; i += blockDim.x) tile[i] = 2 * tile[i] + 1;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + blockIdx.x * kTile, tile, sizeof tile);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

/// The same with a ring of stages of cuda::barrier.
extern "C" __global__ void ring(const int* in, int* out, int tiles) {
  constexpr int kStages = 3;
  __shared__ alignas(128) int stage[kStages][kTile];
  __shared__ Barrier full[kStages];
  if (threadIdx.x == 0) {
    for (auto& bar : full) init(&bar, blockDim.x);
    cuda::device::experimental::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  const auto begin = [&](int tile) {
    Barrier& bar = full[tile % kStages];
    if (threadIdx.x != 0) return bar.arrive();
    cuda::memcpy_async(stage[tile % kStages], in + tile * kTile, cuda::aligned_size_t<16>(sizeof stage[0]), bar);
    return bar.arrive();
  };
  Barrier::arrival_token token[kStages];
  for (int i = 0; i < kStages && i < tiles; ++i) token[i] = begin(i);
  for (int i = 0; i < tiles; ++i) {
    full[i % kStages].wait(std::move(token[i % kStages]));
    for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[i * kTile + k] = 2 * stage[i % kStages][k] + 1;
    __syncthreads();
    if (i + kStages < tiles) token[i % kStages] = begin(i + kStages);
  }
}

/// Rank 0 sends its cluster's tile to all members, each of which adds its rank. Launched in clusters.
extern "C" __global__ void multicast(const int* in, int* out) {
  __shared__ alignas(128) int tile[kTile];
  __shared__ uint64_t bar;
  auto cluster = cg::this_cluster();
  init(&bar);
  if (threadIdx.x == 0) ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, sizeof tile);
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) {
    // cuda::ptx has this form for sm_90a alone.
    const auto all = static_cast<uint16_t>((1u << cluster.num_blocks()) - 1);
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(
            static_cast<unsigned>(__cvta_generic_to_shared(tile))),
        "l"(__cvta_generic_to_global(in + blockIdx.x / cluster.num_blocks() * kTile)),
        "r"(static_cast<unsigned>(sizeof tile)), "r"(static_cast<unsigned>(__cvta_generic_to_shared(&bar))), "h"(all)
        : "memory");
  }
  while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {
  }
  for (int i = threadIdx.x; i < kTile; i += blockDim.x) out[blockIdx.x * kTile + i] = tile[i] + cluster.block_rank();
  cluster.sync();
}

/// Each member sends its tile to the next one's.
extern "C" __global__ void pass_on(const int* in, int* out) {
  __shared__ alignas(128) int tile[kTile], got[kTile];
  __shared__ uint64_t bar;
  auto cluster = cg::this_cluster();
  init(&bar);
  if (threadIdx.x == 0) ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, sizeof tile);
  for (int i = threadIdx.x; i < kTile; i += blockDim.x) tile[i] = in[blockIdx.x * kTile + i];
  ptx::fence_proxy_async(ptx::space_shared);
  cluster.sync();
  if (threadIdx.x == 0) {
    const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, cluster.map_shared_rank(got, next), tile, sizeof tile,
                       cluster.map_shared_rank(&bar, next));
  }
  while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {
  }
  for (int i = threadIdx.x; i < kTile; i += blockDim.x) out[blockIdx.x * kTile + i] = got[i];
  cluster.sync();
}

/// out += in, by all blocks at once.
extern "C" __global__ void add(const int* in, int* out) {
  __shared__ alignas(128) int tile[kTile];
  for (int i = threadIdx.x; i < kTile; i += blockDim.x) tile[i] = in[blockIdx.x * kTile + i];
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out, tile, sizeof tile);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}

/// A 2-d tensor turned: each block loads a 32 x 32 tile with the map of `in` and stores it turned with that of `out`.
extern "C" __global__ void transpose(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out) {
  __shared__ alignas(128) int tile[32][32], turned[32][32];
  __shared__ uint64_t bar;
  init(&bar);
  const int x = blockIdx.x * 32, y = blockIdx.y * 32;
  if (threadIdx.x == 0) {
    const int at[] = {x, y};
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &in, at, &bar);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, sizeof tile);
  }
  while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {
  }
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) turned[i % 32][i / 32] = tile[i / 32][i % 32];
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    const int at[] = {y, x};
    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &out, at, turned);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}
