#include <cstdint>
#include <vector>

#include "kernels.h"

namespace bench::openmp {
namespace {

void spmv(const PluginCall& call) {
  const std::int32_t *starts = buffer<std::int32_t>(call, 0), *columns = buffer<std::int32_t>(call, 1);
  const float *values = buffer<float>(call, 2), *x = buffer<float>(call, 3);
  float* y = buffer<float>(call, 4);
#pragma omp parallel for schedule(static)
  for (long row = 0; row < call.size; ++row) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (std::int32_t i = starts[row]; i < starts[row + 1]; ++i) sum += values[i] * x[columns[i]];
    y[row] = sum;
  }
}

}  // namespace

void spmv_scalar(const PluginCall& call) { spmv(call); }
void spmv_vector(const PluginCall& call) { spmv(call); }

/// Level by level; threads collect what they reach by themselves and append it to the next queue at once.
void bfs(const PluginCall& call) {
  const std::int32_t *starts = buffer<std::int32_t>(call, 0), *neighbours = buffer<std::int32_t>(call, 1);
  std::int32_t *distance = buffer<std::int32_t>(call, 2), *queue = buffer<std::int32_t>(call, 3),
               *next = buffer<std::int32_t>(call, 4);
  std::int32_t count = 1, next_count = 0, level = 0;
#pragma omp parallel
  {
    std::vector<std::int32_t> found;
    while (count > 0) {
#pragma omp for schedule(dynamic, 256)
      for (std::int32_t i = 0; i < count; ++i) {
        for (std::int32_t edge = starts[queue[i]]; edge < starts[queue[i] + 1]; ++edge) {
          std::int32_t *to = &distance[neighbours[edge]], unreached = -1;
          if (__atomic_load_n(to, __ATOMIC_RELAXED) == -1 &&
              __atomic_compare_exchange_n(to, &unreached, level + 1, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED))
            found.push_back(neighbours[edge]);
        }
      }
      std::int32_t place =
          __atomic_fetch_add(&next_count, static_cast<std::int32_t>(found.size()), __ATOMIC_RELAXED);
      for (const std::int32_t vertex : found) next[place++] = vertex;
      found.clear();
#pragma omp barrier
#pragma omp single
      {
        std::int32_t* const swapped = queue;
        queue = next, next = swapped;
        count = next_count, next_count = 0, ++level;
      }
    }
  }
}

}  // namespace bench::openmp
