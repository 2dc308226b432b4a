// Kernels that wait for their children themselves, as before CUDA 12: a tree whose nodes sum up what their
// children have left, with more CTAs than a machine holds. nvcc 13 still compiles that for sm_80.

// nvcc: -rdc=true -arch=sm_80

#include "program.h"

extern "C" __device__ cudaError_t cudaDeviceSynchronize(void);  // the headers have none for kernels

__global__ void count(int* counts, int node, int nodes) {
  node += blockIdx.x;
  if (node >= nodes) return;
  counts[node] = 1;
  count<<<3, 1>>>(counts, 3 * node + 1, nodes);
  if (cudaDeviceSynchronize() != cudaSuccess) return;
  for (int child = 3 * node + 1; child <= 3 * node + 3 && child < nodes; ++child) counts[node] += counts[child];
}

__global__ void many(int* counts) {
  if (threadIdx.x == 0) {
    count<<<1, 1>>>(counts + blockIdx.x, 0, 1);
    cudaDeviceSynchronize();
  }
  __syncthreads();
  if (threadIdx.x == blockDim.x - 1) ++counts[blockIdx.x];
}

int main() {
  constexpr int kNodes = 2000, kMany = 1500;  // of 1,024 threads
  int* counts;
  CUDA(cudaMallocManaged(&counts, kNodes * sizeof(int)));
  count<<<1, 1>>>(counts, 0, kNodes);
  CUDA(cudaDeviceSynchronize());
  CHECK(counts[0] == kNodes);
  CHECK(counts[1] + counts[2] + counts[3] == kNodes - 1);
  for (int i = 0; i < kMany; ++i) counts[i] = 0;
  many<<<kMany, 1024>>>(counts);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < kMany; ++i) CHECK(counts[i] == 2);
}
