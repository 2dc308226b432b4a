// A kernel with an instruction that Raddle does not know does not keep the others of its program from running; its launch
// fails, and writes nothing. nvcc asks ptxas, so these are two that ptxas takes although the manual does not have them.
#include "program.h"

__global__ void good(int* out) { out[threadIdx.x] = threadIdx.x + 1; }

__global__ void bad(int* out) {
  asm volatile("{ .reg .pred p; testp.f32 p, %0; }" ::"f"(1.0f));
  out[threadIdx.x] = -1;
}

__device__ __noinline__ int helper(short x) {
  short y;
  asm volatile("addc.u16 %0, %1, %1;" : "=h"(y) : "h"(x));
  return y;
}
__global__ void calls(int* out) { out[threadIdx.x] = helper(threadIdx.x); }

int main() {
  int* out;
  CUDA(cudaMallocManaged(&out, 32 * sizeof(int)));
  for (int round = 0; round < 2; ++round) {
    good<<<1, 32>>>(out);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    CHECK(out[0] == 1 && out[31] == 32);
    bad<<<1, 32>>>(out);
    CHECK(cudaGetLastError() == cudaErrorNotSupported);
    calls<<<1, 32>>>(out);
    CHECK(cudaGetLastError() == cudaErrorNotSupported);
    CUDA(cudaDeviceSynchronize());
    CHECK(out[0] == 1 && out[31] == 32);
  }
  cudaFuncAttributes attributes;
  CUDA(cudaFuncGetAttributes(&attributes, good));
  std::printf("the good kernel ran\n");
}
// output: the good kernel ran
