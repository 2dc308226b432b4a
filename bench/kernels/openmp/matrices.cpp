#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels.h"

namespace bench::openmp {
namespace {

// Four rows at once, so that a row of b is used four times when it is in a register; blocked in k, so that
// the rows of b stay in the second-level cache between groups of rows.
void sgemm(const float* __restrict a, const float* __restrict b, float* __restrict c, long n) {
  constexpr long kDepth = 128, kRows = 4;
#pragma omp parallel
  for (long k0 = 0; k0 < n; k0 += kDepth) {
#pragma omp for schedule(static)
    for (long i = 0; i < n; i += kRows) {
      float *c0 = c + i * n, *c1 = c0 + n, *c2 = c1 + n, *c3 = c2 + n;
      if (k0 == 0) std::fill(c0, c0 + kRows * n, 0.0f);
      for (long k = k0; k < k0 + kDepth; ++k) {
        const float *row = b + k * n, *column = a + i * n + k;
        const float a0 = column[0], a1 = column[n], a2 = column[2 * n], a3 = column[3 * n];
#pragma omp simd
        for (long j = 0; j < n; ++j) {
          c0[j] += a0 * row[j];
          c1[j] += a1 * row[j];
          c2[j] += a2 * row[j];
          c3[j] += a3 * row[j];
        }
      }
    }
  }
}

void sgemm(const PluginCall& call) {
  sgemm(buffer<float>(call, 0), buffer<float>(call, 1), buffer<float>(call, 2), call.size);
}

constexpr long kTile = 64;  ///< keys between two corrections

struct Query {
  float largest = -3.4e38f, weight = 0.0f;
  float sum[kHead] = {};

  /// @param keys    turned: [kHead][length], at the tile's first key
  /// @param values  of the tile's keys
  void add_tile(const float* __restrict query, const float* __restrict keys, const float* __restrict values,
                long length) {
    float score[kTile] = {};
    for (int c = 0; c < kHead; ++c) {
      const float factor = query[c] * 0.125f;
#pragma omp simd
      for (long k = 0; k < kTile; ++k) score[k] += factor * keys[c * length + k];
    }
    float top = largest, added = 0.0f;
#pragma omp simd reduction(max : top)
    for (long k = 0; k < kTile; ++k) top = std::max(top, score[k]);
    const float correction = std::exp(largest - top);
#pragma omp simd reduction(+ : added)
    for (long k = 0; k < kTile; ++k) added += score[k] = std::exp(score[k] - top);
    largest = top, weight = weight * correction + added;
    for (int c = 0; c < kHead; ++c) sum[c] *= correction;
    for (long k = 0; k < kTile; ++k) {
#pragma omp simd
      for (int c = 0; c < kHead; ++c) sum[c] += score[k] * values[k * kHead + c];
    }
  }
};

}  // namespace

void sgemm_16x16(const PluginCall& call) { sgemm(call); }
void sgemm_32x32(const PluginCall& call) { sgemm(call); }
void sgemm_64x32(const PluginCall& call) { sgemm(call); }

void transpose(const PluginCall& call) {
  constexpr long kSide = 32;
  const float* __restrict in = buffer<float>(call, 0);
  float* __restrict out = buffer<float>(call, 1);
  const long n = call.size;
#pragma omp parallel for collapse(2) schedule(static)
  for (long y0 = 0; y0 < n; y0 += kSide) {
    for (long x0 = 0; x0 < n; x0 += kSide) {
      for (long y = y0; y < y0 + kSide; ++y) {
#pragma omp simd
        for (long x = x0; x < x0 + kSide; ++x) out[y * n + x] = in[x * n + y];
      }
    }
  }
}

void attention(const PluginCall& call) {
  const long length = call.size;
  const float *queries = buffer<float>(call, 0), *values = buffer<float>(call, 2);
  float* out = buffer<float>(call, 3);
  std::vector<float> turned(kHeads * kHead * length);
#pragma omp parallel
  {
#pragma omp for collapse(2) schedule(static)
    for (long head = 0; head < kHeads; ++head) {
      for (long k = 0; k < length; ++k) {
        for (int c = 0; c < kHead; ++c)
          turned[(head * kHead + c) * length + k] = buffer<float>(call, 1)[(head * length + k) * kHead + c];
      }
    }
#pragma omp for schedule(static)
    for (long row = 0; row < kHeads * length; ++row) {
      const long head = row / length;
      Query query;
      for (long k = 0; k < length; k += kTile) {
        query.add_tile(queries + row * kHead, &turned[head * kHead * length + k],
                       values + (head * length + k) * kHead, length);
      }
      for (int c = 0; c < kHead; ++c) out[row * kHead + c] = query.sum[c] / query.weight;
    }
  }
}

}  // namespace bench::openmp
