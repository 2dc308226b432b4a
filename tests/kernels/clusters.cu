// Clusters of thread blocks: distributed shared memory, barriers of the cluster, waiting in each other's memory, blocks
// that exit early, and every way to miss another block's memory.
// nvcc: -I../../include
#include <cooperative_groups.h>

#include "raddle/device.h"
namespace cg = cooperative_groups;

// The bins of one histogram lie spread over the shared memory of a cluster's blocks; every block counts its share of
// the input into all of them.
extern "C" __global__ void histogram(const int* in, int n, int* out, int bins, int bins_per_block) {
  extern __shared__ int mine[];
  cg::cluster_group cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) mine[i] = 0;
  cluster.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const int bin = in[i] < 0 ? 0 : in[i] >= bins ? bins - 1 : in[i];
    int* there = cluster.map_shared_rank(mine, bin / bins_per_block);
    atomicAdd(there + bin % bins_per_block, 1);
  }
  cluster.sync();
  int* place = out + cluster.block_rank() * bins_per_block;
  for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) atomicAdd(place + i, mine[i]);
}

// A sum per cluster: of a block in its own shared memory, of the blocks by rank 0.
extern "C" __global__ void reduce(const int* in, int n, int* out) {
  __shared__ int sum;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  int own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += in[i];
  atomicAdd(&sum, own);
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x < cluster.num_blocks()) {
    const int part = *cluster.map_shared_rank(&sum, threadIdx.x);
    atomicAdd(out + blockIdx.x / cluster.num_blocks(), part);
  }
  cluster.sync();  // until then the others must not exit: their memory is read
}

// An inclusive scan over each cluster's values, one per thread.
extern "C" __global__ void scan(const int* in, int* out) {
  __shared__ int values[1024];
  __shared__ int total;
  cg::cluster_group cluster = cg::this_cluster();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[threadIdx.x] = in[i];
  __syncthreads();
  for (int distance = 1; distance < blockDim.x; distance *= 2) {
    const int left = threadIdx.x >= distance ? values[threadIdx.x - distance] : 0;
    __syncthreads();
    values[threadIdx.x] += left;
    __syncthreads();
  }
  if (threadIdx.x == blockDim.x - 1) total = values[threadIdx.x];
  cluster.sync();
  int before = 0;
  for (unsigned rank = 0; rank < cluster.block_rank(); ++rank) before += *cluster.map_shared_rank(&total, rank);
  out[i] = values[threadIdx.x] + before;
  cluster.sync();
}

// Each round every block hands its values to the next one.
extern "C" __global__ void ring(int* data, int rounds) {
  __shared__ int buffer[2][256];
  cg::cluster_group cluster = cg::this_cluster();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int* next = cluster.map_shared_rank(&buffer[0][0], (cluster.block_rank() + 1) % cluster.num_blocks());
  int value = data[i];
  cluster.sync();
  for (int r = 0; r < rounds; ++r) {
    next[r % 2 * 256 + threadIdx.x] = value;
    cluster.sync();
    value = buffer[r % 2][threadIdx.x] + 1;
  }
  data[i] = value;
}

// A token goes round by plain waiting: every block spins on a word of its own shared memory, which the one before sets.
extern "C" __global__ void spin(int* out, int rounds) {
  __shared__ int token;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) token = 0;
  cluster.sync();
  const unsigned rank = cluster.block_rank(), blocks = cluster.num_blocks();
  if (threadIdx.x == 0) {
    volatile int* next = cluster.map_shared_rank(&token, (rank + 1) % blocks);
    for (int r = 1; r <= rounds; ++r) {
      if (rank != 0) while (*static_cast<volatile int*>(&token) < r) {}
      __threadfence();
      if (rank == 0 && r > 1) while (*static_cast<volatile int*>(&token) < r - 1) {}
      *next = r;
    }
    if (rank == 0) while (*static_cast<volatile int*>(&token) < rounds) {}
    out[blockIdx.x] = token;
  }
  cluster.sync();
}

// Blocks of odd rank leave at once; the others meet several times without them, and count at the lowest of them.
extern "C" __global__ void leave(int* out, int rounds) {
  __shared__ int count;
  cg::cluster_group cluster = cg::this_cluster();
  if (cluster.block_rank() % 2 == 1) return;
  if (threadIdx.x == 0) count = 0;
  cluster.sync();
  int* first = cluster.map_shared_rank(&count, 0);
  for (int r = 0; r < rounds; ++r) {
    atomicAdd(first, 1);
    cluster.sync();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = *first;
  cluster.sync();
}

struct Place {
  unsigned cluster[3], clusters[3], in_cluster[3], shape[3], rank, size, is_explicit, rank_of_variable;
};

// The answers about its cluster that each block gets.
extern "C" __global__ void where(Place* out) {
  __shared__ int word;
  if (threadIdx.x + threadIdx.y + threadIdx.z != 0) return;
  Place& p = out[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x];
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(p.cluster[0]));
  asm("mov.u32 %0, %%clusterid.y;" : "=r"(p.cluster[1]));
  asm("mov.u32 %0, %%clusterid.z;" : "=r"(p.cluster[2]));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(p.clusters[0]));
  asm("mov.u32 %0, %%nclusterid.y;" : "=r"(p.clusters[1]));
  asm("mov.u32 %0, %%nclusterid.z;" : "=r"(p.clusters[2]));
  asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(p.in_cluster[0]));
  asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(p.in_cluster[1]));
  asm("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(p.in_cluster[2]));
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(p.shape[0]));
  asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(p.shape[1]));
  asm("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(p.shape[2]));
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(p.rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(p.size));
  asm("{ .reg .pred %%p; mov.pred %%p, %%is_explicit_cluster; selp.u32 %0, 1, 0, %%p; }" : "=r"(p.is_explicit));
  p.rank_of_variable = cg::this_cluster().query_shared_rank(&word);
}

// What each block is told of its clusters at a level of nesting, in the order of raddle::ClusterValue.
extern "C" __global__ void ask(unsigned level, unsigned* out) {
  out += 13 * ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);
  for (unsigned value = 0; value < 13; ++value)
    if (threadIdx.x == value) out[value] = raddle::cluster_info(static_cast<raddle::ClusterValue>(value), level);
}

// The block of rank `from` touches a word of rank `to`, `offset` bytes into it; `exits`: when that block has exited.
extern "C" __global__ void touch(int from, int to, int offset, int exits, int* out) {
  __shared__ int words[16];
  cg::cluster_group cluster = cg::this_cluster();
  words[threadIdx.x % 16] = threadIdx.x;
  if (exits && cluster.block_rank() == to) return;
  cluster.sync();
  if (cluster.block_rank() == from && threadIdx.x == 5) {
    volatile char* there = reinterpret_cast<volatile char*>(cluster.map_shared_rank(&words[0], to));
    *out = *reinterpret_cast<volatile int*>(there + offset);
  }
  cluster.sync();
}

extern "C" __global__ void touch_atomically(int from, int to, int offset, int exits, int*) {
  __shared__ int words[16];
  cg::cluster_group cluster = cg::this_cluster();
  words[threadIdx.x % 16] = threadIdx.x;
  if (exits && cluster.block_rank() == to) return;
  cluster.sync();
  if (cluster.block_rank() == from && threadIdx.x == 5) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(there)
        : "r"(static_cast<unsigned>(__cvta_generic_to_shared(words))), "r"(to));
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::"r"(there + offset) : "memory");
  }
  cluster.sync();
}
