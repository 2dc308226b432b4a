// A product of bf16 matrices as kernels for Hopper are written: blocks stay and take tile after tile; a producer brings tiles by TMA
// into a ring, and the half of b's tile that it loads to both blocks of its cluster; two consumer warpgroups multiply by wgmma.
// arch: sm_90a
#include "tensor_core.cuh"

constexpr int kRows = 64, kConsumers = 2, kColumns = 128, kDepth = 64, kStages = 3, kCluster = 2;

struct alignas(1024) Stage {
  unsigned short a[kConsumers][kRows][kDepth], b[kColumns][kDepth];
};
struct Ring {
  Stage stages[kStages];
  Mbarrier filled[kStages], emptied[kStages];
};

__device__ inline void multicast_tile(void* to, const TensorMap* map, int x, int y, Mbarrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
      "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier)), "h"(static_cast<unsigned short>((1 << kCluster) - 1))
      : "memory");
}

/// One thread of the block. Stages are empty when the consumers of both blocks have left them.
__device__ void produce(Ring& ring, const TensorMap* a, const TensorMap* b, int rank, int tiles_x, int tiles, int passes) {
  RingPlace<kStages> place;
  constexpr int kHalf = kColumns / kCluster;
  for (int tile = blockIdx.x / kCluster; tile < tiles; tile += gridDim.x / kCluster) {
    const int row = (tile / tiles_x * kCluster + rank) * kConsumers * kRows, column = tile % tiles_x * kColumns + rank * kHalf;
#pragma unroll 1
    for (int pass = 0; pass < passes; ++pass, place.advance()) {
      wait(&ring.emptied[place.stage], place.parity ^ 1);
      Stage& stage = ring.stages[place.stage];
      Mbarrier* filled = &ring.filled[place.stage];
      arrive_expecting(filled, sizeof stage);
      for (int i = 0; i < kConsumers; ++i) load_tile(stage.a[i], a, pass * kDepth, row + i * kRows, filled);
      multicast_tile(stage.b[rank * kHalf], b, pass * kDepth, column, filled);
    }
  }
}

__device__ void consume(Ring& ring, float* c, int rank, int tiles_x, int tiles, int passes) {
  const int consumer = threadIdx.x / 128 - 1, width = tiles_x * kColumns;
  RingPlace<kStages> place;
  for (int tile = blockIdx.x / kCluster; tile < tiles; tile += gridDim.x / kCluster) {
    float d[kColumns / 2];
#pragma unroll 1
    for (int pass = 0; pass < passes; ++pass, place.advance()) {
      wait(&ring.filled[place.stage], place.parity);
      const unsigned long long a = swizzled_rows(ring.stages[place.stage].a[consumer]),
                               b = swizzled_rows(ring.stages[place.stage].b);
      begin_wgmma();
      for (int i = 0; i < kDepth / 16; ++i) wgmma(d, advanced(a, i * 32), advanced(b, i * 32), pass + i);
      commit_wgmma();
      wait_for_wgmma<0>();
      // A wgmma is the warpgroup's: what one of its threads has waited for, all have.
      if (threadIdx.x % 128 < kCluster) arrive_at(&ring.emptied[place.stage], threadIdx.x % 128);
    }
    const int row = ((tile / tiles_x * kCluster + rank) * kConsumers + consumer) * kRows;
    store_results(d, c + row * width + tile % tiles_x * kColumns, width);
  }
}

/// c = a * b^T. a: boxes of 64 x 64, b: boxes of 64 x 64, both of rows of k and with 128-byte swizzle.
/// Clusters of two blocks of 384 threads; c has 256 * n rows and 128 * tiles_x columns, k is 64 * passes.
extern "C" __global__ __launch_bounds__(384, 1) void wgmma_gemm(const __grid_constant__ TensorMap a,
                                                                const __grid_constant__ TensorMap b, float* c, int tiles_x,
                                                                int tiles, int passes) {
  extern __shared__ Ring rings[];
  Ring& ring = rings[0];
  const int rank = static_cast<int>(cluster_rank());
  if (threadIdx.x == 0)
    for (int s = 0; s < kStages; ++s) init(&ring.filled[s], 1), init(&ring.emptied[s], kConsumers * kCluster);
  sync_cluster();
  if (threadIdx.x < 128) {
    give_registers<40>();
    if (threadIdx.x == 0) produce(ring, &a, &b, rank, tiles_x, tiles, passes);
    __syncwarp();
  } else {
    take_registers<232>();
    consume(ring, c, rank, tiles_x, tiles, passes);
  }
  sync_cluster();  // nobody arrives at a block that has gone
}
