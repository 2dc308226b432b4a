// Clusters of blocks: where a block is in its cluster, the barrier, and the shared memory of other blocks; by cooperative groups
// and by the C functions.
#include <cooperative_groups.h>

#include <string>
#include <utility>

#include "check.h"

namespace cg = cooperative_groups;

#define CLAIM(number, holds) \
  if (!(holds)) atomicAdd(&wrong[number], 1)
constexpr int kClaims = 12;

__device__ bool same(dim3 a, dim3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

__global__ void __cluster_dims__(2, 2, 1) look(int* wrong) {
  __shared__ unsigned box[64];
  const cg::cluster_group cluster = cg::this_cluster();
  const cg::thread_block block = cg::this_thread_block();
  const dim3 place(blockIdx.x % 2, blockIdx.y % 2, 0);
  const unsigned rank = place.x + 2 * place.y, thread = block.thread_rank();
  CLAIM(0, cluster.num_blocks() == 4 && __clusterSizeInBlocks() == 4 && cluster.block_rank() == rank && __clusterRelativeBlockRank() == rank);
  CLAIM(1, same(cluster.dim_blocks(), dim3(2, 2, 1)) && same(__clusterDim(), dim3(2, 2, 1)) && __clusterDimIsSpecified());
  CLAIM(2, same(cluster.block_index(), place) && same(__clusterRelativeBlockIdx(), place));
  CLAIM(3, same(__clusterIdx(), dim3(blockIdx.x / 2, blockIdx.y / 2, 0)) && same(__clusterGridDimInClusters(), dim3(3, 2, 1)));
  CLAIM(4, cluster.num_threads() == 4 * 64 && cluster.size() == 4 * 64 && cluster.thread_rank() == rank * 64 + thread);
  CLAIM(5, same(cluster.dim_threads(), dim3(64, 4, 1)));
  CLAIM(6, same(cluster.thread_index(), dim3(place.x * 32 + threadIdx.x, place.y * 2 + threadIdx.y, 0)));
  box[thread] = 1000 * rank + thread;
  auto arrived = cluster.barrier_arrive();
  cluster.barrier_wait(std::move(arrived));
  unsigned* const next = cluster.map_shared_rank(box, (rank + 1) % 4);
  CLAIM(7, next[thread] == 1000 * ((rank + 1) % 4) + thread);
  CLAIM(8, cluster.query_shared_rank(next) == (rank + 1) % 4 && __cluster_query_shared_rank(box) == rank);
  CLAIM(9, __cluster_map_shared_rank(box, rank) == box);
  cluster.sync();  // all have read
  atomicAdd(&next[63 - thread], 10000u);
  __threadfence_cluster();
  __cluster_barrier_arrive();
  __cluster_barrier_wait();
  CLAIM(10, box[thread] == 10000 + 1000 * rank + thread);
  // Threads of a warp may arrive apart.
  if (thread % 2 == 0) {
    __cluster_barrier_arrive_relaxed();
  } else {
    __cluster_barrier_arrive();
  }
  __cluster_barrier_wait();
}

__global__ void alone(int* wrong) {
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.sync();
  CLAIM(11, cluster.num_blocks() == 1 && cluster.block_rank() == 0 && cluster.thread_rank() == threadIdx.x && !__clusterDimIsSpecified());
}

int main() {
  Buffer<int> wrong(kClaims);
  look<<<dim3(6, 4), dim3(32, 2)>>>(wrong.get());
  must(cudaGetLastError());
  alone<<<3, 32>>>(wrong.get());
  must(cudaDeviceSynchronize());
  const std::vector<int> counts = wrong.contents();
  for (int claim = 0; claim < kClaims; ++claim) check(counts[claim] == 0, ("claim " + std::to_string(claim)).c_str());
  return finish();
}
