// Prefix sums in clusters: every cluster sums the elements of its blocks, in order, up to and including each. A warp scans its part
// by shuffles, in rows in which a thread has four neighbours; a block scans through shared memory, and the blocks of a cluster
// through each other's shared memory.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int kVector = 4, kRows = 4, kItems = kVector * kRows;

__device__ unsigned scan_warp(unsigned value) {
  const unsigned lane = threadIdx.x & 31;
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned other = __shfl_up_sync(~0u, value, step);
    if (lane >= step) value += other;
  }
  return value;
}

/// in, out: n elements, a multiple of kVector, kItems per thread, 16-byte aligned. Blocks are of whole warps.
extern "C" __global__ void cluster_scan(const unsigned* in, unsigned* out, int n) {
  __shared__ unsigned of_warp[32], of_block;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  const int first = blockIdx.x * blockDim.x * kItems + warp * 32 * kItems + lane * kVector;
  uint4 x[kRows];
  unsigned sum = 0;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const int i = first + row * 32 * kVector;
    x[row] = i < n ? *reinterpret_cast<const uint4*>(in + i) : uint4{0, 0, 0, 0};
  }
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    x[row].y += x[row].x;
    x[row].z += x[row].y;
    x[row].w += x[row].z;
    const unsigned up_to = scan_warp(x[row].w), below = sum + up_to - x[row].w;
    x[row] = {x[row].x + below, x[row].y + below, x[row].z + below, x[row].w + below};
    sum += __shfl_sync(~0u, up_to, 31);
  }
  if (lane == 0) of_warp[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    const unsigned up_to_warp = scan_warp(lane < warps ? of_warp[lane] : 0);
    if (lane < warps) of_warp[lane] = up_to_warp;
    if (lane == warps - 1) of_block = up_to_warp;
  }
  cluster.sync();  // the sums of all blocks are there
  unsigned before = warp > 0 ? of_warp[warp - 1] : 0;
  for (unsigned rank = 0; rank < cluster.block_rank(); ++rank) before += *cluster.map_shared_rank(&of_block, rank);
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const uint4 y = {x[row].x + before, x[row].y + before, x[row].z + before, x[row].w + before};
    const int i = first + row * 32 * kVector;
    if (i < n) *reinterpret_cast<uint4*>(out + i) = y;
  }
  cluster.sync();  // no block reads this block's sum any more: it may go
}
