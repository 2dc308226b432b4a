#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels.h"

namespace bench::openmp {

void reduction(const PluginCall& call) {
  const float* in = buffer<float>(call, 0);
  float sum = 0.0f;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
  for (long i = 0; i < call.size; ++i) sum += in[i];
  buffer<float>(call, 1)[kReductionBlocks] = sum;
}

// Each thread counts privately, in four tables, so that equal neighbours do not wait for each other's store.
void histogram(const PluginCall& call) {
  const std::uint8_t* bytes = buffer<std::uint8_t>(call, 0);
  std::uint32_t* bins = buffer<std::uint32_t>(call, 1);
#pragma omp parallel
  {
    std::uint32_t local[4][256] = {};
#pragma omp for schedule(static)
    for (long i = 0; i < call.size / 4; ++i) {
      for (int k = 0; k < 4; ++k) ++local[k][bytes[4 * i + k]];
    }
#pragma omp critical
    for (int i = 0; i < 256; ++i) bins[i] += local[0][i] + local[1][i] + local[2][i] + local[3][i];
  }
}

void softmax(const PluginCall& call) {
#pragma omp parallel for schedule(static)
  for (long r = 0; r < call.size; ++r) {
    const _Float16* __restrict in = buffer<_Float16>(call, 0) + r * kColumns;
    _Float16* __restrict out = buffer<_Float16>(call, 1) + r * kColumns;
    float values[kColumns], largest = -3.4e38f, sum = 0.0f;
#pragma omp simd reduction(max : largest)
    for (int c = 0; c < kColumns; ++c) largest = std::max(largest, values[c] = static_cast<float>(in[c]));
#pragma omp simd reduction(+ : sum)
    for (int c = 0; c < kColumns; ++c) sum += values[c] = std::exp(values[c] - largest);
    const float scale = 1.0f / sum;
#pragma omp simd
    for (int c = 0; c < kColumns; ++c) out[c] = static_cast<_Float16>(values[c] * scale);
  }
}

void layer_norm(const PluginCall& call) {
  const float* __restrict scale = buffer<float>(call, 1), * __restrict shift = buffer<float>(call, 2);
#pragma omp parallel for schedule(static)
  for (long r = 0; r < call.size; ++r) {
    const float* __restrict in = buffer<float>(call, 0) + r * kColumns;
    float* __restrict out = buffer<float>(call, 3) + r * kColumns;
    float sum = 0.0f, squares = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (int c = 0; c < kColumns; ++c) sum += in[c];
    const float mean = sum / kColumns;
#pragma omp simd reduction(+ : squares)
    for (int c = 0; c < kColumns; ++c) squares += (in[c] - mean) * (in[c] - mean);
    const float factor = 1.0f / std::sqrt(squares / kColumns + kEpsilon);
#pragma omp simd
    for (int c = 0; c < kColumns; ++c) out[c] = (in[c] - mean) * factor * scale[c] + shift[c];
  }
}

}  // namespace bench::openmp
