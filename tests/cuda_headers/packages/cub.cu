// CUB and libcu++ by `raddle cc`: algorithms of the device and of a block, cuda::atomic, cuda::barrier, cuda::std.
#include <cub/block/block_reduce.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/std/array>
#include <cuda/std/tuple>

#include <algorithm>
#include <numeric>

#include "check.h"

constexpr int kCount = 5000;

/// CUB asks for workspace first.
template <typename Algorithm>
void with_workspace(Algorithm algorithm) {
  size_t bytes = 0;
  must(algorithm(nullptr, bytes));
  Buffer<char> workspace(bytes + 1);
  must(algorithm(workspace.get(), bytes));
}

__global__ void block_sums(const int* in, int* out) {
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ typename Reduce::TempStorage storage;
  const int sum = Reduce(storage).Sum(in[blockIdx.x * 128 + threadIdx.x]);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void count_atomically(int* out) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> inside;
  if (threadIdx.x == 0) new (&inside) cuda::atomic<int, cuda::thread_scope_block>(0);
  __syncthreads();
  inside.fetch_add((int)threadIdx.x, cuda::std::memory_order_relaxed);
  __syncthreads();
  if (threadIdx.x == 0) cuda::atomic_ref<int, cuda::thread_scope_device>(*out).fetch_add(inside.load());
}

/// Each thread reads what its neighbour wrote before the barrier's phase.
__global__ void pass_on(int* out) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  alignas(Barrier) __shared__ char storage[sizeof(Barrier)];  // clang takes no __shared__ Barrier
  __shared__ int values[64];
  Barrier& barrier = *reinterpret_cast<Barrier*>(storage);
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  int value = (int)threadIdx.x;
  for (int round = 0; round < 5; ++round) {
    values[threadIdx.x] = value;
    barrier.arrive_and_wait();
    value = values[(threadIdx.x + 1) % 64];
    auto token = barrier.arrive();
    barrier.wait(std::move(token));
  }
  out[threadIdx.x] = value;
}

__global__ void standard(int* out) {
  cuda::std::array<int, 3> numbers{4, 1, 7};
  const auto [low, high] = cuda::std::make_tuple(numbers[1], numbers.back());
  out[0] = low * 100 + high * 10 + (int)numbers.size();
}

int main() {
  std::vector<int> numbers(kCount);
  unsigned state = 3;
  for (int& number : numbers) number = (int)((state = state * 1664525 + 1013904223) >> 12) - (1 << 19);
  Buffer<int> in(numbers), out(kCount), one(1);

  with_workspace([&](void* space, size_t& bytes) { return cub::DeviceReduce::Sum(space, bytes, in.get(), one.get(), kCount); });
  check(one.contents()[0] == std::accumulate(numbers.begin(), numbers.end(), 0), "DeviceReduce");
  std::vector<int> expected(kCount);
  std::exclusive_scan(numbers.begin(), numbers.end(), expected.begin(), 0);
  with_workspace([&](void* space, size_t& bytes) { return cub::DeviceScan::ExclusiveSum(space, bytes, in.get(), out.get(), kCount); });
  check(out.contents() == expected, "DeviceScan");
  expected = numbers;
  std::sort(expected.begin(), expected.end());
  with_workspace([&](void* space, size_t& bytes) { return cub::DeviceRadixSort::SortKeys(space, bytes, in.get(), out.get(), kCount); });
  check(out.contents() == expected, "DeviceRadixSort");

  block_sums<<<kCount / 128, 128>>>(in.get(), out.get());
  const std::vector<int> sums = out.contents();
  bool good = true;
  for (int block = 0; block < kCount / 128; ++block)
    good = good && sums[block] == std::accumulate(numbers.begin() + block * 128, numbers.begin() + (block + 1) * 128, 0);
  check(good, "BlockReduce");

  Buffer<int> counter(std::vector<int>{5});
  count_atomically<<<10, 64>>>(counter.get());
  check(counter.contents()[0] == 5 + 10 * 63 * 32, "cuda::atomic, cuda::atomic_ref");
  pass_on<<<1, 64>>>(out.get());
  const std::vector<int> passed = out.contents();
  good = true;
  for (int i = 0; i < 64; ++i) good = good && passed[i] == (i + 5) % 64;
  check(good, "cuda::barrier");
  standard<<<1, 1>>>(out.get());
  check(out.contents()[0] == 173, "cuda::std");
  return finish();
}
