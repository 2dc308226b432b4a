// CUB's transformation, which moves its input by mbarriers and asynchronous bulk copies where the target has them.
// targets: 75 80 90
// nvcc: --extended-lambda
// slow: half a minute of nvcc for each
#include <cub/device/device_transform.cuh>

#include "program.h"

int main() {
  constexpr int kCount = 6000;
  int* numbers = nullptr;
  CUDA(cudaMallocManaged(&numbers, 2 * kCount * sizeof *numbers));
  for (int i = 0; i < kCount; ++i) numbers[i] = 7 * i;
  CUDA(cub::DeviceTransform::Transform(numbers, numbers + kCount, kCount, [] __device__(int v) { return 2 * v; }));
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < kCount; ++i) CHECK(numbers[kCount + i] == 14 * i);
  CUDA(cudaFree(numbers));
}
