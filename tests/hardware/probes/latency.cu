// How long a dependent read takes, by how much memory the chain of reads covers: caches and translation, in nanoseconds.
#include "probe.h"

namespace {

__global__ void chase(const unsigned long long* start, int steps, long long* cycles, unsigned long long* sink) {
  const unsigned long long* at = start;
  const long long before = clock64();
  for (int i = 0; i < steps; ++i) at = reinterpret_cast<const unsigned long long*>(__ldcg(at));
  *cycles = clock64() - before;
  *sink = reinterpret_cast<unsigned long long>(at);
}

__global__ void link(char* memory, unsigned long long stride, unsigned long long count) {
  // A walk that visits every place once: multiplication by an odd number modulo a power of two, which no prefetcher follows.
  const unsigned long long i = blockIdx.x * 1ull * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const unsigned long long from = i * 0x9e3779b1ull % count, to = (i + 1) % count * 0x9e3779b1ull % count;
  *reinterpret_cast<unsigned long long*>(memory + from * stride) = reinterpret_cast<unsigned long long>(memory + to * stride);
}

}  // namespace

int main() {
  std::size_t free_bytes = 0, total = 0;
  NEEDED(cudaMemGetInfo(&free_bytes, &total));
  const std::size_t most = free_bytes > (72ull << 30) ? 64ull << 30 : 1ull << 30;
  char* memory;
  long long* cycles;
  unsigned long long* sink;
  NEEDED(cudaMalloc(&memory, most));
  NEEDED(cudaMalloc(&cycles, sizeof *cycles));
  NEEDED(cudaMalloc(&sink, sizeof *sink));
  for (const std::size_t stride : {128ull, 4096ull, 65536ull, 2ull << 20, 32ull << 20, 512ull << 20})
    for (std::size_t bytes = stride * 2; bytes <= most; bytes *= 2) {
      const unsigned long long count = bytes / stride;
      if (count > 1ull << 22) break;
      link<<<static_cast<unsigned>((count + 255) / 256), 256>>>(memory, stride, count);
      const int steps = static_cast<int>(count < 8192 ? 8192 : count < 1 << 19 ? count : 1 << 19);  // every place once
      long long taken = 0;
      for (int round = 0; round < 2; ++round) {  // the last is warm
        chase<<<1, 1>>>(reinterpret_cast<unsigned long long*>(memory), steps, cycles, sink);
        NEEDED(cudaMemcpy(&taken, cycles, sizeof taken, cudaMemcpyDeviceToHost));
      }
      std::printf("stride %zu of %zu bytes: %lld cycles\n", stride, bytes, taken / steps);
    }
}
