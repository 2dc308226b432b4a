// Prefix sums in clusters: every cluster sums the elements of its blocks, in order, up to and including each. A warp scans by
// shuffles, a block through shared memory, and the blocks of a cluster through each other's shared memory.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__device__ unsigned scan_warp(unsigned value) {
  const unsigned lane = threadIdx.x & 31;
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned other = __shfl_up_sync(~0u, value, step);
    if (lane >= step) value += other;
  }
  return value;
}

/// in, out: n elements, one per thread. Blocks are of whole warps.
extern "C" __global__ void cluster_scan(const unsigned* in, unsigned* out, int n) {
  __shared__ unsigned of_warp[32], of_block;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned sum = scan_warp(i < n ? in[i] : 0);
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    const unsigned up_to_warp = scan_warp(lane < warps ? of_warp[lane] : 0);
    if (lane < warps) of_warp[lane] = up_to_warp;
    if (lane == warps - 1) of_block = up_to_warp;
  }
  cluster.sync();  // the sums of all blocks are there
  if (warp > 0) sum += of_warp[warp - 1];
  for (unsigned rank = 0; rank < cluster.block_rank(); ++rank) sum += *cluster.map_shared_rank(&of_block, rank);
  if (i < n) out[i] = sum;
  cluster.sync();  // no block reads this block's sum any more: it may go
}
