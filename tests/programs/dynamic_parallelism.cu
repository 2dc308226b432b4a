// Kernels that launch kernels: a sort that divides by recursion, children seen complete by the host, a
// tail launch after them, and a launch that cannot be.

// nvcc: -rdc=true -arch=sm_90

#include <algorithm>

#include "program.h"

__global__ void sort(int* data, int first, int last) {
  if (last - first < 8) {
    for (int i = first + 1; i <= last; ++i)
      for (int k = i; k > first && data[k - 1] > data[k]; --k) {
        const int other = data[k];
        data[k] = data[k - 1];
        data[k - 1] = other;
      }
    return;
  }
  const int pivot = data[(first + last) / 2];
  int low = first, high = last;
  while (low <= high) {
    while (data[low] < pivot) ++low;
    while (data[high] > pivot) --high;
    if (low > high) break;
    const int other = data[low];
    data[low++] = data[high];
    data[high--] = other;
  }
  if (first < high) sort<<<1, 1, 0, cudaStreamFireAndForget>>>(data, first, high);
  if (low < last) sort<<<1, 1, 0, cudaStreamFireAndForget>>>(data, low, last);
}

__global__ void add(int* counter) { atomicAdd(counter, 1); }

__global__ void note(const int* counter, int* seen) { *seen = *counter; }

__global__ void parent(int* counter, int* seen, int* refused) {
  note<<<1, 1, 0, cudaStreamTailLaunch>>>(counter, seen);
  add<<<4, 64>>>(counter);
  add<<<1, 5000>>>(counter);  // more threads than a block can have
  *refused = cudaGetLastError() != cudaSuccess;
}

int main() {
  constexpr int kCount = 5000;
  int *data, *counters;
  CUDA(cudaMallocManaged(&data, kCount * sizeof(int)));
  CUDA(cudaMallocManaged(&counters, 3 * sizeof(int)));
  for (int i = 0; i < kCount; ++i) data[i] = static_cast<int>(i * 2654435761u % 10007);
  std::vector<int> expected(data, data + kCount);
  std::sort(expected.begin(), expected.end());
  sort<<<1, 1>>>(data, 0, kCount - 1);
  CUDA(cudaDeviceSynchronize());
  CHECK(std::equal(expected.begin(), expected.end(), data));
  for (int i = 0; i < 3; ++i) counters[i] = 0;
  parent<<<1, 1>>>(counters, counters + 1, counters + 2);
  CUDA(cudaDeviceSynchronize());
  CHECK(counters[0] == 256);
  CHECK(counters[1] == 256);
  CHECK(counters[2] == 1);
}
