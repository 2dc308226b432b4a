// Stream-K: the passes of all tiles are one row of work, cut into equal parts for the blocks wherever a tile ends. The block that
// has a tile's first pass adds what the next blocks computed of it.
// arch: sm_90a
#include "tensor_core.cuh"

constexpr int kTile = 64, kDepth = 64, kStages = 2, kThreads = 128, kRegisters = 32;

__device__ inline void publish(unsigned* flag) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
}
__device__ inline void await(const unsigned* flag) {
  unsigned set = 0;
  while (set == 0) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(set) : "l"(flag) : "memory");
}

/// c = a * b^T: tiles of 64 x 64, tiles_x of them in a row, of `passes` times 64 each. a, b: boxes of 64 x 64 with 128-byte swizzle.
/// @param parts  room for 64 x 64 floats for each block
/// @param flags  a zero for each block
extern "C" __global__ __launch_bounds__(kThreads) void stream_k_gemm(const __grid_constant__ TensorMap a,
                                                                     const __grid_constant__ TensorMap b, float* c, float* parts,
                                                                     unsigned* flags, int tiles_x, int tiles, int passes) {
  __shared__ Pipeline<kStages> pipeline;
  init(pipeline);
  RingPlace<kStages> place;
  const int work = tiles * passes, share = (work + gridDim.x - 1) / gridDim.x;
  const int end = min(work, static_cast<int>(blockIdx.x + 1) * share);
  for (int at = blockIdx.x * share; at < end;) {
    const int tile = at / passes, first = at % passes, count = min(passes - first, end - at);
    const int row = tile / tiles_x * kTile, column = tile % tiles_x * kTile;
    float d[kRegisters];
    multiply(d, pipeline, place, count, [&](TilePair& to, Mbarrier* filled, int pass) {
      load_tile(to.a, &a, (first + pass) * kDepth, row, filled);
      load_tile(to.b, &b, (first + pass) * kDepth, column, filled);
    });
    at += count;
    if (first != 0) {
      for (int i = 0; i < kRegisters; ++i) parts[(blockIdx.x * kRegisters + i) * kThreads + threadIdx.x] = d[i];
      publish(&flags[blockIdx.x]);
      continue;
    }
    for (int other = blockIdx.x + 1, got = count; got < passes; ++other, got += share) {
      await(&flags[other]);
      for (int i = 0; i < kRegisters; ++i) d[i] += parts[(other * kRegisters + i) * kThreads + threadIdx.x];
    }
    store_results(d, c + row * tiles_x * kTile + column, tiles_x * kTile);
  }
}
