#include <cmath>
#include <vector>

#include "kernels.h"

namespace bench::openmp {
namespace {

/// e^(-2 pi i k / n) for every step of radix 4 (n = 4, 16, ..., 1024), real and imaginary parts apart.
struct Roots {
  std::vector<float> real, imaginary;
  Roots() : real(kTransform), imaginary(kTransform) {
    for (long k = 0; k < kTransform; ++k) {
      const double angle = -6.283185307179586 * static_cast<double>(k) / kTransform;
      real[k] = static_cast<float>(std::cos(angle)), imaginary[k] = static_cast<float>(std::sin(angle));
    }
  }
};

/// Stockham's radix-4 step from transforms of n points, interleaved `stride` times, to such of n / 4.
/// Loops over the interleaving are innermost, but for the first steps, where it is short.
void step(const float* __restrict re, const float* __restrict im, float* __restrict out_re,
          float* __restrict out_im, long n, long stride, const Roots& roots) {
  const long quarter = n / 4;
  for (long p = 0; p < quarter; ++p) {
    const long k = p * stride;
    const float w1r = roots.real[k], w1i = roots.imaginary[k], w2r = roots.real[2 * k],
                w2i = roots.imaginary[2 * k], w3r = roots.real[3 * k], w3i = roots.imaginary[3 * k];
    const long a = stride * p, b = a + stride * quarter, c = b + stride * quarter, d = c + stride * quarter;
    const long to = 4 * stride * p;
#pragma omp simd
    for (long q = 0; q < stride; ++q) {
      const float sum_r = re[a + q] + re[c + q], sum_i = im[a + q] + im[c + q];
      const float difference_r = re[a + q] - re[c + q], difference_i = im[a + q] - im[c + q];
      const float other_r = re[b + q] + re[d + q], other_i = im[b + q] + im[d + q];
      const float turned_r = im[b + q] - im[d + q], turned_i = re[d + q] - re[b + q];
      out_re[to + q] = sum_r + other_r;
      out_im[to + q] = sum_i + other_i;
      const float xr = difference_r + turned_r, xi = difference_i + turned_i;
      out_re[to + stride + q] = xr * w1r - xi * w1i;
      out_im[to + stride + q] = xr * w1i + xi * w1r;
      const float yr = sum_r - other_r, yi = sum_i - other_i;
      out_re[to + 2 * stride + q] = yr * w2r - yi * w2i;
      out_im[to + 2 * stride + q] = yr * w2i + yi * w2r;
      const float zr = difference_r - turned_r, zi = difference_i - turned_i;
      out_re[to + 3 * stride + q] = zr * w3r - zi * w3i;
      out_im[to + 3 * stride + q] = zr * w3i + zi * w3r;
    }
  }
}

}  // namespace

void fft(const PluginCall& call) {
  static const Roots roots;
  const float* in = buffer<float>(call, 0);
  float* out = buffer<float>(call, 1);
#pragma omp parallel for schedule(static)
  for (long t = 0; t < call.size; ++t) {
    float re[2][kTransform], im[2][kTransform];
    for (long i = 0; i < kTransform; ++i) {
      re[0][i] = in[2 * (t * kTransform + i)];
      im[0][i] = in[2 * (t * kTransform + i) + 1];
    }
    int from = 0;
    for (long n = kTransform, stride = 1; n > 1; n /= 4, stride *= 4, from = 1 - from)
      step(re[from], im[from], re[1 - from], im[1 - from], n, stride, roots);
    for (long i = 0; i < kTransform; ++i) {
      out[2 * (t * kTransform + i)] = re[from][i];
      out[2 * (t * kTransform + i) + 1] = im[from][i];
    }
  }
}

}  // namespace bench::openmp
