// Products of matrices by mma.sync, in bf16, f16, fp8 and int8: tiles come by cp.async through a ring of stages, fragments by ldmatrix.
#include "tensor_core.cuh"

constexpr int kTile = 64, kRowBytes = 64, kStages = 3, kThreads = 128, kPart = 32;

/// Where 16 bytes of a row lie: swizzled, so that eight rows of a column lie in all banks.
__device__ inline char* chunk_of(char (&tile)[kTile][kRowBytes], int row, int chunk) {
  return &tile[row][(chunk ^ row / 2 % 4) * 16];
}

/// c[m][n] = sum over k of a[m][k] * b[n][k]. A block of 128 threads makes 64 x 64.
/// @param width      of c, a multiple of 64
/// @param row_bytes  of a and b, a multiple of 64
template <class Element>
__device__ void gemm(const char* a, const char* b, typename Element::Result* c, int width, int row_bytes) {
  alignas(128) __shared__ char tiles[kStages][2][kTile][kRowBytes];
  const int row = blockIdx.y * kTile, column = blockIdx.x * kTile, passes = row_bytes / kRowBytes;
  const auto load = [&](int pass) {
    if (pass < passes)
#pragma unroll 1
      for (int i = threadIdx.x; i < 2 * kTile * kRowBytes / 16; i += kThreads) {
        const int operand = i / (kTile * kRowBytes / 16), r = i / 4 % kTile, chunk = i % 4;
        const char* from = operand == 0 ? a + (row + r) * row_bytes : b + (column + r) * row_bytes;
        copy_16_bytes(chunk_of(tiles[pass % kStages][operand], r, chunk), from + pass * kRowBytes + chunk * 16);
      }
    commit_copies();
  };
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warp_row = warp / 2 * kPart, warp_column = warp % 2 * kPart;
  typename Element::Result d[2][4][4] = {};
#pragma unroll 1
  for (int pass = 0; pass < kStages - 1; ++pass) load(pass);
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass) {
    wait_for_copies<kStages - 2>();
    __syncthreads();
    load(pass + kStages - 1);
    auto& [tile_a, tile_b] = tiles[pass % kStages];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      unsigned fragments_a[2][4], fragments_b[2][4];
      for (int i = 0; i < 2; ++i) {
        load_matrices(fragments_a[i], chunk_of(tile_a, warp_row + i * 16 + lane % 16, half * 2 + lane / 16));
        load_matrices(fragments_b[i], chunk_of(tile_b, warp_column + i * 16 + lane / 16 * 8 + lane % 8, half * 2 + lane / 8 % 2));
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) Element::mma(d[i][j], fragments_a[i], &fragments_b[j / 2][j % 2 * 2]);
    }
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      for (int e = 0; e < 4; ++e)
        c[(row + warp_row + i * 16 + lane / 4 + e / 2 * 8) * width + column + warp_column + j * 8 + lane % 4 * 2 + e % 2] = d[i][j][e];
}

extern "C" __global__ void gemm_bf16(const char* a, const char* b, float* c, int width, int row_bytes) {
  gemm<Bf16>(a, b, c, width, row_bytes);
}
extern "C" __global__ void gemm_f16(const char* a, const char* b, float* c, int width, int row_bytes) {
  gemm<F16>(a, b, c, width, row_bytes);
}
extern "C" __global__ void gemm_e4m3(const char* a, const char* b, float* c, int width, int row_bytes) {
  gemm<E4m3>(a, b, c, width, row_bytes);
}
extern "C" __global__ void gemm_s8(const char* a, const char* b, int* c, int width, int row_bytes) {
  gemm<S8>(a, b, c, width, row_bytes);
}
