// A sum by cooperative groups: each tile of 32 threads reduces by shuffles, each block by its tiles' sums, and blocks add up
// with an atomic operation.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

__global__ void sum(const int* values, int n, unsigned long long* total) {
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<32>(block);
  __shared__ int partial[32];
  int mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += values[i];
  const int of_tile = cg::reduce(tile, mine, cg::plus<int>());
  if (tile.thread_rank() == 0) partial[tile.meta_group_rank()] = of_tile;
  block.sync();
  if (tile.meta_group_rank() == 0) {
    const int of_lane = tile.thread_rank() < tile.meta_group_size() ? partial[tile.thread_rank()] : 0;
    const int of_block = cg::reduce(tile, of_lane, cg::plus<int>());
    if (tile.thread_rank() == 0) atomicAdd(total, (unsigned long long)of_block);
  }
}

int main() {
  const int n = 300'000;
  std::vector<int> values(n);
  unsigned long long want = 0, got = 0;
  for (int i = 0; i < n; ++i) want += values[i] = i % 1013;
  int* on_device;
  unsigned long long* total;
  cudaMalloc(&on_device, n * sizeof(int));
  cudaMalloc(&total, sizeof *total);
  cudaMemcpy(on_device, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(total, 0, sizeof *total);
  int blocks = 0, threads = 0;
  cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, sum);
  sum<<<blocks < 64 ? blocks : 64, 256>>>(on_device, n, total);
  const cudaError_t error = cudaMemcpy(&got, total, sizeof got, cudaMemcpyDeviceToHost);
  if (error != cudaSuccess) {
    std::printf("reduction: %s\n", cudaGetErrorString(error));
    return 1;
  }
  std::printf("reduction: the sum of %d numbers is %llu, %d wrong\n", n, got, got != want);
  cudaFree(on_device);
  cudaFree(total);
  return got != want;
}
