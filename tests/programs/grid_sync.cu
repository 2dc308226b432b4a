// A cooperative launch: blocks that all wait for one another, and a grid too large for that.
#include <cooperative_groups.h>

#include "program.h"

namespace cg = cooperative_groups;

/// In each round every block reads what its right neighbour wrote in the one before.
__global__ void pass_on(int* from, int* to, int rounds) {
  const cg::grid_group grid = cg::this_grid();
  const unsigned next = (blockIdx.x + 1) % gridDim.x;
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0) to[blockIdx.x] = from[next] + 1;
    grid.sync();
    int* const other = from;
    from = to;
    to = other;
  }
}

int main() {
  int can = 0, per_sm = 0, sms = 0;
  CUDA(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
  CHECK(can == 1);
  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, pass_on, 64, 0));
  CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  constexpr int kBlocks = 100;
  CHECK(per_sm * sms >= kBlocks);
  int *first, *second, rounds = 10;
  CUDA(cudaMallocManaged(&first, kBlocks * sizeof(int)));
  CUDA(cudaMallocManaged(&second, kBlocks * sizeof(int)));
  for (int i = 0; i < kBlocks; ++i) first[i] = i * i;
  void* arguments[] = {&first, &second, &rounds};
  CUDA(cudaLaunchCooperativeKernel(pass_on, dim3(kBlocks), dim3(64), arguments, 0, nullptr));
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < kBlocks; ++i) {
    const int from = (i + rounds) % kBlocks;
    CHECK(first[i] == from * from + rounds);
  }
  CHECK(cudaLaunchCooperativeKernel(pass_on, dim3(per_sm * sms + 1), dim3(64), arguments, 0, nullptr) ==
        cudaErrorCooperativeLaunchTooLarge);
}
