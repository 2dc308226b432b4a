// What the device says of itself: every attribute of the driver API by its number, its limits, and what the runtime's
// properties hold.
#include "probe.h"

int main() {
  NEEDED(cudaFree(nullptr));
  for (int attribute = 1; attribute < 160; ++attribute) {
    int value = 0;
    const CUresult result = cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(attribute), 0);
    if (result == CUDA_SUCCESS)
      std::printf("attribute %d: %d\n", attribute, value);
    else
      std::printf("attribute %d: error %d\n", attribute, result);
  }
  for (int limit = 0; limit < 12; ++limit) {
    std::size_t value = 0;
    const CUresult result = cuCtxGetLimit(&value, static_cast<CUlimit>(limit));
    std::printf("limit %d: %d %zu\n", limit, result, value);
  }
  cudaDeviceProp p{};
  NEEDED(cudaGetDeviceProperties(&p, 0));
  std::printf("name: %s\nshared per SM: %zu\nreserved per block: %zu\nopt-in: %zu\nregisters per SM: %d\nL2: %d\n", p.name,
              p.sharedMemPerMultiprocessor, p.reservedSharedMemPerBlock, p.sharedMemPerBlockOptin, p.regsPerMultiprocessor, p.l2CacheSize);
  std::printf("persisting L2: %d\nwindow: %d\nblocks per SM: %d\n", p.persistingL2CacheMaxSize, p.accessPolicyMaxWindowSize,
              p.maxBlocksPerMultiProcessor);
}
