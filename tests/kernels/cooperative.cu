// Cooperative launches: barriers over a whole grid, and tiles of several warps, as nvcc's cooperative groups make them.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

// Each round every thread adds what another block's thread had in the round before.
extern "C" __global__ void rounds(int* a, int* b, int n, int count) {
  cg::grid_group grid = cg::this_grid();
  const int stride = static_cast<int>(grid.size());
  for (int r = 0; r < count; ++r) {
    for (int i = static_cast<int>(grid.thread_rank()); i < n; i += stride) b[i] = a[i] + a[(i + n / 2 + r) % n];
    grid.sync();
    int* t = a;
    a = b;
    b = t;
  }
}

// Every block publishes, then checks that all the others did: fails if a barrier lets anyone through too early.
extern "C" __global__ void meet(int* arrived, int* missing, int count) {
  cg::grid_group grid = cg::this_grid();
  for (int r = 1; r <= count; ++r) {
    if (threadIdx.x == 0) arrived[blockIdx.x] = r;
    grid.sync();
    for (unsigned k = threadIdx.x; k < gridDim.x; k += blockDim.x)
      if (arrived[k] < r) atomicAdd(missing, 1);
    grid.sync();
  }
}

extern "C" __global__ void is_cooperative(int* answer) { *answer = cg::this_grid().is_valid(); }

// Tiles larger than a warp keep their barriers in the reserved part of shared memory.
extern "C" __global__ void wide_tiles(const int* in, int* out) {
  __shared__ cg::block_tile_memory<256> memory;
  auto block = cg::this_thread_block(memory);
  auto tile = cg::tiled_partition<64>(block);
  const int v = in[block.thread_rank()];
  const int sum = cg::reduce(tile, v, cg::plus<int>());
  const int other = tile.shfl(v, 37);
  auto wider = cg::tiled_partition<128>(block);
  const int any = wider.any(v == 77);
  wider.sync();
  out[block.thread_rank()] = sum + other + any * 1000000 + 100000 * tile.meta_group_rank();
}
