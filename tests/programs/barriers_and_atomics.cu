// libcu++: a block's barrier object, copies that it waits for, atomic references of each scope, a lock.
// nvcc: -arch=sm_75 -diag-suppress=20054
#include <cooperative_groups.h>

#include <cuda/atomic>
#include <cuda/barrier>

#include "program.h"

using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void rotate(int* data, int rounds) {
  __shared__ Barrier barrier;
  __shared__ int values[128];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  values[threadIdx.x] = threadIdx.x;
  barrier.arrive_and_wait();
  for (int round = 0; round < rounds; ++round) {
    const int next = values[(threadIdx.x + 1) % blockDim.x];
    barrier.wait(barrier.arrive());
    values[threadIdx.x] = next;
    barrier.arrive_and_wait();
  }
  data[blockIdx.x * blockDim.x + threadIdx.x] = values[threadIdx.x];
}

/// Each block turns its 128 numbers round. Before sm_80 the barrier is made of atomics, and its waiting a loop
/// that sleeps.
__global__ void turn_round(const int* in, int* out) {
  __shared__ Barrier barrier;
  __shared__ int values[128];
  const auto block = cooperative_groups::this_thread_block();
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  block.sync();
  cuda::memcpy_async(block, values, in + blockIdx.x * 128, sizeof values, barrier);
  barrier.arrive_and_wait();
  out[blockIdx.x * 128 + threadIdx.x] = values[127 - threadIdx.x];
}

__global__ void count(int* device, int* system, double* sum, int* lock, long long* guarded) {
  cuda::atomic_ref<int, cuda::thread_scope_device>(*device).fetch_add(1, cuda::memory_order_relaxed);
  cuda::atomic_ref<int, cuda::thread_scope_system>(*system).fetch_max(blockIdx.x * blockDim.x + threadIdx.x);
  cuda::atomic_ref<double, cuda::thread_scope_device>(*sum).fetch_add(0.5);
  cuda::atomic_ref<int, cuda::thread_scope_device> mine(*lock);
  if (threadIdx.x % 32 != 0) return;
  int free = 0;
  while (!mine.compare_exchange_weak(free, 1, cuda::memory_order_acquire)) free = 0;
  ++*guarded;
  mine.store(0, cuda::memory_order_release);
}

int main() {
  int* data;
  CUDA(cudaMallocManaged(&data, 4 * 128 * sizeof(int)));
  rotate<<<4, 128>>>(data, 5);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 4 * 128; ++i) CHECK(data[i] == (i % 128 + 5) % 128);

  int* turned;
  CUDA(cudaMallocManaged(&turned, 4 * 128 * sizeof(int)));
  for (int round = 0; round < 20; ++round) {
    turn_round<<<4, 128>>>(data, turned);
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 4 * 128; ++i) CHECK(turned[i] == data[i ^ 127]);
  }

  struct Results {
    int device, system, lock;
    double sum;
    long long guarded;
  }* results;
  CUDA(cudaMallocManaged(&results, sizeof *results));
  *results = {};
  count<<<10, 96>>>(&results->device, &results->system, &results->sum, &results->lock, &results->guarded);
  CUDA(cudaDeviceSynchronize());
  CHECK(results->device == 960 && results->system == 959 && results->sum == 480 && results->guarded == 30);
}
