// Tensor cores as programs use them: wmma by mma.h from shared memory, and mma.sync by inline assembly.
#include <cuda_bf16.h>
#include <mma.h>

#include "program.h"

namespace wmma = nvcuda::wmma;

__global__ void by_wmma(const half* a, const half* b, float* c, int k) {
  __shared__ half tile[16 * 24];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 1.0f);
  for (int first = 0; first < k; first += 16) {
    for (int i = threadIdx.x; i < 256; i += 32) tile[i / 16 * 24 + i % 16] = a[i / 16 * k + first + i % 16];
    __syncwarp();
    wmma::load_matrix_sync(left, tile, 24);
    wmma::load_matrix_sync(right, b + first, k);
    wmma::mma_sync(sum, left, right, sum);
    __syncwarp();
  }
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] *= 2;
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

__global__ void by_mma(const unsigned* a, const unsigned* b, float* c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  float d[4] = {};
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[g * 8 + t]), "r"(a[g * 8 + 64 + t]), "r"(a[g * 8 + t + 4]), "r"(a[g * 8 + 64 + t + 4]),
        "r"(b[g * 8 + t]), "r"(b[g * 8 + t + 4]));
  for (int i = 0; i < 4; ++i) c[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = d[i];
}

int main() {
  constexpr int kDepth = 48;
  half *a, *b;
  __nv_bfloat16 *p, *q;
  float* c;
  CUDA(cudaMallocManaged(&a, 16 * kDepth * sizeof *a));
  CUDA(cudaMallocManaged(&b, 16 * kDepth * sizeof *b));
  CUDA(cudaMallocManaged(&p, 256 * sizeof *p));
  CUDA(cudaMallocManaged(&q, 128 * sizeof *q));
  CUDA(cudaMallocManaged(&c, 256 * sizeof *c));
  for (int i = 0; i < 16 * kDepth; ++i) a[i] = __float2half(i % 11 - 5), b[i] = __float2half(i % 7 - 3);
  for (int i = 0; i < 256; ++i) p[i] = __float2bfloat16(i % 13 - 6);
  for (int i = 0; i < 128; ++i) q[i] = __float2bfloat16(i % 5 - 2);
  by_wmma<<<1, 32>>>(a, b, c, kDepth);
  CUDA(cudaDeviceSynchronize());
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 16; ++column) {
      int sum = 1;
      for (int k = 0; k < kDepth; ++k)
        sum += ((row * kDepth + k) % 11 - 5) * ((column * kDepth + k) % 7 - 3);
      CHECK(c[row * 16 + column] == 2.0f * sum);
    }
  by_mma<<<1, 32>>>(reinterpret_cast<unsigned*>(p), reinterpret_cast<unsigned*>(q), c);
  CUDA(cudaDeviceSynchronize());
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      int sum = 0;
      for (int k = 0; k < 16; ++k) sum += ((row * 16 + k) % 13 - 6) * ((column * 16 + k) % 5 - 2);
      CHECK(c[row * 8 + column] == static_cast<float>(sum));
    }
}
