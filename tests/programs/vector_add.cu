// Linear memory, copies both ways, a launch with a partial last block, errors of launches that cannot be.
#include "program.h"

__global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  constexpr int kCount = 100'003;
  std::vector<float> a(kCount), b(kCount), c(kCount);
  for (int i = 0; i < kCount; ++i) a[i] = i, b[i] = 2 * i;
  const auto bytes = kCount * sizeof(float);
  float *on_a, *on_b, *on_c;
  CUDA(cudaMalloc(&on_a, bytes));
  CUDA(cudaMalloc(&on_b, bytes));
  CUDA(cudaMalloc(&on_c, bytes));
  CUDA(cudaMemcpy(on_a, a.data(), bytes, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(on_b, b.data(), bytes, cudaMemcpyDefault));
  add<<<(kCount + 255) / 256, 256>>>(on_a, on_b, on_c, kCount);
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpy(c.data(), on_c, bytes, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) CHECK(c[i] == 3.0f * i);

  add<<<1, 2000>>>(on_a, on_b, on_c, kCount);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaSuccess);
  add<<<0, 32>>>(on_a, on_b, on_c, kCount);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CUDA(cudaFree(on_a));
  CUDA(cudaFree(on_b));
  CUDA(cudaFree(on_c));
  CUDA(cudaFree(nullptr));
  CUDA(cudaDeviceSynchronize());
}
