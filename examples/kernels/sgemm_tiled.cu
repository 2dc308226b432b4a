// C = A * B for square row-major matrices, n a multiple of the tile, in three shapes:
// one output per thread with 16x16 and 32x32 tiles in shared memory, and a 64x32 tile
// in which a block of 32x8 threads keeps 8 rows per thread in registers; that one also
// with two buffers, of which asynchronous copies fill one while the other is computed with.
#include <cuda_pipeline.h>

template <int kTile>
__device__ __forceinline__ void multiply_square_tile(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * kTile + ty;
  const int column = blockIdx.x * kTile + tx;
  float sum = 0.0f;
  for (int k0 = 0; k0 < n; k0 += kTile) {
    tile_a[ty][tx] = a[row * n + k0 + tx];
    tile_b[ty][tx] = b[(k0 + ty) * n + column];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTile; ++k) sum += tile_a[ty][k] * tile_b[k][tx];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

extern "C" __global__ void sgemm_16(const float* a, const float* b, float* c, int n) {
  multiply_square_tile<16>(a, b, c, n);
}

extern "C" __global__ void sgemm_32(const float* a, const float* b, float* c, int n) {
  multiply_square_tile<32>(a, b, c, n);
}

constexpr int kRows = 64, kColumns = 32, kDepth = 32, kRowsPerThread = 8;  // by 32 x 8 threads

__device__ __forceinline__ void multiply_add_tile(float (&sum)[kRowsPerThread], const float (&tile_a)[kRows][kDepth],
                                                  const float (&tile_b)[kDepth][kColumns]) {
  const int tx = threadIdx.x, ty = threadIdx.y;
#pragma unroll
  for (int k = 0; k < kDepth; ++k) {
    const float value = tile_b[k][tx];
#pragma unroll
    for (int r = 0; r < kRowsPerThread; ++r) sum[r] += tile_a[ty * kRowsPerThread + r][k] * value;
  }
}

extern "C" __global__ void __launch_bounds__(256) sgemm_64x32(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[kRows][kDepth];
  __shared__ float tile_b[kDepth][kColumns];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row0 = blockIdx.y * kRows, column = blockIdx.x * kColumns + tx;
  float sum[kRowsPerThread] = {};
  for (int k0 = 0; k0 < n; k0 += kDepth) {
#pragma unroll
    for (int r = 0; r < kRows; r += 8) tile_a[r + ty][tx] = a[(row0 + r + ty) * n + k0 + tx];
#pragma unroll
    for (int r = 0; r < kDepth; r += 8) tile_b[r + ty][tx] = b[(k0 + r + ty) * n + column];
    __syncthreads();
    multiply_add_tile(sum, tile_a, tile_b);
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kRowsPerThread; ++r) c[(row0 + ty * kRowsPerThread + r) * n + column] = sum[r];
}

extern "C" __global__ void __launch_bounds__(256) sgemm_64x32_async(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[2][kRows][kDepth];
  __shared__ float tile_b[2][kDepth][kColumns];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row0 = blockIdx.y * kRows, column = blockIdx.x * kColumns + tx;
  auto fetch = [&](int k0) {
    const int buffer = k0 / kDepth % 2;
#pragma unroll
    for (int r = 0; r < kRows; r += 8)
      __pipeline_memcpy_async(&tile_a[buffer][r + ty][tx], &a[(row0 + r + ty) * n + k0 + tx], sizeof(float));
#pragma unroll
    for (int r = 0; r < kDepth; r += 8)
      __pipeline_memcpy_async(&tile_b[buffer][r + ty][tx], &b[(k0 + r + ty) * n + column], sizeof(float));
  };
  float sum[kRowsPerThread] = {};
  fetch(0);
  for (int k0 = 0; k0 < n; k0 += kDepth) {
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();  // this buffer is full, and nobody computes with the other one any more
    if (k0 + kDepth < n) fetch(k0 + kDepth);
    multiply_add_tile(sum, tile_a[k0 / kDepth % 2], tile_b[k0 / kDepth % 2]);
  }
#pragma unroll
  for (int r = 0; r < kRowsPerThread; ++r) c[(row0 + ty * kRowsPerThread + r) * n + column] = sum[r];
}
