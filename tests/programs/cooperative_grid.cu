// A grid whose blocks wait for each other: a cooperative launch, as large as the device holds, that sums in two steps.
#include <cooperative_groups.h>

#include "program.h"

namespace cg = cooperative_groups;

__global__ void sum(const int* data, int n, int* partial, int* total) {
  const cg::grid_group grid = cg::this_grid();
  __shared__ int block_sum;
  if (threadIdx.x == 0) block_sum = 0;
  __syncthreads();
  int mine = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size()) mine += data[i];
  atomicAdd(&block_sum, mine);
  __syncthreads();
  if (threadIdx.x == 0) partial[blockIdx.x] = block_sum;
  grid.sync();
  if (grid.thread_rank() != 0) return;
  *total = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) *total += partial[block];
}

int main() {
  int device = 0, cooperative = 0, multiprocessors = 0, blocks = 0;
  CUDA(cudaGetDevice(&device));
  CUDA(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, device));
  CHECK(cooperative == 1);
  CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum, 64, 0));
  int count = 50'000, grid = 24;
  int *data, *partial, *total;
  CUDA(cudaMallocManaged(&data, count * sizeof(int)));
  CUDA(cudaMallocManaged(&partial, grid * sizeof(int)));
  CUDA(cudaMallocManaged(&total, sizeof(int)));
  int expected = 0;
  for (int i = 0; i < count; ++i) expected += data[i] = i % 17;
  void* arguments[] = {&data, &count, &partial, &total};
  CUDA(cudaLaunchCooperativeKernel(sum, dim3(grid), dim3(64), arguments));
  CUDA(cudaDeviceSynchronize());
  CHECK(*total == expected);
  // More blocks than fit at a time could not wait for each other.
  CHECK(cudaLaunchCooperativeKernel(sum, dim3(blocks * multiprocessors + 1), dim3(64), arguments) ==
        cudaErrorCooperativeLaunchTooLarge);
}
