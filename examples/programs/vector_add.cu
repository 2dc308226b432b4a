// The smallest whole program: adds two vectors on the device and checks the sum.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

__global__ void add(const float* a, const float* b, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

int main() {
  const int n = 100'000;
  std::vector<float> a(n), b(n), sum(n);
  for (int i = 0; i < n; ++i) {
    a[i] = 0.5f * i;
    b[i] = 3.0f - i;
  }
  float *on_device_a, *on_device_b, *on_device_sum;
  const size_t bytes = n * sizeof(float);
  cudaMalloc(&on_device_a, bytes);
  cudaMalloc(&on_device_b, bytes);
  cudaMalloc(&on_device_sum, bytes);
  cudaMemcpy(on_device_a, a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(on_device_b, b.data(), bytes, cudaMemcpyHostToDevice);
  add<<<(n + 255) / 256, 256>>>(on_device_a, on_device_b, on_device_sum, n);
  const cudaError_t error = cudaMemcpy(sum.data(), on_device_sum, bytes, cudaMemcpyDeviceToHost);
  if (error != cudaSuccess) {
    std::printf("vector_add: %s\n", cudaGetErrorString(error));
    return 1;
  }
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += sum[i] != a[i] + b[i];
  std::printf("vector_add: %d sums, %d wrong\n", n, wrong);
  cudaFree(on_device_a);
  cudaFree(on_device_b);
  cudaFree(on_device_sum);
  return wrong != 0;
}
