// Kernels of one kind of grid that launch kernels of another: from blocks, clusters and a cooperative grid to clusters, and back.

// nvcc: -rdc=true -arch=sm_90

#include <cooperative_groups.h>

#include "program.h"

namespace cg = cooperative_groups;

__global__ void plain_child(int* count) { atomicAdd(count, 1); }

/// Every cluster adds the product of its blocks' numbers, 2 * 3, once.
__global__ void __cluster_dims__(2, 1, 1) cluster_child(int* count) {
  const cg::cluster_group cluster = cg::this_cluster();
  __shared__ int factor;
  factor = 2 + cluster.block_rank();
  cluster.sync();
  if (cluster.block_rank() == 0) atomicAdd(count, factor * *cluster.map_shared_rank(&factor, 1));
  cluster.sync();
}

__device__ void launch_children(int* counts) {
  plain_child<<<3, 1>>>(&counts[0]);
  cluster_child<<<4, 1>>>(&counts[1]);
  cluster_child<<<3, 1>>>(&counts[1]);  // not whole clusters
  if (cudaGetLastError() == cudaErrorInvalidClusterSize) atomicAdd(&counts[2], 1);
}

__global__ void plain_parent(int* counts) { launch_children(counts); }

__global__ void __cluster_dims__(4, 1, 1) cluster_parent(int* counts) {
  cg::this_cluster().sync();
  launch_children(counts);
  cg::this_cluster().sync();
}

__global__ void cooperative_parent(int* counts) {
  cg::this_grid().sync();
  launch_children(counts);
}

int main() {
  int* counts;
  CUDA(cudaMallocManaged(&counts, 3 * sizeof(int)));
  const auto expect = [&](int parents) {
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    CHECK(counts[0] == 3 * parents);
    CHECK(counts[1] == 2 * 6 * parents);
    CHECK(counts[2] == parents);
    for (int i = 0; i < 3; ++i) counts[i] = 0;
  };
  plain_parent<<<2, 1>>>(counts);
  expect(2);
  cluster_parent<<<8, 1>>>(counts);
  expect(8);
  void* arguments[] = {&counts};
  CUDA(cudaLaunchCooperativeKernel(cooperative_parent, dim3(6), dim3(1), arguments, 0, nullptr));
  expect(6);
}
