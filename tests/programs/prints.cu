// printf and assert in kernels; a failed assertion is an error that stays.
// output: block 0 thread 1: 3.5 x%
#include <cassert>

#include "program.h"

__global__ void say(double value, const char suffix) {
  if (threadIdx.x == 1) printf("block %d thread %u: %.1f %c%%\n", blockIdx.x, threadIdx.x, value, suffix);
}

__global__ void insist(int value) { assert(value == 1); }

int main() {
  say<<<1, 2>>>(3.5, 'x');
  CUDA(cudaDeviceSynchronize());
  insist<<<1, 1>>>(1);
  CUDA(cudaDeviceSynchronize());
  insist<<<1, 1>>>(2);
  CHECK(cudaDeviceSynchronize() == cudaErrorAssert);
  void* memory;
  CHECK(cudaMalloc(&memory, 4) == cudaErrorAssert);
  CUDA(cudaDeviceReset());
  CUDA(cudaMalloc(&memory, 4));  // a new context
  say<<<1, 1>>>(0, 'x');
  CUDA(cudaDeviceSynchronize());
}
