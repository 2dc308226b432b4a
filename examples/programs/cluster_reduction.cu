// A sum by clusters: the blocks of a cluster add up their partial sums in the shared memory of its first block, so that there
// is one atomic operation on global memory for each cluster. Launched with every cluster size that is portable.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

__global__ void sum(const int* values, int n, unsigned long long* total) {
  const cg::cluster_group cluster = cg::this_cluster();
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  __shared__ unsigned long long of_cluster;  // used in the first block of each cluster only
  if (threadIdx.x == 0) of_cluster = 0;
  unsigned long long mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += values[i];
  const unsigned long long of_warp = cg::reduce(warp, mine, cg::plus<unsigned long long>());
  cluster.sync();  // the first block has set its sum to 0
  if (warp.thread_rank() == 0) atomicAdd(cluster.map_shared_rank(&of_cluster, 0), of_warp);
  cluster.sync();  // all have added
  if (cluster.thread_rank() == 0) atomicAdd(total, of_cluster);
}

int main() {
  const int n = 300'000;
  std::vector<int> values(n);
  unsigned long long want = 0;
  for (int i = 0; i < n; ++i) want += values[i] = i % 1013;
  int* on_device;
  unsigned long long* total;
  cudaMalloc(&on_device, n * sizeof(int));
  cudaMalloc(&total, sizeof *total);
  cudaMemcpy(on_device, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  int wrong = 0;
  for (unsigned size = 1; size <= 8; size *= 2) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = size;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(16);
    config.blockDim = dim3(256);
    config.attrs = &attribute;
    config.numAttrs = 1;
    unsigned long long got = 0;
    cudaMemset(total, 0, sizeof *total);
    cudaError_t error = cudaLaunchKernelEx(&config, sum, (const int*)on_device, n, total);
    if (error == cudaSuccess) error = cudaMemcpy(&got, total, sizeof got, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) {
      std::printf("cluster_reduction: clusters of %u: %s\n", size, cudaGetErrorString(error));
      return 1;
    }
    wrong += got != want;
  }
  std::printf("cluster_reduction: the sum of %d numbers is %llu with 4 cluster sizes, %d wrong\n", n, want, wrong);
  cudaFree(on_device);
  cudaFree(total);
  return wrong != 0;
}
