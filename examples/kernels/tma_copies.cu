// Copies by the tensor memory access unit in its modes: prefetched tiles of a tensor, in and out; tiles added to a tensor;
// plain bytes without a tensor map, in, out and added.
#include "async.cuh"

constexpr int kTile = 32;

/// out = in, by tiles.
extern "C" __global__ void copy_tiles(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap out) {
  alignas(128) __shared__ float tile[kTile * kTile];
  __shared__ Mbarrier loaded;
  if (threadIdx.x != 0) return;
  const int x = blockIdx.x * kTile, y = blockIdx.y * kTile;
  asm volatile("prefetch.tensormap [%0];" ::"l"(&out));
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(&in), "r"(x), "r"(y) : "memory");
  init(&loaded, 1);
  arrive_expecting(&loaded, sizeof tile);
  load_tile(tile, &in, x, y, &loaded);
  wait(&loaded, 0);
  store_tile(&out, x, y, tile);
  commit();
  wait_for_stores();
}

/// out += 2 in, by tiles.
extern "C" __global__ void add_tiles(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap out) {
  alignas(128) __shared__ float tile[kTile * kTile];
  __shared__ Mbarrier loaded;
  const int x = blockIdx.x * kTile, y = blockIdx.y * kTile;
  if (threadIdx.x == 0) {
    init(&loaded, 1);
    arrive_expecting(&loaded, sizeof tile);
    load_tile(tile, &in, x, y, &loaded);
  }
  __syncthreads();
  wait(&loaded, 0);
  for (int i = threadIdx.x; i < kTile * kTile; i += blockDim.x) tile[i] *= 2;
  fence_for_copies();
  __syncthreads();
  if (threadIdx.x != 0) return;
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&out),
               "r"(x), "r"(y), "r"(shared_address(tile))
               : "memory");
  commit();
  wait_for_stores();
}

/// out = in, total += in: words of blocks of `bytes`, a multiple of 16 and at most 4096.
extern "C" __global__ void copy_bytes(const unsigned* in, unsigned* out, unsigned* total, int bytes) {
  alignas(128) __shared__ unsigned piece[1024];
  __shared__ Mbarrier loaded;
  if (threadIdx.x != 0) return;
  const unsigned long long at = static_cast<unsigned long long>(blockIdx.x) * bytes / 4;
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(in + at)), "r"(bytes) : "memory");
  init(&loaded, 1);
  arrive_expecting(&loaded, bytes);
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(piece)),
               "l"(__cvta_generic_to_global(in + at)), "r"(bytes), "r"(shared_address(&loaded))
               : "memory");
  wait(&loaded, 0);
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(out + at)),
               "r"(shared_address(piece)), "r"(bytes)
               : "memory");
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(
                   __cvta_generic_to_global(total)),
               "r"(shared_address(piece)), "r"(bytes)
               : "memory");
  commit();
  wait_for_stores();
}
