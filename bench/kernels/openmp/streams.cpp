#include <cmath>

#include "kernels.h"

namespace bench::openmp {
namespace {

inline float normal_cdf(float d) {
  const float k = 1.0f / (1.0f + 0.2316419f * std::fabs(d));
  const float polynomial =
      k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  const float tail = 0.39894228040143267794f * std::exp(-0.5f * d * d) * polynomial;
  return d > 0.0f ? 1.0f - tail : tail;
}

void update(const float* __restrict x, float* __restrict y, long n) {
#pragma omp parallel for simd schedule(static)
  for (long i = 0; i < n; ++i) y[i] = kSaxpyFactor * x[i] + y[i];
}

}  // namespace

void saxpy(const PluginCall& call) { update(buffer<float>(call, 0), buffer<float>(call, 1), call.size); }

void one_launch(const PluginCall& call) { saxpy(call); }

/// A parallel loop for every launch.
void launch_storm(const PluginCall& call) {
  constexpr long kEach = kStormBlocks * kStormThreads;
  for (long first = 0; first < call.size; first += kEach)
    update(buffer<float>(call, 0) + first, buffer<float>(call, 1) + first, kEach);
}

void black_scholes(const PluginCall& arguments) {
  const float* __restrict price = buffer<float>(arguments, 0), * __restrict strike = buffer<float>(arguments, 1), * __restrict years = buffer<float>(arguments, 2);
  float* __restrict call = buffer<float>(arguments, 3), * __restrict put = buffer<float>(arguments, 4);
#pragma omp parallel for simd schedule(static)
  for (long i = 0; i < arguments.size; ++i) {
    const float s = price[i], x = strike[i], t = years[i];
    const float spread = kVolatility * std::sqrt(t);
    const float d1 = (std::log(s / x) + (kRate + 0.5f * kVolatility * kVolatility) * t) / spread;
    const float n1 = normal_cdf(d1), n2 = normal_cdf(d1 - spread), discounted = x * std::exp(-kRate * t);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
  }
}

}  // namespace bench::openmp
