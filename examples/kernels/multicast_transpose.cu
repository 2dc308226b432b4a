// A matrix turned by clusters: each block brings its part of a tile's rows to all blocks of the cluster, and stores its part of the
// columns as rows.
#include "async.cuh"

constexpr int kTile = 32, kCluster = 4, kPart = kTile / kCluster;

/// in: boxes of 32 x 8; out: boxes of 32 x 8 of the turned matrix. Clusters of 4 along x, one for each tile.
extern "C" __global__ void multicast_transpose(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap out) {
  alignas(128) __shared__ unsigned tile[kTile][kTile], turned[kPart][kTile];
  __shared__ Mbarrier loaded;
  const int rank = static_cast<int>(cluster_rank()), x = blockIdx.x / kCluster * kTile, y = blockIdx.y * kTile;
  if (threadIdx.x == 0) {
    init(&loaded, 1);
    arrive_expecting(&loaded, sizeof tile);
  }
  sync_cluster();  // every block's mbarrier is there
  if (threadIdx.x == 0)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(tile[rank * kPart])),
        "l"(&in), "r"(x), "r"(y + rank * kPart), "r"(shared_address(&loaded)), "h"(static_cast<unsigned short>((1 << kCluster) - 1))
        : "memory");
  wait(&loaded, 0);
  for (int i = threadIdx.x; i < kPart * kTile; i += blockDim.x)
    turned[i / kTile][i % kTile] = tile[i % kTile][rank * kPart + i / kTile];
  fence_for_copies();
  __syncthreads();
  if (threadIdx.x == 0) {
    store_tile(&out, y, x + rank * kPart, turned);
    commit();
    wait_for_stores();
  }
  sync_cluster();  // nobody sends to a block that has gone
}
