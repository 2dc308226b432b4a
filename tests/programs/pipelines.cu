// Pipelines and asynchronous copies of libcu++, cooperative groups and CUDA's primitives: the kernels of tests/kernels, as each
// target compiles them.
// targets: 80 90
#include "../kernels/thread_copies.cu"
#include "program.h"

std::vector<int> numbers(std::size_t count) {
  std::vector<int> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<int>(i * 7919 % 100003);
  return values;
}

/// Runs `kernel` on `in`. @returns what it wrote, as many ints
template <class T>
std::vector<int> run(void (*kernel)(const T*, T*, int), unsigned blocks, unsigned threads, const std::vector<int>& in, int argument) {
  T *from = nullptr, *to = nullptr;
  const std::size_t bytes = in.size() * sizeof(int);
  std::vector<int> out(in.size());
  CUDA(cudaMalloc(&from, bytes));
  CUDA(cudaMalloc(&to, bytes));
  CUDA(cudaMemcpy(from, in.data(), bytes, cudaMemcpyHostToDevice));
  CUDA(cudaMemset(to, 0, bytes));
  kernel<<<blocks, threads>>>(from, to, argument);
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaMemcpy(out.data(), to, bytes, cudaMemcpyDeviceToHost));
  CUDA(cudaFree(from));
  CUDA(cudaFree(to));
  return out;
}

int main() {
  constexpr int kTiles = 7, kTile = 256, kCount = 332;
  const std::vector<int> in = numbers(2 * kTiles * kTile);
  std::vector<int> doubled = in, turned(in.size());
  for (int& value : doubled) value = 2 * value + 1;
  for (std::size_t i = 0; i < in.size(); ++i) turned[i] = doubled[i / kTile * kTile + kTile - 1 - i % kTile];
  CHECK(run(ring, 2, kTile, in, kTiles) == doubled);
  CHECK(run(by_thread, 2, kTile / 2, in, kTiles) == doubled);
  CHECK(run(unified, 2, 64, in, kTiles) == turned);
  CHECK(run(partitioned, 2, 96, in, kTiles) == turned);
  CHECK(run(divided, 2, 96, in, kTiles) == turned);

  const std::vector<int> few = numbers(2 * kCount);
  std::vector<int> halves(few.size()), sums(few.size());
  for (int k = 0; k < 2 * kCount; ++k) halves[k] = few[k / kCount * kCount + kCount - 1 - k % kCount];
  for (int k = 0; k < kCount; ++k) sums[k] = few[kCount - 1 - k] + few[(k + 1) % 64];
  CHECK(run(at_barrier_whole, 1, 64, few, kCount) == halves);
  CHECK(run(at_barrier, 1, 64, few, kCount) == sums);
  std::vector<int> groups = halves;
  for (int k = 0; k + 1 < kCount; ++k) groups[kCount + k] = few[2 * kCount - 2 - k];
  groups.back() = 0;
  CHECK(run(by_group, 1, 96, few, kCount) == groups);
  std::puts("all of them");
}
