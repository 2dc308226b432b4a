// What is known of kernels, occupancy, large shared memory by attribute, launches through configurations and by handle.
// targets: 75 80 90
#include "program.h"

__global__ void __launch_bounds__(128) fill(int* out, int value) {
  extern __shared__ int scratch[];
  scratch[threadIdx.x] = value;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = scratch[blockDim.x - 1 - threadIdx.x];
}

template <class T>
__global__ void twice(T* data) {
  __shared__ T room[100];
  room[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = room[threadIdx.x] + room[threadIdx.x];
}

int main() {
  cudaFuncAttributes attributes;
  CUDA(cudaFuncGetAttributes(&attributes, fill));
  CHECK(attributes.maxThreadsPerBlock == 128 && attributes.sharedSizeBytes == 0);
  CHECK(attributes.ptxVersion * 10 == __CUDA_ARCH_LIST__);  // what libraries choose their code by
  CHECK(attributes.binaryVersion == 90);                    // compiled for the device when it is loaded
  CUDA(cudaFuncGetAttributes(&attributes, twice<double>));
  CHECK(attributes.sharedSizeBytes == 800 && attributes.maxDynamicSharedSizeBytes == 48 * 1024 - 800);

  int* out;
  CUDA(cudaMallocManaged(&out, 256 * sizeof(int)));
  constexpr int kLarge = 100 << 10;
  fill<<<1, 32, kLarge>>>(out, 1);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CUDA(cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, kLarge));
  fill<<<1, 32, kLarge>>>(out, 2);
  CUDA(cudaDeviceSynchronize());
  CHECK(out[31] == 2);

  int blocks, grid, block;
  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 128, 1024));
  CHECK(blocks > 0);
  CUDA(cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill, 1024));
  CHECK(block == 128 && grid > 0);

  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributePriority;
  cudaLaunchConfig_t config{dim3(2), dim3(64), 64 * sizeof(int), nullptr, &attribute, 1};
  CUDA(cudaLaunchKernelEx(&config, fill, out, 3));
  CUDA(cudaDeviceSynchronize());
  CHECK(out[0] == 3 && out[127] == 3);

  int value = 4;
  void* arguments[] = {&out, &value};
  CUDA(cudaLaunchKernel(fill, dim3(1), dim3(16), arguments, 64, cudaStreamLegacy));
  CUDA(cudaDeviceSynchronize());
  CHECK(out[15] == 4 && out[16] == 3);
  cudaKernel_t kernel;
  CUDA(cudaGetKernel(&kernel, fill));
  value = 5;
  CUDA(cudaLaunchKernel(kernel, dim3(1), dim3(8), arguments, 64, nullptr));
  CUDA(cudaDeviceSynchronize());
  CHECK(out[7] == 5 && out[8] == 4);
  CHECK(cudaLaunchKernel((const void*)&std::exit, dim3(1), dim3(1), arguments, 0, nullptr) == cudaErrorInvalidDeviceFunction);

  cudaDeviceProp properties;
  CUDA(cudaGetDeviceProperties(&properties, 0));
  int warp;
  CUDA(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0));
  CHECK(properties.warpSize == 32 && warp == 32 && properties.maxThreadsPerBlock == 1024 && properties.name[0] != 0);
}
