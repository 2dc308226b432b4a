// Programs of several devices: who sees what, copies between them, peer access, a thread for each, a sum over all.
// nvcc: -arch=sm_80
// devices: 2xtiny tiny,a100,2xtiny
#include <numeric>
#include <thread>

#include "program.h"

__managed__ int finished;
__device__ int last_seen;
__constant__ int factor;

__global__ void add_up(const int* values, int count, unsigned long long* sum) {
  unsigned long long mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) mine += values[i];
  atomicAdd(sum, mine * factor);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    last_seen = count;
    atomicAdd_system(&finished, 1);
  }
}

__global__ void take_from(const int* peer, int* mine, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) mine[i] = peer[i] + 1;
}

constexpr int kCount = 100'000;

/// Each thread has a device, with variables, streams and memory of its own.
unsigned long long sum_on(int device, const std::vector<int>& values, int first, int count) {
  CUDA(cudaSetDevice(device));
  int current = -1, found = 0;
  CUDA(cudaGetDevice(&current));
  CHECK(current == device);
  cudaStream_t stream;
  int* part;
  unsigned long long *sum, result = 0;
  const int times = device + 1;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaMalloc(&part, count * sizeof(int)));
  CUDA(cudaMalloc(&sum, sizeof *sum));
  CUDA(cudaMemcpyToSymbolAsync(factor, &times, sizeof times, 0, cudaMemcpyHostToDevice, stream));
  CUDA(cudaMemsetAsync(sum, 0, sizeof *sum, stream));
  CUDA(cudaMemcpyAsync(part, &values[first], count * sizeof(int), cudaMemcpyHostToDevice, stream));
  add_up<<<4, 64, 0, stream>>>(part, count, sum);
  CUDA(cudaMemcpyAsync(&result, sum, sizeof result, cudaMemcpyDeviceToHost, stream));
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaMemcpyFromSymbol(&found, last_seen, sizeof found));
  CHECK(found == count);
  cudaPointerAttributes about;
  CUDA(cudaPointerGetAttributes(&about, part));
  CHECK(about.type == cudaMemoryTypeDevice && about.device == device);
  CUDA(cudaFree(part));
  CUDA(cudaFree(sum));
  CUDA(cudaStreamDestroy(stream));
  return result;
}

void reduce(int devices) {
  std::vector<int> values(kCount);
  std::iota(values.begin(), values.end(), 0);
  std::vector<unsigned long long> sums(devices);
  std::vector<std::thread> threads;
  const int part = kCount / devices;
  finished = 0;
  for (int d = 0; d < devices; ++d)
    threads.emplace_back([&, d] { sums[d] = sum_on(d, values, d * part, part); });
  for (std::thread& each : threads) each.join();
  for (int d = 0; d < devices; ++d) {
    unsigned long long wanted = 0;
    for (int i = d * part; i < (d + 1) * part; ++i) wanted += static_cast<unsigned long long>(i) * (d + 1);
    CHECK(sums[d] == wanted);
  }
  CHECK(finished == devices);
}

void copy_round(int devices) {
  std::vector<int*> memory(devices);
  std::vector<int> values(1000);
  for (int d = 0; d < devices; ++d) {
    CUDA(cudaSetDevice(d));
    CUDA(cudaMalloc(&memory[d], values.size() * sizeof(int)));
  }
  std::iota(values.begin(), values.end(), 7);
  CUDA(cudaMemcpy(memory[0], values.data(), values.size() * sizeof(int), cudaMemcpyDefault));
  for (int d = 1; d < devices; ++d) {
    int can = 0;
    CUDA(cudaSetDevice(d));
    CUDA(cudaDeviceCanAccessPeer(&can, d, d - 1));
    CHECK(can == 1);
    CHECK(cudaDeviceEnablePeerAccess(d, 0) == cudaErrorInvalidDevice);
    CHECK(cudaDeviceEnablePeerAccess(devices, 0) == cudaErrorInvalidDevice);
    CHECK(cudaDeviceDisablePeerAccess(d - 1) == cudaErrorPeerAccessNotEnabled);
    CUDA(cudaDeviceEnablePeerAccess(d - 1, 0));
    CHECK(cudaDeviceEnablePeerAccess(d - 1, 0) == cudaErrorPeerAccessAlreadyEnabled);
    (void)cudaGetLastError();
    take_from<<<8, 128>>>(memory[d - 1], memory[d], static_cast<int>(values.size()));
    CUDA(cudaDeviceSynchronize());
  }
  CUDA(cudaMemcpyPeer(memory[0], 0, memory[devices - 1], devices - 1, values.size() * sizeof(int)));
  std::vector<int> back(values.size());
  CUDA(cudaMemcpy(back.data(), memory[0], back.size() * sizeof(int), cudaMemcpyDefault));
  for (std::size_t i = 0; i < back.size(); ++i) CHECK(back[i] == values[i] + devices - 1);
  for (int* each : memory) CUDA(cudaFree(each));
}

/// Resetting one device leaves the others alone.
void reset_one() {
  int* other = nullptr;
  CUDA(cudaSetDevice(1));
  CUDA(cudaMalloc(&other, sizeof(int)));
  CUDA(cudaMemset(other, 1, sizeof(int)));
  CUDA(cudaSetDevice(0));
  CUDA(cudaDeviceReset());
  CUDA(cudaFree(nullptr));
  int value = 0;
  CUDA(cudaSetDevice(1));
  CUDA(cudaMemcpy(&value, other, sizeof value, cudaMemcpyDeviceToHost));
  CHECK(value == 0x01010101);
}

int main() {
  int devices = 0;
  CUDA(cudaGetDeviceCount(&devices));
  if (std::getenv("RADDLE_SERVER") != nullptr) {  // has one device, whatever this process's environment says
    CHECK(devices == 1);
    CUDA(cudaSetDevice(0));
    CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
    return 0;
  }
  CHECK(devices >= 2);
  CHECK(cudaSetDevice(devices) == cudaErrorInvalidDevice);
  (void)cudaGetLastError();
  for (int d = 0; d < devices; ++d) {
    cudaDeviceProp about;
    CUDA(cudaGetDeviceProperties(&about, d));
    CHECK(about.pciBusID == d && about.multiProcessorCount >= 2 && about.unifiedAddressing == 1);
  }
  reduce(devices);
  copy_round(devices);
  reset_one();
  reduce(devices);
}
