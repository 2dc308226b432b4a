// Variables of the device by name: copies to and from them, addresses, sizes; managed ones from both sides.
#include "program.h"

__constant__ int factors[4];
__device__ int results[4];
__device__ float initial = 2.5f;
__managed__ int shared_count = 41;
__managed__ double shared_table[3] = {1, 2, 3};

__global__ void multiply(int by) {
  results[threadIdx.x] = factors[threadIdx.x] * by;
  if (threadIdx.x == 0) {
    ++shared_count;
    shared_table[2] += initial;
  }
}

int main() {
  CHECK(shared_count == 41);  // before anything else: the first access loads the module
  const int values[4] = {1, 2, 3, 4};
  CUDA(cudaMemcpyToSymbol(factors, values, sizeof values));
  const int last = 9;
  CUDA(cudaMemcpyToSymbol(factors, &last, sizeof last, 3 * sizeof(int)));
  multiply<<<1, 4>>>(10);
  CUDA(cudaDeviceSynchronize());
  int read[4];
  CUDA(cudaMemcpyFromSymbol(read, results, sizeof read));
  CHECK(read[0] == 10 && read[1] == 20 && read[2] == 30 && read[3] == 90);
  CHECK(shared_count == 42 && shared_table[2] == 5.5);
  shared_count = 7;
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  const float half = 0.5f;
  CUDA(cudaMemcpyToSymbolAsync(initial, &half, sizeof half, 0, cudaMemcpyHostToDevice, stream));
  multiply<<<1, 1, 0, stream>>>(0);
  CUDA(cudaMemcpyFromSymbolAsync(read, results, 4, 0, cudaMemcpyDeviceToHost, stream));
  CUDA(cudaStreamSynchronize(stream));
  CHECK(read[0] == 0 && shared_count == 8 && shared_table[2] == 6);

  void* address;
  std::size_t bytes;
  CUDA(cudaGetSymbolAddress(&address, results));
  CUDA(cudaGetSymbolSize(&bytes, results));
  CHECK(bytes == 16);
  CUDA(cudaMemset(address, 0, bytes));
  CUDA(cudaMemcpyFromSymbol(read, results, sizeof read));
  CHECK(read[1] == 0 && read[3] == 0);
  CHECK(cudaMemcpyToSymbol(factors, values, sizeof values, 4) == cudaErrorInvalidValue);
  static int host_only;
  CHECK(cudaGetSymbolAddress(&address, host_only) == cudaErrorInvalidSymbol);
}
