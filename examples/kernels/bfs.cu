// Breadth-first search, a launch per level. The frontier is a queue of vertices; a thread takes one, visits its
// neighbours, and appends those that nobody has reached to the next queue. The queue's places are reserved per
// warp: one atomic addition for all lanes that have something to append.

__device__ int reserve(int* count) {
  const unsigned lanes = __activemask();
  const int lane = threadIdx.x % 32, leader = __ffs(lanes) - 1;
  int first = 0;
  if (lane == leader) first = atomicAdd(count, __popc(lanes));
  return __shfl_sync(lanes, first, leader) + __popc(lanes & ((1u << lane) - 1));
}

/// distance: -1 where not reached. counts: [level] vertices in the queue of that level.
extern "C" __global__ void bfs_level(const int* starts, const int* neighbours, int* distance, const int* queue,
                                     int* next_queue, int* counts, int level) {
  const int count = counts[level];
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int vertex = queue[i];
    for (int edge = starts[vertex]; edge < starts[vertex + 1]; ++edge) {
      const int to = neighbours[edge];
      if (distance[to] == -1 && atomicCAS(&distance[to], -1, level + 1) == -1) {
        next_queue[reserve(&counts[level + 1])] = to;
      }
    }
  }
}
