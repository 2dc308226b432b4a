// Heat along rods, a rod per cluster: each block keeps its part in shared memory, and before each step sends the temperatures of its
// ends to its neighbours by st.async, which count the bytes on their mbarriers.
#include "async.cuh"

/// Sends a value to the shared memory of another block of the cluster.
__device__ void send(float value, const float* to, const Mbarrier* barrier, unsigned rank) {
  unsigned there, barrier_there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(to)), "r"(rank));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(barrier_there) : "r"(shared_address(barrier)), "r"(rank));
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(there), "f"(value),
               "r"(barrier_there)
               : "memory");
}

/// A block has a cell per thread; the ends of the rod keep what lies beyond them at 0.
extern "C" __global__ void halo_exchange(const float* in, float* out, int steps) {
  __shared__ float cells[2][1024 + 2];  // with one of each neighbour; those of even and of odd steps
  __shared__ Mbarrier arrived[2];       // what neighbours send before even and before odd steps
  const unsigned rank = cluster_rank(), last_rank = cluster_size() - 1;
  const int me = threadIdx.x + 1, last = blockDim.x;
  const unsigned bytes = ((rank > 0) + (rank < last_rank)) * sizeof(float);
  cells[0][me] = in[blockIdx.x * blockDim.x + threadIdx.x];
  if (threadIdx.x == 0) {
    for (int k = 0; k < 2; ++k) {
      init(&arrived[k], 1);
      cells[k][0] = cells[k][last + 1] = 0;
    }
  }
  sync_cluster();
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    float* const now = cells[step % 2];
    Mbarrier* const here = &arrived[step % 2];
    if (me == 1) arrive_expecting(here, bytes);
    if (me == 1 && rank > 0) send(now[me], &now[last + 1], here, rank - 1);
    if (me == last && rank < last_rank) send(now[me], &now[0], here, rank + 1);
    wait(here, step / 2 % 2);
    cells[(step + 1) % 2][me] = now[me] + 0.25f * (now[me - 1] - 2 * now[me] + now[me + 1]);
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = cells[steps % 2][me];
  sync_cluster();  // nobody sends to a block that has gone
}
