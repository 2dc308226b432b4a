// Attention in f32 without tensor cores: softmax(q k^T / 8) v in one pass over the keys, with what was summed up
// corrected as larger scores come. A thread per query, which it keeps in registers with its result; keys and
// values through shared memory. The examples' attention computes in bf16 on tensor cores, which no rival has.
// ./regenerate makes the PTX beside this.

constexpr int kHead = 64, kThreads = 128, kTile = 32, kGroup = 8;  // kGroup: keys between two corrections
constexpr float kScale = 1.4426950408889634f / 8;  // log2(e) / sqrt(kHead)

/// queries, keys, values, out: [head][length][kHead]; length is a multiple of kTile.
/// Blocks of kThreads; x is a group of that many queries, y the head.
extern "C" __global__ __launch_bounds__(kThreads) void flash_attention(const float* queries, const float* keys,
                                                                       const float* values, float* out, int length) {
  __shared__ float key_tile[kTile][kHead], value_tile[kTile][kHead];
  const int head = blockIdx.y * length, query = blockIdx.x * kThreads + threadIdx.x;
  const bool has_query = query < length;
  float q[kHead], sum[kHead] = {}, largest = -INFINITY, weight = 0;
  for (int c = 0; c < kHead; ++c) q[c] = has_query ? queries[(head + query) * kHead + c] * kScale : 0;
  for (int first = 0; first < length; first += kTile) {
    __syncthreads();  // the tile before has been read
    for (int i = threadIdx.x; i < kTile * kHead; i += kThreads) {
      key_tile[i / kHead][i % kHead] = keys[(head + first) * kHead + i];
      value_tile[i / kHead][i % kHead] = values[(head + first) * kHead + i];
    }
    __syncthreads();
#pragma unroll 1
    for (int group = 0; group < kTile; group += kGroup) {
      float score[kGroup] = {}, top = largest;
      for (int k = 0; k < kGroup; ++k) {
        for (int c = 0; c < kHead; ++c) score[k] += q[c] * key_tile[group + k][c];
        top = fmaxf(top, score[k]);
      }
      const float correction = exp2f(largest - top);
      largest = top, weight *= correction;
      for (int c = 0; c < kHead; ++c) sum[c] *= correction;
      for (int k = 0; k < kGroup; ++k) {
        const float share = exp2f(score[k] - top);
        weight += share;
        for (int c = 0; c < kHead; ++c) sum[c] += share * value_tile[group + k][c];
      }
    }
  }
  if (!has_query) return;
  for (int c = 0; c < kHead; ++c) out[(head + query) * kHead + c] = sum[c] / weight;
}
