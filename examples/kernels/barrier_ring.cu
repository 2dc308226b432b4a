// compiler: nvcc (libcu++)
// A recursive filter down the columns of a matrix: a producer warp brings rows by bulk copies into a ring of stages, the other warps
// filter them, in order; both by cuda::barrier.
#include <cuda/barrier>

#pragma nv_diag_suppress static_var_with_dynamic_init

using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kStages = 3, kRows = 4, kColumns = 128;

/// out[row] = out[row - 1] / 2 + in[row]. A block takes 128 columns, with as many threads and a warp.
/// @param width  a multiple of 128
/// @param rows   a multiple of 4
extern "C" __global__ void barrier_ring(const float* in, float* out, int width, int rows) {
  alignas(128) __shared__ float stage[kStages][kRows][kColumns];
  __shared__ Barrier filled[kStages], emptied[kStages];
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) init(&filled[s], blockDim.x), init(&emptied[s], blockDim.x);
    cuda::device::experimental::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  const int passes = rows / kRows, first = blockIdx.x * kColumns;
  if (threadIdx.x < 32) {
#pragma unroll 1
    for (int pass = 0; pass < passes; ++pass) {
      const int s = pass % kStages;
      emptied[s].arrive_and_wait();
      if (threadIdx.x == 0) {
        for (int row = 0; row < kRows; ++row)
          cuda::device::memcpy_async_tx(stage[s][row], in + (pass * kRows + row) * width + first,
                                        cuda::aligned_size_t<16>(sizeof stage[s][row]), filled[s]);
        auto token = cuda::device::barrier_arrive_tx(filled[s], 1, sizeof stage[s]);
      } else {
        auto token = filled[s].arrive();
      }
    }
    return;
  }
  const int column = threadIdx.x - 32;
  float last = 0;
  for (int s = 0; s < kStages; ++s) auto token = emptied[s].arrive();
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass) {
    const int s = pass % kStages;
    filled[s].arrive_and_wait();
    for (int row = 0; row < kRows; ++row) {
      last = last * 0.5f + stage[s][row][column];
      out[(pass * kRows + row) * width + first + column] = last;
    }
    auto token = emptied[s].arrive();
  }
}
