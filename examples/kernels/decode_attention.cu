// Attention for one new position: 16 heads that share keys and values ask a long past. A cluster splits the keys, every warp takes its
// share by mma.sync, and at the end each block reads the parts of all blocks from their shared memory and adds its columns.
// arch: sm_90a
#include "tensor_core.cuh"

constexpr int kHeads = 16, kHead = 64, kKeys = 16, kWarps = 4, kCluster = 4;

/// What a warp found in its keys.
struct Part {
  float out[kHeads][kHead], largest[kHeads], sum[kHeads];
};

__device__ inline float read_from(const float* at, int rank) {
  float value;
  asm volatile(
      "{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %1, %2;\n\tld.shared::cluster.f32 %0, [there];\n\t}"
      : "=f"(value)
      : "r"(shared_address(at)), "r"(rank)
      : "memory");
  return value;
}

/// queries: bf16 [shared head][16][64]; keys, values: bf16 [shared head][length][64]; out: f32 like queries.
/// Clusters of 4 blocks of 128 threads along x, one for each shared head (y).
/// @param length  a multiple of 16
/// @param scale   of scores, times log2(e)
extern "C" __global__ __launch_bounds__(kWarps * 32) void decode_attention(const unsigned short* queries,
                                                                           const unsigned short* keys,
                                                                           const unsigned short* values, float* out, int length,
                                                                           float scale) {
  __shared__ Part parts[kWarps];
  alignas(128) __shared__ unsigned short staged[kWarps][kKeys][kHead];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = lane / 4, column = lane % 4 * 2;
  const int rank = static_cast<int>(cluster_rank());
  queries += blockIdx.y * kHeads * kHead, keys += blockIdx.y * length * kHead, values += blockIdx.y * length * kHead;
  unsigned q[kHead / 16][4];
  for (int i = 0; i < kHead / 16; ++i)
    for (int j = 0; j < 4; ++j) q[i][j] = pair_at(&queries[(row + j % 2 * 8) * kHead + i * 16 + j / 2 * 8 + column]);
  float o[kHead / 8][4] = {}, largest[2] = {-INFINITY, -INFINITY}, sum[2] = {};
  auto& own = staged[warp];
#pragma unroll 1
  for (int first = (rank * kWarps + warp) * kKeys; first < length; first += kCluster * kWarps * kKeys) {
    __syncwarp();  // all have read the values before
    for (int i = lane; i < kKeys * kHead / 8; i += 32) copy_16_bytes(&own[0][i * 8], &values[first * kHead + i * 8]);
    commit_copies();
    float s[2][4] = {};
    for (int n = 0; n < 2; ++n)
      for (int i = 0; i < kHead / 16; ++i) {
        const unsigned short* key = &keys[(first + n * 8 + row) * kHead + i * 16 + column];
        const unsigned b[2] = {pair_at(key), pair_at(key + 8)};
        Bf16::mma(s[n], q[i], b);
      }
    for (int h = 0; h < 2; ++h) {
      float top = largest[h];
      for (int n = 0; n < 2; ++n)
        for (int e = h * 2; e < h * 2 + 2; ++e) top = fmaxf(top, s[n][e] *= scale);
      for (int step = 1; step < 4; step *= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, step));
      const float correction = exp2f(largest[h] - top);
      largest[h] = top, sum[h] *= correction;
      for (int n = 0; n < 2; ++n)
        for (int e = h * 2; e < h * 2 + 2; ++e) sum[h] += s[n][e] = exp2f(s[n][e] - top);
      for (auto& tile : o) tile[h * 2] *= correction, tile[h * 2 + 1] *= correction;
    }
    const unsigned weights[4] = {bf16_pair(s[0][0], s[0][1]), bf16_pair(s[0][2], s[0][3]), bf16_pair(s[1][0], s[1][1]),
                                 bf16_pair(s[1][2], s[1][3])};
    wait_for_copies<0>();
    __syncwarp();
    for (int n = 0; n < kHead / 16; ++n) {
      unsigned v[4];  // 16 keys x 16 columns, turned
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                   : "r"(shared_address(&own[lane % 16][n * 16 + lane / 16 * 8]))
                   : "memory");
      Bf16::mma(o[n * 2], weights, v);
      Bf16::mma(o[n * 2 + 1], weights, v + 2);
    }
  }
  for (int h = 0; h < 2; ++h)
    for (int step = 1; step < 4; step *= 2) sum[h] += __shfl_xor_sync(~0u, sum[h], step);
  for (int h = 0; h < 2; ++h) {
    for (int n = 0; n < kHead / 8; ++n)
      for (int e = 0; e < 2; ++e) parts[warp].out[row + h * 8][n * 8 + column + e] = o[n][h * 2 + e];
    if (lane % 4 == 0) parts[warp].largest[row + h * 8] = largest[h], parts[warp].sum[row + h * 8] = sum[h];
  }
  sync_cluster();
  constexpr int kShare = kHead / kCluster;
  for (int i = threadIdx.x; i < kHeads * kShare; i += blockDim.x) {
    const int head = i / kShare, x = rank * kShare + i % kShare;
    float top = -INFINITY, total = 0, weight = 0;
    for (int part = 0; part < kCluster * kWarps; ++part) {
      const Part& from = parts[part % kWarps];
      const int there = part / kWarps;
      const float before = top, part_top = read_from(&from.largest[head], there);
      if (part_top == -INFINITY) continue;  // a warp without keys
      top = fmaxf(before, part_top);
      const float correction = exp2f(before - top), share = exp2f(part_top - top);
      total = total * correction + read_from(&from.out[head][x], there) * share;
      weight = weight * correction + read_from(&from.sum[head], there) * share;
    }
    out[(blockIdx.y * kHeads + head) * kHead + x] = total / weight;
  }
  sync_cluster();  // nobody reads from a block that has gone
}
