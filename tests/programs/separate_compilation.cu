// Device code in two files, linked by -rdc=true: a function, variables and a kernel of the other file.
// nvcc: -rdc=true
// with: separate_compilation_other.cu
#include "program.h"

extern __device__ int offset;
extern __constant__ int table[3];
extern __device__ int apply(int value);
__global__ void other_kernel(int* data);
void set_table(const int* values);

__global__ void kernel(int* data) { data[threadIdx.x] = apply(threadIdx.x) + offset + table[threadIdx.x % 3]; }

int main() {
  const int values[3] = {100, 200, 300};
  set_table(values);
  int* data;
  CUDA(cudaMalloc(&data, 32 * sizeof(int)));
  const int forty = 40;
  CUDA(cudaMemcpyToSymbol(offset, &forty, sizeof forty));
  kernel<<<1, 32>>>(data);
  other_kernel<<<1, 32>>>(data);
  int read[32];
  CUDA(cudaMemcpy(read, data, sizeof read, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) CHECK(read[i] == -(i * i + 40 + 100 * (i % 3 + 1)));
}
