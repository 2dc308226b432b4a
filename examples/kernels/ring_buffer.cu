// Producers and consumers: half of the blocks make items, half take them, through a ring of slots in global memory.
// A slot's turn says whose it is: turn 2k: to be filled for the k-th time, 2k + 1: to be emptied. Places are handed
// out by tickets, so any number of blocks on each side works; a block that waits holds no lock.
// Progress needs only that blocks which have started go on, not that all of the grid is resident at once.

struct Slot {
  unsigned turn, item;
};

__device__ void wait_for_turn(const unsigned* turn, unsigned mine) {
  while (*static_cast<const volatile unsigned*>(turn) != mine) __nanosleep(20);
  __threadfence();
}

__device__ void pass_turn(unsigned* turn) {
  __threadfence();
  atomicAdd(turn, 1u);
}

/// tickets: two, cleared by the host as the slots are. sum: of f(item) over all items, in 64 bits.
/// Even blocks produce, odd ones consume; a block's first thread does the hand-over, the others the work.
extern "C" __global__ void ring_buffer(Slot* slots, int slot_count, unsigned* tickets, int items,
                                       unsigned long long* sum) {
  __shared__ unsigned item;
  const bool produces = blockIdx.x % 2 == 0;
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) item = atomicAdd(&tickets[produces ? 0 : 1], 1u);
    __syncthreads();
    const unsigned ticket = item;
    if (ticket >= items) return;
    Slot* slot = &slots[ticket % slot_count];
    const unsigned round = ticket / slot_count;
    __syncthreads();
    if (threadIdx.x == 0) {
      wait_for_turn(&slot->turn, 2 * round + (produces ? 0 : 1));
      if (produces) slot->item = ticket * 2654435761u;
      else item = slot->item;
      pass_turn(&slot->turn);
    }
    __syncthreads();
    if (!produces) atomicAdd(sum, static_cast<unsigned long long>(item ^ threadIdx.x));
  }
}
