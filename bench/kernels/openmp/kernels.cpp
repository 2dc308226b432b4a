// The nine problems as a good C++ programmer writes them with OpenMP: the rival that Raddle is measured
// against. Built several times (clang and gcc, strict and fast-math) as plugins; the benchmark takes the best
// of them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../parameters.h"

namespace {

using bench::PluginCall;

template <class T>
T* buffer(const PluginCall& call, int index) {
  return static_cast<T*>(call.buffers[index]);
}

void saxpy(const float* __restrict x, float* __restrict y, long n) {
#pragma omp parallel for simd schedule(static)
  for (long i = 0; i < n; ++i) y[i] = bench::kSaxpyFactor * x[i] + y[i];
}

inline float normal_cdf(float d) {
  const float k = 1.0f / (1.0f + 0.2316419f * std::fabs(d));
  const float polynomial =
      k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  const float tail = 0.39894228040143267794f * std::exp(-0.5f * d * d) * polynomial;
  return d > 0.0f ? 1.0f - tail : tail;
}

void black_scholes(const float* __restrict price, const float* __restrict strike,
                   const float* __restrict years, float* __restrict call, float* __restrict put, long n) {
  constexpr float kRate = bench::kRate, kVolatility = bench::kVolatility;
#pragma omp parallel for simd schedule(static)
  for (long i = 0; i < n; ++i) {
    const float s = price[i], x = strike[i], t = years[i];
    const float spread = kVolatility * std::sqrt(t);
    const float d1 = (std::log(s / x) + (kRate + 0.5f * kVolatility * kVolatility) * t) / spread;
    const float n1 = normal_cdf(d1), n2 = normal_cdf(d1 - spread), discounted = x * std::exp(-kRate * t);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
  }
}

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

void reduction(const float* in, float* result, long n) {
  float sum = 0.0f;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
  for (long i = 0; i < n; ++i) sum += in[i];
  *result = sum;
}

void stencil(const float* __restrict in, float* __restrict out, long n) {
#pragma omp parallel for schedule(static)
  for (long y = 0; y < n; ++y) {
    const float* row = in + y * n;
    float* target = out + y * n;
    if (y == 0 || y == n - 1) {
      std::copy(row, row + n, target);
      continue;
    }
    target[0] = row[0];
    target[n - 1] = row[n - 1];
#pragma omp simd
    for (long x = 1; x < n - 1; ++x) {
      target[x] = 0.5f * row[x] + 0.125f * (row[x - 1] + row[x + 1] + row[x - n] + row[x + n]);
    }
  }
}

void nbody(const float* bodies, float* accelerations, long n) {
  std::vector<float> xs(n), ys(n), zs(n), masses(n);  // a structure of arrays vectorises
  for (long i = 0; i < n; ++i) {
    xs[i] = bodies[4 * i], ys[i] = bodies[4 * i + 1], zs[i] = bodies[4 * i + 2],
    masses[i] = bodies[4 * i + 3];
  }
  const float *x = xs.data(), *y = ys.data(), *z = zs.data(), *mass = masses.data();
#pragma omp parallel for schedule(static)
  for (long i = 0; i < n; ++i) {
    const float px = x[i], py = y[i], pz = z[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
#pragma omp simd reduction(+ : ax, ay, az)
    for (long j = 0; j < n; ++j) {
      const float dx = x[j] - px, dy = y[j] - py, dz = z[j] - pz;
      const float inverse = 1.0f / std::sqrt(dx * dx + dy * dy + dz * dz + bench::kSoftening);
      const float pull = mass[j] * inverse * inverse * inverse;
      ax += dx * pull;
      ay += dy * pull;
      az += dz * pull;
    }
    accelerations[4 * i] = ax, accelerations[4 * i + 1] = ay, accelerations[4 * i + 2] = az;
    accelerations[4 * i + 3] = 0.0f;
  }
}

// Each thread counts privately, in four tables, so that equal neighbours do not wait for each other's store.
void histogram(const std::uint8_t* bytes, std::uint32_t* bins, long n) {
#pragma omp parallel
  {
    std::uint32_t local[4][256] = {};
#pragma omp for schedule(static)
    for (long i = 0; i < n / 4; ++i) {
      for (int k = 0; k < 4; ++k) ++local[k][bytes[4 * i + k]];
    }
#pragma omp critical
    for (int i = 0; i < 256; ++i) bins[i] += local[0][i] + local[1][i] + local[2][i] + local[3][i];
  }
}

void mandelbrot(std::uint32_t* iterations, long n) {
  const float step = bench::kMandelbrotExtent / static_cast<float>(n);
#pragma omp parallel for schedule(dynamic, 8)
  for (long py = 0; py < n; ++py) {
    for (long px = 0; px < n; ++px) {
      const float cx = bench::kMandelbrotLeft + static_cast<float>(px) * step;
      const float cy = bench::kMandelbrotTop + static_cast<float>(py) * step;
      float x = 0.0f, y = 0.0f;
      int count = 0;
      while (count < bench::kMandelbrotLimit) {
        const float xx = x * x, yy = y * y;
        if (xx + yy > 4.0f) break;
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
        ++count;
      }
      iterations[py * n + px] = static_cast<std::uint32_t>(count);
    }
  }
}

void sort_runs(std::uint32_t* keys, long n) {
#pragma omp parallel for schedule(static)
  for (long run = 0; run < n / bench::kSortRun; ++run) {
    std::sort(keys + run * bench::kSortRun, keys + (run + 1) * bench::kSortRun);
  }
}

}  // namespace

/// The plugin's only entry.
extern "C" void bench_openmp_run(const PluginCall* call) {
  const PluginCall& c = *call;
  switch (c.kernel) {
    case bench::Kernel::saxpy:
      return saxpy(buffer<float>(c, 0), buffer<float>(c, 1), c.size);
    case bench::Kernel::black_scholes:
      return black_scholes(buffer<float>(c, 0), buffer<float>(c, 1), buffer<float>(c, 2), buffer<float>(c, 3),
                           buffer<float>(c, 4), c.size);
    case bench::Kernel::sgemm_16:
    case bench::Kernel::sgemm_32:
    case bench::Kernel::sgemm_64x32:
      return sgemm(buffer<float>(c, 0), buffer<float>(c, 1), buffer<float>(c, 2), c.size);
    case bench::Kernel::reduction:
      return reduction(buffer<float>(c, 0), buffer<float>(c, 1) + bench::kReductionBlocks, c.size);
    case bench::Kernel::stencil:
      return stencil(buffer<float>(c, 0), buffer<float>(c, 1), c.size);
    case bench::Kernel::nbody:
      return nbody(buffer<float>(c, 0), buffer<float>(c, 1), c.size);
    case bench::Kernel::histogram:
      return histogram(buffer<std::uint8_t>(c, 0), buffer<std::uint32_t>(c, 1), c.size);
    case bench::Kernel::mandelbrot:
      return mandelbrot(buffer<std::uint32_t>(c, 0), c.size);
    case bench::Kernel::bitonic_sort:
      return sort_runs(buffer<std::uint32_t>(c, 0), c.size);
  }
}
