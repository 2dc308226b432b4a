// Where the work distributor puts CTAs: for grids of several shapes, the SM of every CTA and the order in which they started.
#include <algorithm>

#include "probe.h"

namespace {

__global__ void place(unsigned* sm, unsigned* ticket, unsigned* count, long long cycles) {
  if (threadIdx.x == 0) {
    unsigned own;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(own));
    sm[blockIdx.x] = own;
    ticket[blockIdx.x] = atomicAdd(count, 1);
  }
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

struct Case {
  unsigned grid, block, shared, cluster;
};

cudaLaunchConfig_t config_of(const Case& c, cudaLaunchAttribute& attribute) {
  cudaLaunchConfig_t config{};
  config.gridDim = c.grid;
  config.blockDim = c.block;
  config.dynamicSmemBytes = c.shared;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {c.cluster, 1, 1};
  config.attrs = &attribute;
  config.numAttrs = c.cluster > 1 ? 1 : 0;
  return config;
}

void print(const char* what, const Case& c, const std::vector<unsigned>& values) {
  std::printf("%s grid %u block %u shared %u cluster %u:", what, c.grid, c.block, c.shared, c.cluster);
  for (const unsigned value : values) std::printf(" %u", value);
  std::printf("\n");
}

void run(const Case& c, unsigned* sm, unsigned* ticket, unsigned* count) {
  NEEDED(cudaMemset(count, 0, sizeof *count));
  cudaLaunchAttribute attribute{};
  const cudaLaunchConfig_t config = config_of(c, attribute);
  NEEDED(cudaLaunchKernelEx(&config, place, sm, ticket, count, 300000ll));
  NEEDED(cudaDeviceSynchronize());
  std::vector<unsigned> sms(c.grid), tickets(c.grid);
  NEEDED(cudaMemcpy(sms.data(), sm, c.grid * sizeof(unsigned), cudaMemcpyDeviceToHost));
  NEEDED(cudaMemcpy(tickets.data(), ticket, c.grid * sizeof(unsigned), cudaMemcpyDeviceToHost));
  print("sm", c, sms);
  print("order", c, tickets);
}

}  // namespace

int main() {
  unsigned *sm, *ticket, *count;
  NEEDED(cudaMalloc(&sm, 1 << 20));
  NEEDED(cudaMalloc(&ticket, 1 << 20));
  NEEDED(cudaMalloc(&count, sizeof *count));
  constexpr int kLargest = 227 * 1024;
  NEEDED(cudaFuncSetAttribute(place, cudaFuncAttributeMaxDynamicSharedMemorySize, kLargest));
  NEEDED(cudaFuncSetAttribute(place, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  for (const unsigned block : {32u, 64u, 128u, 256u, 512u, 1024u})
    for (const unsigned shared : {0u, 20u * 1024, 100u * 1024, static_cast<unsigned>(kLargest)})
      for (const unsigned cluster : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 17u}) {
        cudaLaunchAttribute attribute{};
        const Case c{cluster * 64, block, shared, cluster};
        const cudaLaunchConfig_t config = config_of(c, attribute);
        int clusters = 0;
        const cudaError_t error = cudaOccupancyMaxActiveClusters(&clusters, place, &config);
        std::printf("most active clusters of %u blocks of %u threads with %u bytes: %d %d\n", cluster, block, shared, error, clusters);
      }
  run({1, 32, 0, 1}, sm, ticket, count);  // warm
  for (const Case c : {Case{264, 128, kLargest, 1}, Case{132, 1024, 0, 1}, Case{528, 1024, 0, 1}, Case{528, 256, 0, 1}, Case{264, 128, 100 * 1024, 1},
                       Case{264, 128, kLargest, 2}, Case{264, 128, kLargest, 4}, Case{264, 128, kLargest, 8}, Case{256, 128, kLargest, 16},
                       Case{132, 128, 0, 2}, Case{264, 1024, 0, 4}, Case{264, 1024, 0, 8}, Case{256, 1024, 0, 16}, Case{120, 128, kLargest, 3},
                       Case{120, 128, kLargest, 5}, Case{120, 128, kLargest, 6}, Case{240, 128, kLargest, 12}, Case{4224, 32, 0, 1}, Case{4224, 32, 0, 2}, Case{4224, 32, 0, 4}, Case{4096, 32, 0, 16}})
    run(c, sm, ticket, count);
}
