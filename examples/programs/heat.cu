// Heat that spreads along a rod, in two streams side by side: each half of the rods is copied, computed for many steps and
// copied back in its own stream; events order and time them.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

constexpr int kRods = 32, kPoints = 512, kSteps = 40;

__global__ void spread(const float* from, float* to) {
  const int point = blockIdx.x * blockDim.x + threadIdx.x, rod = blockIdx.y, i = rod * kPoints + point;
  if (point >= kPoints) return;
  const float left = from[point == 0 ? i : i - 1], right = from[point == kPoints - 1 ? i : i + 1];
  to[i] = 0.25f * left + 0.5f * from[i] + 0.25f * right;
}

static void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("heat: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

// The same on the host: products with 1/4 and 1/2 are exact, so that it does not matter whether sums are fused.
static void spread_on_host(std::vector<float>& rod) {
  for (int step = 0; step < kSteps; ++step) {
    const std::vector<float> from = rod;
    for (int i = 0; i < kPoints; ++i)
      rod[i] = 0.25f * from[i == 0 ? i : i - 1] + 0.5f * from[i] + 0.25f * from[i == kPoints - 1 ? i : i + 1];
  }
}

int main() {
  const int half = kRods / 2 * kPoints;
  const size_t bytes = half * sizeof(float);
  float *host, *device[2][2];
  must(cudaMallocHost(&host, 2 * bytes));
  for (int i = 0; i < 2 * half; ++i) host[i] = i % kPoints == kPoints / 2 ? 100.0f * (i / kPoints + 1) : 0.0f;
  cudaStream_t streams[2];
  cudaEvent_t begin, ends[2];
  must(cudaEventCreate(&begin));
  for (int s = 0; s < 2; ++s) {
    must(cudaStreamCreate(&streams[s]));
    must(cudaEventCreate(&ends[s]));
    for (float*& buffer : device[s]) must(cudaMalloc(&buffer, bytes));
  }
  must(cudaEventRecord(begin, streams[0]));
  must(cudaStreamWaitEvent(streams[1], begin, 0));
  for (int s = 0; s < 2; ++s) {
    must(cudaMemcpyAsync(device[s][0], host + s * half, bytes, cudaMemcpyHostToDevice, streams[s]));
    for (int step = 0; step < kSteps; ++step) {
      spread<<<dim3(kPoints / 128, kRods / 2), 128, 0, streams[s]>>>(device[s][0], device[s][1]);
      std::swap(device[s][0], device[s][1]);
    }
    must(cudaGetLastError());
    must(cudaMemcpyAsync(host + s * half, device[s][0], bytes, cudaMemcpyDeviceToHost, streams[s]));
    must(cudaEventRecord(ends[s], streams[s]));
  }
  float slower = 0;
  for (cudaEvent_t end : ends) {
    float milliseconds = 0;
    must(cudaEventSynchronize(end));
    must(cudaEventElapsedTime(&milliseconds, begin, end));
    slower = milliseconds > slower ? milliseconds : slower;
  }
  int wrong = slower > 0 ? 0 : 1;
  for (int rod = 0; rod < kRods; ++rod) {
    std::vector<float> expected(kPoints);
    expected[kPoints / 2] = 100.0f * (rod + 1);
    spread_on_host(expected);
    for (int i = 0; i < kPoints; ++i) wrong += host[rod * kPoints + i] != expected[i];
  }
  std::printf("heat: %d rods, %d steps, %d wrong\n", kRods, kSteps, wrong);
  for (int s = 0; s < 2; ++s) {
    for (float* buffer : device[s]) must(cudaFree(buffer));
    must(cudaStreamDestroy(streams[s]));
    must(cudaEventDestroy(ends[s]));
  }
  must(cudaEventDestroy(begin));
  must(cudaFreeHost(host));
  return wrong != 0;
}
