// CUB's merge sort, of keys and of pairs, stable, at sizes from less than a tile to many tiles.
// targets: 75 80 90
// nvcc: --extended-lambda
// slow: half a minute of nvcc for each
#include <cub/device/device_merge_sort.cuh>
#include <cuda/std/functional>

#include <algorithm>
#include <numeric>

#include "program.h"

template <class Sort>
void with_storage(Sort sort) {
  void* space = nullptr;
  std::size_t bytes = 0;
  CUDA(sort(space, bytes));
  CUDA(cudaMalloc(&space, bytes));
  CUDA(sort(space, bytes));
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaFree(space));
}

int main() {
  int *keys = nullptr, *values = nullptr;
  constexpr int kMost = 20'000;
  CUDA(cudaMallocManaged(&keys, kMost * sizeof *keys));
  CUDA(cudaMallocManaged(&values, kMost * sizeof *values));
  const auto by_tens = [] __host__ __device__(int a, int b) { return a / 10 < b / 10; };  // many are equal
  for (int count : {1, 300, 5000, kMost}) {
    for (int i = 0; i < count; ++i) keys[i] = static_cast<int>(i * 2654435761u % 3001);
    std::iota(values, values + count, 0);
    const std::vector<int> before(keys, keys + count);
    std::vector<int> order(values, values + count);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return by_tens(before[a], before[b]); });
    with_storage([&](void* space, std::size_t& bytes) {
      return cub::DeviceMergeSort::StableSortPairs(space, bytes, keys, values, count, by_tens);
    });
    for (int i = 0; i < count; ++i) CHECK(values[i] == order[i] && keys[i] == before[order[i]]);
    with_storage([&](void* space, std::size_t& bytes) {
      return cub::DeviceMergeSort::SortKeys(space, bytes, keys, count, cuda::std::less<>());
    });
    CHECK(std::is_sorted(keys, keys + count));
  }
}
