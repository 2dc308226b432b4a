// Attention, forward: softmax(q k^T) v in one pass over the keys, with the softmax corrected as larger scores come. A producer brings
// keys and values by TMA; a warpgroup multiplies by wgmma, the weights from its registers.
// arch: sm_90a
#include "tensor_core.cuh"

constexpr int kTile = 64, kHead = 64, kStages = 2;

struct alignas(1024) Stage {
  unsigned short keys[kTile][kHead], values[kTile][kHead];
};

/// The rows of a warpgroup's 64 x 64 that a thread has: of registers 4 i and 4 i + 1, and of 4 i + 2 and 4 i + 3.
struct Softmax {
  float largest[2] = {-INFINITY, -INFINITY}, sum[2] = {};

  /// Scores become weights; what was summed up before is to be multiplied by `correction`.
  __device__ void add(float (&s)[32], float (&correction)[2]) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float top = largest[h];
      for (int i = h * 2; i < 32; i += 4) top = fmaxf(top, fmaxf(s[i], s[i + 1]));
      for (int step = 1; step < 4; step *= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, step));
      correction[h] = exp2f(largest[h] - top);
      largest[h] = top;
      float added = 0;
      for (int i = h * 2; i < 32; i += 4) {
        s[i] = exp2f(s[i] - top), s[i + 1] = exp2f(s[i + 1] - top);
        added += s[i] + s[i + 1];
      }
      sum[h] = sum[h] * correction[h] + added;
    }
  }
  __device__ void finish() {
    for (float& s : sum)
      for (int step = 1; step < 4; step *= 2) s += __shfl_xor_sync(~0u, s, step);
  }
};

/// queries, keys, values: bf16 [head * length + position][64], boxes of 64 x 64 with 128-byte swizzle; out: the same shape in f32.
/// Blocks of 256 threads: x is a tile of 64 queries, y the head.
/// @param tiles   of 64 positions
/// @param causal  not 0: a query sees keys up to its own position
/// @param scale   of scores, times log2(e)
extern "C" __global__ __launch_bounds__(256) void attention(const __grid_constant__ TensorMap queries,
                                                            const __grid_constant__ TensorMap keys,
                                                            const __grid_constant__ TensorMap values, float* out, int tiles,
                                                            int causal, float scale) {
  alignas(1024) __shared__ unsigned short query[kTile][kHead];
  __shared__ Stage stages[kStages];
  __shared__ Mbarrier arrived, filled[kStages], emptied[kStages];
  if (threadIdx.x == 0) {
    init(&arrived, 1);
    for (int s = 0; s < kStages; ++s) init(&filled[s], 1), init(&emptied[s], 1);
  }
  __syncthreads();
  const int head = blockIdx.y * tiles * kTile, first = head + blockIdx.x * kTile, count = causal != 0 ? blockIdx.x + 1 : tiles;
  RingPlace<kStages> place;
  if (threadIdx.x >= 128) {
    if (threadIdx.x != 128) return;
    arrive_expecting(&arrived, sizeof query);
    load_tile(query, &queries, 0, first, &arrived);
    for (int tile = 0; tile < count; ++tile, place.advance()) {
      wait(&emptied[place.stage], place.parity ^ 1);
      arrive_expecting(&filled[place.stage], sizeof(Stage));
      load_tile(stages[place.stage].keys, &keys, 0, head + tile * kTile, &filled[place.stage]);
      load_tile(stages[place.stage].values, &values, 0, head + tile * kTile, &filled[place.stage]);
    }
    return;
  }
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  float o[32] = {};
  Softmax softmax;
  wait(&arrived, 0);
#pragma unroll 1
  for (int tile = 0; tile < count; ++tile, place.advance()) {
    wait(&filled[place.stage], place.parity);
    const unsigned long long q = swizzled_rows(query), k = swizzled_rows(stages[place.stage].keys),
                             v = swizzled_rows(stages[place.stage].values);
    float s[32], correction[2];
    begin_wgmma();
    for (int i = 0; i < kHead / 16; ++i) wgmma(s, advanced(q, i * 32), advanced(k, i * 32), i);
    commit_wgmma();
    wait_for_wgmma<0>();
    for (int i = 0; i < 32; ++i) {
      const bool hidden = causal != 0 && tile == blockIdx.x && i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2 > row + i / 2 % 2 * 8;
      s[i] = hidden ? -INFINITY : s[i] * scale;
    }
    softmax.add(s, correction);
    for (int i = 0; i < 32; ++i) o[i] *= correction[i / 2 % 2];
    unsigned weights[kTile / 16][4];
    for (int i = 0; i < 16; ++i) weights[i / 4][i % 4] = bf16_pair(s[i * 2], s[i * 2 + 1]);
    begin_wgmma();
    for (int i = 0; i < kTile / 16; ++i) wgmma_by_rows(o, weights[i], advanced(v, i * 16 * kHead * 2), 1);
    commit_wgmma();
    wait_for_wgmma<0>();
    if (threadIdx.x == 0) arrive(&emptied[place.stage]);
  }
  softmax.finish();
  for (int i = 0; i < 32; ++i) o[i] /= softmax.sum[i / 2 % 2];
  store_results(o, out + first * kHead, kHead);
}
