// How clusters are asked for: attributes of launches and functions, __cluster_dims__, __block_size__, __launch_bounds__; what
// is refused; how many fit.
#include <cooperative_groups.h>

#include "program.h"

namespace cg = cooperative_groups;

/// What each block saw of its cluster.
struct Seen {
  unsigned blocks, rank, x, y, sum;
};

/// `sum`: of the blocks' numbers in the cluster, through their shared memory.
__device__ void look(Seen* seen) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ unsigned number;
  const unsigned block = blockIdx.x + gridDim.x * blockIdx.y;
  if (threadIdx.x == 0) number = block;
  cluster.sync();
  if (threadIdx.x == 0) {
    unsigned sum = 0;
    for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank) sum += *cluster.map_shared_rank(&number, rank);
    const dim3 place = cluster.block_index();
    seen[block] = {cluster.num_blocks(), cluster.block_rank(), place.x, place.y, sum};
  }
  cluster.sync();  // the others may still read
}

__global__ void of_any_size(Seen* seen) { look(seen); }
__global__ void __cluster_dims__(2, 2, 1) squares(Seen* seen) { look(seen); }
__global__ void __launch_bounds__(128, 1, 4) few(Seen* seen) { look(seen); }
__global__ void __block_size__((64, 1, 1), (2, 1, 1)) counted(Seen* seen) { look(seen); }

struct Launch {
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attributes[3]{};

  explicit Launch(dim3 grid, unsigned cluster = 0) {
    config.gridDim = grid;
    config.blockDim = dim3(64);
    config.attrs = attributes;
    if (cluster != 0) size(cudaLaunchAttributeClusterDimension, cluster);
  }
  void size(cudaLaunchAttributeID id, unsigned x) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = id;
    attribute.val.clusterDim.x = x;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  }
  void policy(cudaClusterSchedulingPolicy wanted) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
    attribute.val.clusterSchedulingPolicyPreference = wanted;
  }
};

Seen* seen;

void check_clusters(unsigned blocks, unsigned cluster) {
  CUDA(cudaDeviceSynchronize());
  for (unsigned block = 0; block < blocks; ++block) {
    const unsigned first = block / cluster * cluster;
    CHECK(seen[block].blocks == cluster && seen[block].rank == block - first);
    CHECK(seen[block].sum == cluster * first + cluster * (cluster - 1) / 2);
  }
}

void sizes_and_policies() {
  for (unsigned size = 1; size <= 8; ++size) {
    const Launch launch(3 * size, size);
    CUDA(cudaLaunchKernelEx(&launch.config, of_any_size, seen));
    check_clusters(3 * size, size);
  }
  for (const auto policy : {cudaClusterSchedulingPolicySpread, cudaClusterSchedulingPolicyLoadBalancing}) {
    Launch launch(32, 4);
    launch.policy(policy);
    CUDA(cudaLaunchKernelEx(&launch.config, of_any_size, seen));
    check_clusters(32, 4);
  }
  const Launch sixteen(32, 16);
  CHECK(cudaLaunchKernelEx(&sixteen.config, of_any_size, seen) == cudaErrorInvalidClusterSize);
  CHECK(cudaGetLastError() == cudaErrorInvalidClusterSize);
  CUDA(cudaFuncSetAttribute(of_any_size, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  CUDA(cudaLaunchKernelEx(&sixteen.config, of_any_size, seen));
  check_clusters(32, 16);
  CUDA(cudaFuncSetAttribute(of_any_size, cudaFuncAttributeNonPortableClusterSizeAllowed, 0));
}

void sizes_of_kernels() {
  squares<<<dim3(4, 2), 64>>>(seen);
  CUDA(cudaDeviceSynchronize());
  const unsigned sums[] = {0 + 1 + 4 + 5, 2 + 3 + 6 + 7};
  for (unsigned block = 0; block < 8; ++block) {
    const unsigned x = block % 4 % 2, y = block / 4;
    CHECK(seen[block].blocks == 4 && seen[block].x == x && seen[block].y == y && seen[block].rank == x + 2 * y);
    CHECK(seen[block].sum == sums[block % 4 / 2]);
  }
  counted<<<3, 1>>>(seen);  // three clusters of two blocks of 64 threads
  CUDA(cudaGetLastError());
  check_clusters(6, 2);
  cudaFuncAttributes attributes;
  CUDA(cudaFuncGetAttributes(&attributes, squares));
  CHECK(attributes.requiredClusterWidth == 2 && attributes.requiredClusterHeight == 2 && attributes.requiredClusterDepth == 1);
  CUDA(cudaFuncGetAttributes(&attributes, of_any_size));
  CHECK(attributes.requiredClusterWidth == 0 && attributes.nonPortableClusterSizeAllowed == 0);
  const Launch four(8, 4), eight(8, 8), wrong(dim3(4, 2), 2);
  CUDA(cudaLaunchKernelEx(&four.config, few, seen));
  CHECK(cudaLaunchKernelEx(&eight.config, few, seen) == cudaErrorInvalidClusterSize);
  CHECK(cudaLaunchKernelEx(&wrong.config, squares, seen) == cudaErrorInvalidClusterSize);
  CHECK(cudaGetLastError() == cudaErrorInvalidClusterSize && cudaGetLastError() == cudaSuccess);
  squares<<<dim3(4, 1), 64>>>(seen);
  CHECK(cudaGetLastError() == cudaErrorInvalidClusterSize);
  CUDA(cudaDeviceSynchronize());
}

void preferences() {
  Launch launch(8, 2);
  launch.size(cudaLaunchAttributePreferredClusterDimension, 4);
  CUDA(cudaLaunchKernelEx(&launch.config, of_any_size, seen));
  CUDA(cudaDeviceSynchronize());
  CHECK(seen[0].blocks == 4 || seen[0].blocks == 2);
  check_clusters(8, seen[0].blocks);
}

void occupancy() {
  cudaDeviceProp properties;
  CUDA(cudaGetDeviceProperties(&properties, 0));
  CHECK(properties.clusterLaunch == 1);
  int clusters = 0, largest = 0;
  Launch launch(8, 8);
  CUDA(cudaFuncSetAttribute(of_any_size, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
  launch.config.dynamicSmemBytes = 200 << 10;  // one block per multiprocessor
  CUDA(cudaOccupancyMaxActiveClusters(&clusters, of_any_size, &launch.config));
  CHECK(clusters > 0 && clusters * 8 <= properties.multiProcessorCount);
  CUDA(cudaLaunchKernelEx(&launch.config, of_any_size, seen));
  check_clusters(8, 8);
  CUDA(cudaOccupancyMaxPotentialClusterSize(&largest, of_any_size, &launch.config));
  CHECK(largest == 8);
  launch.config.dynamicSmemBytes = 0;
  CUDA(cudaOccupancyMaxPotentialClusterSize(&largest, squares, &launch.config));
  CHECK(largest == 4);
}

int main() {
  CUDA(cudaMallocManaged(&seen, 64 * sizeof(Seen)));
  sizes_and_policies();
  sizes_of_kernels();
  preferences();
  occupancy();
}
