// Rings of tiles: a producer warp brings tiles of a tensor by TMA into stages of shared memory, two warps compute with them and
// store the results by TMA. Every wait, fence and arrival is needed: rings_test.cpp takes out each by itself.
// tests/programs/tensor_rings.cu runs the same kernels from a host program.
#include <cuda.h>
#include <cuda/ptx>

#include "rings.h"

namespace ptx = cuda::ptx;
using namespace rings;

/// Where a warp is in the ring.
struct Place {
  int stage;
  unsigned parity;
  __device__ void next() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

struct Shared {
  alignas(128) unsigned stage[kStages][kTile];
  alignas(128) unsigned result[kTile];
  std::uint64_t full[kStages], empty[kStages];
};

__device__ void sync_consumers() { asm volatile("bar.sync 1, 64;" ::: "memory"); }

/// One tile's results: of each element, its mirror image, and all elements before that the thread has seen.
__device__ void consume(const unsigned* tile, unsigned& carry, unsigned (&made)[2]) {
  const unsigned t = threadIdx.x;
  for (int half = 0; half < 2; ++half) {
    carry = carry * 5 + tile[half * kConsumers + t] + 3 * tile[kTile - 1 - half * kConsumers - t];
    made[half] = carry;
  }
}

/// The results of both warps, for the store.
__device__ void stage_results(unsigned* result, const unsigned (&made)[2]) {
  if (threadIdx.x % 32 == 0) ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  sync_consumers();
  for (int half = 0; half < 2; ++half) result[half * kConsumers + threadIdx.x] = made[half];
  ptx::fence_proxy_async(ptx::space_shared);
  sync_consumers();
}

/// out: boxes of half a tile. `written` is where out lies, in rows of `width`; back: what a warp finds there at its end.
extern "C" __global__ void ring(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out,
                                const unsigned* written, unsigned* back, int width, int tiles_x, int tiles) {
  __shared__ Shared shared;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == kConsumers) {  // in the last warp, so that others come to the barriers first
    for (int s = 0; s < kStages; ++s) {
      ptx::mbarrier_init(&shared.full[s], 1);
      ptx::mbarrier_init(&shared.empty[s], kConsumers);
    }
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  if (warp == 2) {
    Place at{0, 1};  // every stage is empty at first
#pragma unroll 1
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, at.next()) {
      const int corner[] = {tile % tiles_x * kColumns, tile / tiles_x * kRows};
      while (!ptx::mbarrier_try_wait_parity(&shared.empty[at.stage], at.parity)) {
      }
      if (lane != 0) continue;
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &shared.full[at.stage],
                                     sizeof shared.stage[0]);
      ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, shared.stage[at.stage], &in, corner,
                                &shared.full[at.stage]);
    }
    return;
  }
  Place at{0, 0};
  unsigned carry = 1, made[2];
  int corner[] = {0, 0};
#pragma unroll 1
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, at.next()) {
    while (!ptx::mbarrier_try_wait_parity(&shared.full[at.stage], at.parity)) {
    }
    consume(shared.stage[at.stage], carry, made);
    ptx::mbarrier_arrive(&shared.empty[at.stage]);
    stage_results(shared.result, made);
    corner[0] = tile % tiles_x * kColumns, corner[1] = tile / tiles_x * kRows + warp * kRows / 2;
    if (lane == 0) {  // each warp stores a row of its own and one of the other warp
      ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &out, corner, shared.result + warp * kTile / 2);
      ptx::cp_async_bulk_commit_group();
    }
  }
  if (lane == 0) {
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    back[blockIdx.x * 2 + warp] = written[corner[1] * width + corner[0]];
  }
}

/// The same in clusters of 1, 2 or 4: each CTA brings its rows of every tile to all of them. in: boxes of these rows. out has
/// a third dimension, of a tensor of results for each CTA of the grid, `plane` elements apart.
extern "C" __global__ void multicast_ring(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out,
                                          const unsigned* written, unsigned* back, int width, int plane, int tiles_x,
                                          int tiles) {
  __shared__ Shared shared;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned rank = ptx::get_sreg_cluster_ctarank(), size = ptx::get_sreg_cluster_nctarank();
  if (threadIdx.x == kConsumers) {
    for (int s = 0; s < kStages; ++s) {
      ptx::mbarrier_init(&shared.full[s], 1);
      ptx::mbarrier_init(&shared.empty[s], kConsumers * size);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  ptx::barrier_cluster_arrive(ptx::sem_relaxed);
  ptx::barrier_cluster_wait();
  if (warp == 2) {
    const int rows = kRows / size;
    Place at{0, 1};
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile, at.next()) {
      while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &shared.empty[at.stage], at.parity)) {
      }
      if (lane != 0) continue;
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &shared.full[at.stage],
                                     sizeof shared.stage[0]);
      // cuda::ptx has this form for sm_90a alone.
      asm volatile(
          "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
          "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(
              static_cast<unsigned>(__cvta_generic_to_shared(&shared.stage[at.stage][rank * rows * kColumns]))),
          "l"(&in), "r"(tile % tiles_x * kColumns), "r"(tile / tiles_x * kRows + static_cast<int>(rank) * rows),
          "r"(static_cast<unsigned>(__cvta_generic_to_shared(&shared.full[at.stage]))),
          "h"(static_cast<std::uint16_t>((1u << size) - 1))
          : "memory");
    }
  } else {
    Place at{0, 0};
    unsigned carry = 1 + blockIdx.x, made[2];
    int corner[] = {0, 0, static_cast<int>(blockIdx.x)};
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile, at.next()) {
      while (!ptx::mbarrier_try_wait_parity(&shared.full[at.stage], at.parity)) {
      }
      consume(shared.stage[at.stage], carry, made);
#pragma unroll 1
      for (unsigned to = 0; to < size; ++to) {
        auto* const theirs = static_cast<std::uint64_t*>(__cluster_map_shared_rank(&shared.empty[at.stage], to));
        ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, theirs);
      }
      stage_results(shared.result, made);
      corner[0] = tile % tiles_x * kColumns, corner[1] = tile / tiles_x * kRows + warp * kRows / 2;
      if (lane == 0) {
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &out, corner, shared.result + warp * kTile / 2);
        ptx::cp_async_bulk_commit_group();
      }
    }
    if (lane == 0) {
      ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
      back[blockIdx.x * 2 + warp] = written[blockIdx.x * plane + corner[1] * width + corner[0]];
    }
  }
  ptx::barrier_cluster_arrive();  // nobody leaves to whom others may still send
  ptx::barrier_cluster_wait();
}
