// A tiled product of matrices: each block computes a tile of the result from tiles of the factors in shared memory.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

constexpr int kTile = 16;

// c = a b for square matrices of n rows.
__global__ void multiply(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += kTile) {
    tile_a[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < n ? a[row * n + k + threadIdx.x] : 0.0f;
    tile_b[threadIdx.y][threadIdx.x] = column < n && k + threadIdx.y < n ? b[(k + threadIdx.y) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

int main() {
  const int n = 200;  // no multiple of the tile
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = i % 7 - 3;  // whole numbers: the sums are exact in any order
    b[i] = i % 5 - 2;
  }
  const size_t bytes = n * n * sizeof(float);
  float *on_device_a, *on_device_b, *on_device_c;
  cudaMalloc(&on_device_a, bytes);
  cudaMalloc(&on_device_b, bytes);
  cudaMalloc(&on_device_c, bytes);
  cudaMemcpy(on_device_a, a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(on_device_b, b.data(), bytes, cudaMemcpyHostToDevice);
  const dim3 block(kTile, kTile), grid((n + kTile - 1) / kTile, (n + kTile - 1) / kTile);
  multiply<<<grid, block>>>(on_device_a, on_device_b, on_device_c, n);
  const cudaError_t error = cudaMemcpy(c.data(), on_device_c, bytes, cudaMemcpyDeviceToHost);
  if (error != cudaSuccess) {
    std::printf("matrix_product: %s\n", cudaGetErrorString(error));
    return 1;
  }
  int wrong = 0;
  for (int row = 0; row < n; ++row) {
    for (int column = 0; column < n; ++column) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
      wrong += c[row * n + column] != sum;
    }
  }
  std::printf("matrix_product: %d x %d, %d wrong\n", n, n, wrong);
  cudaFree(on_device_a);
  cudaFree(on_device_b);
  cudaFree(on_device_c);
  return wrong != 0;
}
