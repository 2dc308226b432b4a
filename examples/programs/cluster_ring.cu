// Blocks of a cluster in a ring: in every step each hands what it has to its right neighbour, straight into that one's shared
// memory. After as many steps as there are blocks, each has seen what all had. The cluster's size is part of the kernel.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;
constexpr int kBlocks = 8, kThreads = 64;

/// results[i] = the sum of 2^step * values over the ring, backwards from the block of thread i.
__global__ void __cluster_dims__(kBlocks, 1, 1) pass_around(const int* values, int* results) {
  __shared__ int box[2][kThreads];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned right = (cluster.block_rank() + 1) % cluster.num_blocks();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int mine = values[i], sum = 0;
  cluster.sync();  // the neighbour is there: before, its memory is not to be touched
  for (unsigned step = 0; step < cluster.num_blocks(); ++step) {
    sum += mine << step;
    cluster.map_shared_rank(box[step % 2], right)[threadIdx.x] = mine;
    cluster.sync();
    mine = box[step % 2][threadIdx.x];
  }
  results[i] = sum;
}

int main() {
  const int clusters = 3, n = clusters * kBlocks * kThreads;
  std::vector<int> values(n), got(n);
  for (int i = 0; i < n; ++i) values[i] = i * 7 % 1001;
  int *on_device, *results;
  cudaMalloc(&on_device, n * sizeof(int));
  cudaMalloc(&results, n * sizeof(int));
  cudaMemcpy(on_device, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  pass_around<<<clusters * kBlocks, kThreads>>>(on_device, results);
  cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) error = cudaMemcpy(got.data(), results, n * sizeof(int), cudaMemcpyDeviceToHost);
  if (error != cudaSuccess) {
    std::printf("cluster_ring: %s\n", cudaGetErrorString(error));
    return 1;
  }
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    const int block = i / kThreads % kBlocks, first = i - block * kThreads;
    int want = 0;
    for (int step = 0; step < kBlocks; ++step) want += values[first + (block - step + kBlocks) % kBlocks * kThreads] << step;
    wrong += got[i] != want;
  }
  std::printf("cluster_ring: %d clusters of %d blocks passed their values around, %d wrong\n", clusters, kBlocks, wrong);
  cudaFree(on_device);
  cudaFree(results);
  return wrong != 0;
}
