// A product with a matrix of which two in four elements are kept, by mma.sp: kept elements, and two bits of metadata for each that say
// which of four it is.
#include "tensor_core.cuh"

constexpr int kStep = 32, kColumns = 32, kWarps = 4;

/// c[m][n] = sum over k of a[m][k] * b[n][k], in bf16. Blocks of 128 threads make 64 x 32.
/// @param kept      of a: [m][depth / 2]
/// @param metadata  of a: [m / 16][depth / 32][8][2], for rows r and r + 8 of 16, of columns from 0 and from 16
/// @param width     of c, a multiple of 32
/// @param depth     a multiple of 32
extern "C" __global__ __launch_bounds__(kWarps * 32) void sparse_gemm(const unsigned short* kept, const unsigned* metadata,
                                                                      const unsigned short* b, float* c, int width, int depth) {
  const int lane = threadIdx.x % 32, group = lane / 4, column = lane % 4 * 2;
  const int row = (blockIdx.y * kWarps + threadIdx.x / 32) * 16 + group, first = blockIdx.x * kColumns;
  float d[kColumns / 8][4] = {};
#pragma unroll 1
  for (int k = 0; k < depth; k += kStep) {
    const unsigned short* from = kept + row * (depth / 2) + k / 2 + column;
    const unsigned a[4] = {pair_at(from), pair_at(from + 4 * depth), pair_at(from + 8), pair_at(from + 4 * depth + 8)};
    const unsigned e = metadata[(row / 16 * (depth / kStep) + k / kStep) * 16 + group * 2 + lane % 2];
    for (int j = 0; j < kColumns / 8; ++j) {
      const unsigned short* b_row = b + (first + j * 8 + group) * depth + k + column;
      asm("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
          "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0;"
          : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(pair_at(b_row)), "r"(pair_at(b_row + 8)), "r"(pair_at(b_row + 16)),
            "r"(pair_at(b_row + 24)), "r"(e));
    }
  }
  for (int j = 0; j < kColumns / 8; ++j)
    for (int i = 0; i < 4; ++i) c[(row + i / 2 * 8) * width + first + j * 8 + column + i % 2] = d[j][i];
}
