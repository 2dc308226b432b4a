// Streams over arrays far larger than the caches, and independent vector FMA chains, on every core in use.
// Best of several passes: a limit is the best that the machine reached.
#include "machine_limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>

#include "parallel.h"
#include "workload.h"

namespace bench {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kChains = 16;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
constexpr int kChains = 10;
#else
constexpr int kVectorBytes = 16;
constexpr int kChains = 10;
#endif
using Vector = float __attribute__((vector_size(kVectorBytes)));

double best_seconds(int passes, const std::function<void()>& body) {
  double best = 1e30;
  for (int i = 0; i <= passes; ++i) {  // the first one warms up, and may still be the best
    const auto start = std::chrono::steady_clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

float run_chains(long rounds) {
  Vector chain[kChains];
  const Vector factor = Vector{} + 0.999f, step = Vector{} + 0.001f;
  for (int c = 0; c < kChains; ++c) chain[c] = Vector{} + static_cast<float>(c);
  for (long r = 0; r < rounds; ++r) {
    for (int c = 0; c < kChains; ++c) chain[c] = chain[c] * factor + step;
  }
  float sum = 0;
  for (const Vector& c : chain) sum += c[0];
  return sum;
}

}  // namespace

Limits measure_limits(bool quick) {
  const long elements = quick ? 1l << 24 : 1l << 26;
  const double bytes = 4.0 * static_cast<double>(elements);
  const Buffer in(elements * sizeof(float)), out(elements * sizeof(float));
  std::atomic<float> sink{0};  // keeps results alive
  Limits limits{};
  limits.copy_gb_per_second =
      2e-9 * bytes / best_seconds(5, [&] {
        parallel_for(elements / 16, [&](long begin, long end) {
          const Vector* from = reinterpret_cast<const Vector*>(in.as<float>().data() + 16 * begin);
          const Vector* last = reinterpret_cast<const Vector*>(in.as<float>().data() + 16 * end);
          Vector* to = reinterpret_cast<Vector*>(out.as<float>().data() + 16 * begin);
          while (from != last) {
            *to++ = *from++;
            asm volatile("" ::: "memory");  // keeps the loop from becoming a call of memcpy
          }
        });
      });
  limits.update_gb_per_second =
      3e-9 * bytes / best_seconds(5, [&] {
        parallel_for(elements / 16, [&](long begin, long end) {
          const Vector* from = reinterpret_cast<const Vector*>(in.as<float>().data() + 16 * begin);
          const Vector* last = reinterpret_cast<const Vector*>(in.as<float>().data() + 16 * end);
          Vector* to = reinterpret_cast<Vector*>(out.as<float>().data() + 16 * begin);
          for (; from != last; ++from, ++to) *to = *to + 0.5f * *from;
        });
      });
  limits.read_gb_per_second = 1e-9 * bytes / best_seconds(5, [&] {
                                parallel_for(elements / 64, [&](long begin, long end) {
                                  const Vector* from =
                                      reinterpret_cast<const Vector*>(in.as<float>().data() + 64 * begin);
                                  const long count = (end - begin) * 256 / kVectorBytes;
                                  Vector sum[4] = {};
                                  for (long i = 0; i < count; i += 4) {
                                    for (int k = 0; k < 4; ++k) sum[k] += from[i + k];
                                  }
                                  sink.store((sum[0] + sum[1] + sum[2] + sum[3])[0]);
                                });
                              });
  const long rounds = quick ? 4000000 : 20000000;
  const double operations = 2.0 * kChains * (kVectorBytes / 4) * static_cast<double>(rounds) * core_count();
  limits.fma_gflop_per_second = 1e-9 * operations / best_seconds(3, [&] {
                                  parallel_for(core_count(), [&](long begin, long end) {
                                    for (long t = begin; t < end; ++t) sink.store(run_chains(rounds));
                                  });
                                });
  return limits;
}

}  // namespace bench
