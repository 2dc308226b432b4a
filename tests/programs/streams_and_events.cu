// Two streams that wait for each other by an event, timing, host functions and callbacks, a kernel that ends because the host
// wrote a flag.
#include <atomic>

#include "program.h"

__global__ void scale(int* data, int n, int by) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) data[i] *= by;
}

__global__ void wait_for(volatile int* flag, int* done) {
  while (*flag == 0) {
  }
  *done = 1;
}

std::atomic<int> calls{0};
int ten = 10;

int main() {
  constexpr int kCount = 1 << 16;
  std::vector<int> host(kCount, 3);
  int* data;
  CUDA(cudaMalloc(&data, kCount * sizeof(int)));
  int least, greatest;
  CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(greatest < least);
  cudaStream_t first, second;
  CUDA(cudaStreamCreate(&first));
  CUDA(cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, greatest));
  int priority;
  CUDA(cudaStreamGetPriority(second, &priority));
  CHECK(priority == greatest);
  cudaEvent_t start, filled, end;
  CUDA(cudaEventCreate(&start));
  CUDA(cudaEventCreate(&end));
  CUDA(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));

  CUDA(cudaEventRecord(start, first));
  CUDA(cudaMemcpyAsync(data, host.data(), kCount * sizeof(int), cudaMemcpyHostToDevice, first));
  scale<<<8, 128, 0, first>>>(data, kCount, 5);
  CUDA(cudaEventRecord(filled, first));
  CUDA(cudaStreamWaitEvent(second, filled));
  scale<<<8, 128, 0, second>>>(data, kCount, 7);
  CUDA(cudaLaunchHostFunc(second, [](void*) { ++calls; }, nullptr));
  CUDA(cudaStreamAddCallback(
      second, [](cudaStream_t, cudaError_t status, void* by) { calls += status == cudaSuccess ? *static_cast<int*>(by) : 0; },
      &ten, 0));
  CUDA(cudaMemcpyAsync(host.data(), data, kCount * sizeof(int), cudaMemcpyDeviceToHost, second));
  CUDA(cudaEventRecord(end, second));
  CUDA(cudaEventSynchronize(end));
  for (const int value : host) CHECK(value == 3 * 5 * 7);
  CUDA(cudaStreamSynchronize(second));
  CHECK(calls == 11);
  CHECK(cudaStreamQuery(first) == cudaSuccess && cudaEventQuery(end) == cudaSuccess);
  float milliseconds = -1;
  CUDA(cudaEventElapsedTime(&milliseconds, start, end));
  CHECK(milliseconds >= 0);
  CHECK(cudaEventElapsedTime(&milliseconds, start, filled) != cudaSuccess);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);

  int* words;  // pinned: the kernel sees what the host writes
  CUDA(cudaHostAlloc(&words, 2 * sizeof(int), cudaHostAllocMapped));
  words[0] = words[1] = 0;
  wait_for<<<1, 1, 0, second>>>(words, words + 1);
  CHECK(cudaStreamQuery(second) == cudaErrorNotReady);
  CHECK(cudaGetLastError() == cudaSuccess);  // so on an H200
  *static_cast<volatile int*>(words) = 1;
  CUDA(cudaStreamSynchronize(second));
  CHECK(words[1] == 1);
  CUDA(cudaFreeHost(words));
  for (const cudaEvent_t event : {start, filled, end}) CUDA(cudaEventDestroy(event));
  CUDA(cudaStreamDestroy(first));
  CUDA(cudaStreamDestroy(second));
}
