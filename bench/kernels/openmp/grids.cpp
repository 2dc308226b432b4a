#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels.h"

namespace bench::openmp {

void stencil(const PluginCall& call) {
  const float* __restrict in = buffer<float>(call, 0);
  float* __restrict out = buffer<float>(call, 1);
  const long n = call.size;
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

void nbody(const PluginCall& call) {
  const float* bodies = buffer<float>(call, 0);
  float* accelerations = buffer<float>(call, 1);
  const long n = call.size;
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
      const float inverse = 1.0f / std::sqrt(dx * dx + dy * dy + dz * dz + kSoftening);
      const float pull = mass[j] * inverse * inverse * inverse;
      ax += dx * pull;
      ay += dy * pull;
      az += dz * pull;
    }
    accelerations[4 * i] = ax, accelerations[4 * i + 1] = ay, accelerations[4 * i + 2] = az;
    accelerations[4 * i + 3] = 0.0f;
  }
}

void mandelbrot(const PluginCall& call) {
  std::uint32_t* iterations = buffer<std::uint32_t>(call, 0);
  const long n = call.size;
  const float step = kMandelbrotExtent / static_cast<float>(n);
#pragma omp parallel for schedule(dynamic, 8)
  for (long py = 0; py < n; ++py) {
    for (long px = 0; px < n; ++px) {
      const float cx = kMandelbrotLeft + static_cast<float>(px) * step;
      const float cy = kMandelbrotTop + static_cast<float>(py) * step;
      float x = 0.0f, y = 0.0f;
      int count = 0;
      while (count < kMandelbrotLimit) {
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

}  // namespace bench::openmp
