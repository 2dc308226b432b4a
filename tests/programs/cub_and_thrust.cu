// What libraries of templates do with the runtime: sort, scan and reduction by Thrust and CUB.
// targets: 75 80 90
// slow: a dozen seconds of nvcc for each
#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>

#include <algorithm>
#include <numeric>

#include "program.h"

int main() {
  constexpr int kCount = 20'000;
  std::vector<unsigned> keys(kCount);
  for (int i = 0; i < kCount; ++i) keys[i] = i * 2654435761u % 100'000;
  thrust::device_vector<unsigned> sorted(keys.begin(), keys.end());
  thrust::sort(sorted.begin(), sorted.end());
  std::vector<unsigned> expected = keys;
  std::sort(expected.begin(), expected.end());
  std::vector<unsigned> read(kCount);
  thrust::copy(sorted.begin(), sorted.end(), read.begin());
  CHECK(read == expected);

  thrust::device_vector<unsigned> sums(kCount);
  thrust::inclusive_scan(sorted.begin(), sorted.end(), sums.begin());
  std::partial_sum(expected.begin(), expected.end(), expected.begin());
  thrust::copy(sums.begin(), sums.end(), read.begin());
  CHECK(read == expected);
  CHECK(thrust::reduce(sorted.begin(), sorted.end()) == expected.back());

  unsigned* out;
  CUDA(cudaMalloc(&out, sizeof *out));
  void* space = nullptr;
  std::size_t bytes = 0;
  const unsigned* in = thrust::raw_pointer_cast(sorted.data());
  CUDA(cub::DeviceReduce::Max(space, bytes, in, out, kCount));
  CUDA(cudaMalloc(&space, bytes));
  CUDA(cub::DeviceReduce::Max(space, bytes, in, out, kCount));
  unsigned most;
  CUDA(cudaMemcpy(&most, out, sizeof most, cudaMemcpyDeviceToHost));
  CHECK(most == *std::max_element(keys.begin(), keys.end()));
}
