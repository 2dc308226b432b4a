#include <omp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels.h"

namespace bench::openmp {
namespace {

using Counts = std::array<std::uint32_t, 256>;

/// One pass of a stable sort by a digit of 8 bits, by all threads of a parallel region: a thread counts the
/// digits of its part, learns where they go, and brings them there.
void radix_pass(const std::uint32_t* __restrict keys, const std::uint32_t* __restrict values,
                std::uint32_t* __restrict keys_out, std::uint32_t* __restrict values_out, long n, int shift,
                std::vector<Counts>& counts) {
  const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
  const long begin = n * thread / threads, end = n * (thread + 1) / threads;
  Counts& mine = counts[thread];
  mine.fill(0);
  for (long i = begin; i < end; ++i) ++mine[keys[i] >> shift & 255];
#pragma omp barrier
#pragma omp single
  {
    std::uint32_t sum = 0;
    for (int digit = 0; digit < 256; ++digit) {
      for (int t = 0; t < threads; ++t) sum += std::exchange(counts[t][digit], sum);
    }
  }
  Counts to = mine;
  for (long i = begin; i < end; ++i) {
    const std::uint32_t place = to[keys[i] >> shift & 255]++;
    keys_out[place] = keys[i];
    values_out[place] = values[i];
  }
#pragma omp barrier
}

}  // namespace

void bitonic_sort(const PluginCall& call) {
  std::uint32_t* keys = buffer<std::uint32_t>(call, 0);
#pragma omp parallel for schedule(static)
  for (long run = 0; run < call.size / kSortRun; ++run) {
    std::sort(keys + run * kSortRun, keys + (run + 1) * kSortRun);
  }
}

void radix_sort(const PluginCall& call) {
  std::uint32_t *keys[2] = {buffer<std::uint32_t>(call, 0), buffer<std::uint32_t>(call, 2)},
                *values[2] = {buffer<std::uint32_t>(call, 1), buffer<std::uint32_t>(call, 3)};
  std::vector<Counts> counts(omp_get_max_threads());
#pragma omp parallel
  for (int pass = 0; pass < 4; ++pass) {
    const int from = pass % 2, to = 1 - from;
    radix_pass(keys[from], values[from], keys[to], values[to], call.size, 8 * pass, counts);
  }
}

/// Each thread adds up its part, then sums it again from what those before it found.
void scan(const PluginCall& call) {
  const std::uint32_t* __restrict in = buffer<std::uint32_t>(call, 0);
  std::uint32_t* __restrict out = buffer<std::uint32_t>(call, 1);
  std::vector<std::uint32_t> totals(omp_get_max_threads() + 1);
#pragma omp parallel
  {
    const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
    const long begin = call.size * thread / threads, end = call.size * (thread + 1) / threads;
    std::uint32_t total = 0, sum = 0;
#pragma omp simd reduction(+ : total)
    for (long i = begin; i < end; ++i) total += in[i];
    totals[thread + 1] = total;
#pragma omp barrier
    for (int t = 0; t <= thread; ++t) sum += totals[t];
    for (long i = begin; i < end; ++i) out[i] = sum += in[i];
  }
}

void cluster_scan(const PluginCall& call) {
  const std::uint32_t* __restrict in = buffer<std::uint32_t>(call, 0);
  std::uint32_t* __restrict out = buffer<std::uint32_t>(call, 1);
#pragma omp parallel for schedule(static)
  for (long first = 0; first < call.size; first += kClusterRun) {
    std::uint32_t sum = 0;
    for (long i = first; i < first + kClusterRun; ++i) out[i] = sum += in[i];
  }
}

}  // namespace bench::openmp
