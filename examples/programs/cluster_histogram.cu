// A histogram that is too large for a block's shared memory: each block of a cluster holds a part of the bins, and every block
// counts into all parts through distributed shared memory. Global memory sees one atomic operation per bin and cluster.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

__global__ void count(const unsigned* values, int n, int bins_per_block, int* bins) {
  extern __shared__ int mine[];
  const cg::cluster_group cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) mine[i] = 0;
  cluster.sync();  // all parts are there and empty
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const int bin = values[i] % (bins_per_block * cluster.num_blocks());
    atomicAdd(cluster.map_shared_rank(mine, bin / bins_per_block) + bin % bins_per_block, 1);
  }
  cluster.sync();  // counting is over: a block may read its part, and go
  const int first = cluster.block_rank() * bins_per_block;
  for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) atomicAdd(&bins[first + i], mine[i]);
}

int main() {
  const int n = 200'000, cluster = 4, bins_per_block = 16'000, bin_count = cluster * bins_per_block;
  const int shared_bytes = bins_per_block * sizeof(int);
  std::vector<unsigned> values(n);
  std::vector<int> want(bin_count), got(bin_count);
  for (int i = 0; i < n; ++i) ++want[(values[i] = 2654435761u * i >> 3) % bin_count];
  unsigned* on_device;
  int* bins;
  cudaMalloc(&on_device, n * sizeof(unsigned));
  cudaMalloc(&bins, bin_count * sizeof(int));
  cudaMemcpy(on_device, values.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice);
  cudaMemset(bins, 0, bin_count * sizeof(int));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(3 * cluster);
  config.blockDim = dim3(256);
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int at_once = 0;
  cudaError_t error = cudaFuncSetAttribute(count, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (error == cudaSuccess) error = cudaOccupancyMaxActiveClusters(&at_once, count, &config);
  if (error == cudaSuccess) error = cudaLaunchKernelEx(&config, count, (const unsigned*)on_device, n, bins_per_block, bins);
  if (error == cudaSuccess) error = cudaMemcpy(got.data(), bins, bin_count * sizeof(int), cudaMemcpyDeviceToHost);
  if (error != cudaSuccess) {
    std::printf("cluster_histogram: %s\n", cudaGetErrorString(error));
    return 1;
  }
  int wrong = at_once <= 0;
  for (int i = 0; i < bin_count; ++i) wrong += got[i] != want[i];
  std::printf("cluster_histogram: %d bins in clusters of %d blocks, %d of which fit at once; %d wrong\n", bin_count, cluster, at_once, wrong);
  cudaFree(on_device);
  cudaFree(bins);
  return wrong != 0;
}
