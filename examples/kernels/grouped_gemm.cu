// Products of matrices of different sizes in one launch: each block keeps two tensor maps of its own, which it edits for the product
// whose tile it takes next.
// arch: sm_90a
#include "tensor_core.cuh"

constexpr int kTile = 64, kDepth = 64, kStages = 2;

/// c (rows x columns) = a (rows x depth) * b (columns x depth)^T. a, b, c: elements before the matrix, of those of
/// a and b multiples of 8, like depth.
struct Product {
  int a, b, c, rows, columns, depth;
};

/// What TMA of this block reads: global memory, 128-byte aligned.
struct Maps {
  TensorMap a, b;
};

/// One thread: makes a map of a matrix of rows of bf16 out of any of rank 2.
__device__ inline void edit(TensorMap* map, const void* matrix, int rows, int depth) {
  const unsigned at = shared_address(map);
  asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(at), "l"(matrix) : "memory");
  asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(at), "r"(depth) : "memory");
  asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(at), "r"(rows) : "memory");
  asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(at), "l"(depth * 2ll) : "memory");
}
/// A warp: brings an edited map to global memory, where TMA sees it.
__device__ inline void publish(TensorMap* to, const TensorMap* edited) {
  asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(to),
               "r"(shared_address(edited))
               : "memory");
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(to) : "memory");
}

/// Blocks of 128 threads, any number.
/// @param any       a map of rank 2 of bf16: boxes of 64 x 64, 128-byte swizzle
/// @param matrices  a and b of all products
/// @param maps      room for two maps for each block
extern "C" __global__ __launch_bounds__(128) void grouped_gemm(const __grid_constant__ TensorMap any, const Product* products,
                                                               int count, const unsigned short* matrices, float* results,
                                                               Maps* maps) {
  __shared__ Pipeline<kStages> pipeline;
  alignas(128) __shared__ Maps edited;
  if (threadIdx.x == 0) edited.a = edited.b = any;
  init(pipeline);
  RingPlace<kStages> place;
  Maps& mine = maps[blockIdx.x];
  int before = 0;  // tiles of the products before
  for (int i = 0; i < count; ++i) {
    const Product product = products[i];
    const int tiles_x = (product.columns + kTile - 1) / kTile, tiles = tiles_x * ((product.rows + kTile - 1) / kTile);
    // The block takes tiles blockIdx.x, blockIdx.x + gridDim.x, ... of all products.
    int tile = blockIdx.x >= before ? blockIdx.x - before : (gridDim.x - (before - blockIdx.x) % gridDim.x) % gridDim.x;
    before += tiles;
    if (tile >= tiles) continue;
    if (threadIdx.x < 32) {
      if (threadIdx.x == 0) {
        edit(&edited.a, matrices + product.a, product.rows, product.depth);
        edit(&edited.b, matrices + product.b, product.columns, product.depth);
      }
      __syncwarp();
      publish(&mine.a, &edited.a);
      publish(&mine.b, &edited.b);
    }
    for (; tile < tiles; tile += gridDim.x) {
      const int row = tile / tiles_x * kTile, column = tile % tiles_x * kTile;
      float d[32];
      multiply(d, pipeline, place, (product.depth + kDepth - 1) / kDepth, [&](TilePair& to, Mbarrier* filled, int pass) {
        load_tile(to.a, &mine.a, pass * kDepth, row, filled);
        load_tile(to.b, &mine.b, pass * kDepth, column, filled);
      });
      float* c = results + product.c;
#pragma unroll
      for (int e = 0; e < 32; ++e) {
        const int y = row + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + e / 2 % 2 * 8;
        const int x = column + e / 4 * 8 + threadIdx.x % 4 * 2 + e % 2;
        if (y < product.rows && x < product.columns) c[y * product.columns + x] = d[e];
      }
    }
  }
}
