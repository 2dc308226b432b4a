// The other half of separate_compilation.cu.
#include "program.h"

__device__ int offset = 4;
__constant__ int table[3];
__device__ int apply(int value) { return value * value; }
__global__ void other_kernel(int* data) { data[threadIdx.x] = -data[threadIdx.x]; }
void set_table(const int* values) { CUDA(cudaMemcpyToSymbol(table, values, sizeof table)); }
