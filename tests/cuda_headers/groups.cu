// cooperative_groups.h: sizes, ranks, shuffles, reductions and scans of tiles, coalesced groups and partitions; blocks and a
// grid that meet.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "check.h"

namespace cg = cooperative_groups;

// Counts violations, by the number of the claim.
#define CLAIM(number, holds) \
  if (!(holds)) atomicAdd(&wrong[number], 1)
constexpr int kClaims = 24;

struct Point {
  double x;
  int y;
};

template <unsigned int size>
__device__ void tiles(int* wrong) {
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<size>(block);
  const unsigned int rank = block.thread_rank(), first = rank / size * size;
  CLAIM(0, tile.size() == size && tile.thread_rank() == rank % size && tile.meta_group_rank() == rank / size);
  CLAIM(1, tile.shfl((int)rank, 1 % size) == (int)(first + 1 % size));
  CLAIM(2, tile.shfl_down(rank, 1) == (rank % size + 1 < size ? rank + 1 : rank));
  CLAIM(3, tile.shfl_up((double)rank, 1) == (rank % size >= 1 ? rank - 1 : rank));
  CLAIM(4, tile.shfl_xor(Point{rank * 0.5, (int)rank}, size / 2).x == (rank ^ size / 2) * 0.5);
  CLAIM(5, cg::reduce(tile, (int)rank, cg::plus<int>()) == (int)(size * first + size * (size - 1) / 2));
  CLAIM(6, cg::reduce(tile, (float)rank, cg::less<float>()) == first);
  CLAIM(7, cg::inclusive_scan(tile, 1) == (int)(rank % size) + 1 && cg::exclusive_scan(tile, 1) == (int)(rank % size));
  CLAIM(8, tile.ballot(rank % 2) == (0xaaaaaaaau & (size == 32 ? ~0u : (1u << size % 32) - 1)));
  CLAIM(9, tile.any(rank == first) && !tile.all(size > 1 && rank == first));
  tile.sync();
}

__global__ void partitions(int* wrong) {
  const cg::thread_block block = cg::this_thread_block();
  const unsigned int rank = block.thread_rank();
  tiles<32>(wrong);
  tiles<8>(wrong);
  tiles<2>(wrong);
  CLAIM(10, block.size() == blockDim.x * blockDim.y && block.group_index().x == blockIdx.x && block.thread_index().y == threadIdx.y);
  if (rank % 3 == 1) {
    const cg::coalesced_group together = cg::coalesced_threads();
    unsigned int before = 0, all = 0;
    for (unsigned int i = rank / 32 * 32; i < rank / 32 * 32 + 32; ++i) {
      all += i % 3 == 1;
      before += i % 3 == 1 && i < rank;
    }
    CLAIM(11, together.size() == all && together.thread_rank() == before);
    CLAIM(12, together.shfl(rank, 0) % 3 == 1 && together.shfl(rank, 0) / 32 == rank / 32 && together.shfl(rank, before) == rank);
    CLAIM(13, cg::reduce(together, 1, cg::plus<int>()) == (int)all);
    CLAIM(14, together.shfl_down(rank, 1) == (before + 1 < all ? rank + 3 : rank));
    CLAIM(15, together.ballot(1) == (1u << all) - 1);
  }
  const auto warp = cg::tiled_partition<32>(block);
  const cg::coalesced_group alike = cg::labeled_partition(warp, rank % 4);
  CLAIM(16, alike.size() == 8 && alike.thread_rank() == rank % 32 / 4 && alike.meta_group_size() == 4);
  CLAIM(17, cg::binary_partition(warp, rank % 32 < 5).size() == (rank % 32 < 5 ? 5 : 27));
  const cg::thread_group quarter = cg::tiled_partition(block, 4);
  CLAIM(18, quarter.size() == 4 && quarter.thread_rank() == rank % 4);
  quarter.sync();
  const cg::thread_group whole = block;
  CLAIM(19, whole.size() == block.size() && whole.thread_rank() == rank);
  whole.sync();
  __shared__ int calls;
  if (rank == 0) calls = 0;
  cg::sync(block);
  cg::invoke_one(warp, [&] { atomicAdd(&calls, 1); });
  block.sync();
  CLAIM(20, calls == (int)block.size() / 32);
}

__global__ void copies(const float* in, int* wrong) {
  __shared__ float here[100];
  const cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, here, in, sizeof here);
  cg::wait(block);
  for (unsigned int i = block.thread_rank(); i < 100; i += block.size()) CLAIM(21, here[i] == in[i]);
  CLAIM(22, !cg::this_grid().is_valid() && cg::this_grid().thread_rank() == blockIdx.x * blockDim.x + threadIdx.x);
}

// Every block adds to its neighbour's number, many times, with the grid's barrier in between.
__global__ void rounds(int* numbers, int count) {
  const cg::grid_group grid = cg::this_grid();
  for (int i = 0; i < count; ++i) {
    if (threadIdx.x == 0) {
      const int from = (blockIdx.x + 1) % gridDim.x, value = numbers[i % 2 * gridDim.x + from];
      numbers[(i + 1) % 2 * gridDim.x + blockIdx.x] = value + 1;
    }
    grid.sync();
  }
}

int main() {
  const Buffer<int> wrong(kClaims);
  partitions<<<2, dim3(32, 4)>>>(wrong.get());
  std::vector<float> in(100);
  for (int i = 0; i < 100; ++i) in[i] = i * 0.25f;
  const Buffer<float> from(in);
  copies<<<2, 64>>>(from.get(), wrong.get());
  must(cudaDeviceSynchronize());
  const std::vector<int> counts = wrong.contents();
  for (int i = 0; i < 23; ++i) {
    char detail[60];
    std::snprintf(detail, sizeof detail, "claim %d, %d threads find it wrong", i, counts[i]);
    check(counts[i] == 0, "groups", detail);
  }
  constexpr int kBlocks = 6, kRounds = 20;
  std::vector<int> start(2 * kBlocks);
  for (int i = 0; i < kBlocks; ++i) start[i] = 100 * i;
  const Buffer<int> numbers(start);
  int* pointer = numbers.get();
  int count = kRounds;
  void* arguments[] = {&pointer, &count};
  const cudaError_t error = cudaLaunchCooperativeKernel(rounds, dim3(kBlocks), dim3(32), arguments);
  if (error == cudaErrorNotSupported) {
    std::printf("ok %d - a grid that meets # SKIP cooperative launches are not supported\n", ++checks);
    return finish();
  }
  must(error);
  must(cudaDeviceSynchronize());
  const std::vector<int> got = numbers.contents();
  bool good = true;
  for (int i = 0; i < kBlocks; ++i) good &= got[i] == 100 * ((i + kRounds) % kBlocks) + kRounds;
  check(good, "a grid that meets");
  return finish();
}
