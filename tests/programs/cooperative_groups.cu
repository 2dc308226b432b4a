// Cooperative groups inside a block: tiles, reductions, coalesced groups, the block's barrier.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "program.h"

namespace cg = cooperative_groups;

__global__ void sums(const int* data, int* by_tile, int* by_block, int* odd_lanes) {
  __shared__ int partial[8];
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<32>(block);
  const int value = data[block.group_index().x * block.size() + block.thread_rank()];
  const int sum = cg::reduce(tile, value, cg::plus<int>());
  if (tile.thread_rank() == 0) partial[tile.meta_group_rank()] = sum;
  block.sync();
  if (block.thread_rank() < tile.meta_group_size())
    by_tile[block.group_index().x * tile.meta_group_size() + block.thread_rank()] = partial[block.thread_rank()];
  if (block.thread_rank() == 0) {
    int total = 0;
    for (unsigned i = 0; i < tile.meta_group_size(); ++i) total += partial[i];
    by_block[block.group_index().x] = total;
  }
  if (value % 2 != 0) {
    const cg::coalesced_group odd = cg::coalesced_threads();
    if (odd.thread_rank() == 0) atomicAdd(odd_lanes, odd.size());
  }
}

int main() {
  constexpr int kBlocks = 3, kThreads = 256;
  int *data, *by_tile, *by_block, *odd;
  CUDA(cudaMallocManaged(&data, kBlocks * kThreads * sizeof(int)));
  CUDA(cudaMallocManaged(&by_tile, kBlocks * 8 * sizeof(int)));
  CUDA(cudaMallocManaged(&by_block, kBlocks * sizeof(int)));
  CUDA(cudaMallocManaged(&odd, sizeof(int)));
  *odd = 0;
  int odd_values = 0;
  for (int i = 0; i < kBlocks * kThreads; ++i) odd_values += (data[i] = i * 7 % 31) % 2;
  sums<<<kBlocks, kThreads>>>(data, by_tile, by_block, odd);
  CUDA(cudaDeviceSynchronize());
  for (int tile = 0; tile < kBlocks * 8; ++tile) {
    int sum = 0;
    for (int i = 0; i < 32; ++i) sum += data[tile * 32 + i];
    CHECK(by_tile[tile] == sum);
    by_block[tile / 8] -= sum;
  }
  for (int block = 0; block < kBlocks; ++block) CHECK(by_block[block] == 0);
  CHECK(*odd == odd_values);
}
