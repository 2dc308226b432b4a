// Mutual exclusion: a ticket lock, a lock per bucket that every lane of a warp takes for itself, and the naive spin
// within a warp, which ends only where lanes are scheduled independently.
struct TicketLock {
  unsigned next, serving;
};
__device__ void lock(TicketLock* lock) {
  const unsigned mine = atomicAdd(&lock->next, 1u);
  while (*static_cast<volatile unsigned*>(&lock->serving) != mine) __nanosleep(10);
  __threadfence();
}
__device__ void unlock(TicketLock* lock) {
  __threadfence();
  atomicAdd(&lock->serving, 1u);
}
/// Inside the lock: order[k] is the k-th thread to enter; the sum is kept by plain loads and stores.
extern "C" __global__ void tickets(TicketLock* guard, volatile int* count, volatile long long* sum, int* order) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  lock(guard);
  const int at = *count;
  order[at] = i;
  *count = at + 1;
  *sum = *sum + static_cast<long long>(i) * at;
  unlock(guard);
}

/// A hash table of chains, a lock per bucket: heads[b] is the first item of bucket b, links[i] what follows item i.
extern "C" __global__ void insert(int* locks, volatile int* heads, int* links, const unsigned* keys, int buckets,
                                  int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int bucket = keys[i] % buckets;
  bool done = false;
  while (!done) {  // the usual form for GPUs without independent lanes: the critical section is in the loop
    if (atomicCAS(&locks[bucket], 0, 1) == 0) {
      links[i] = heads[bucket];
      heads[bucket] = i;
      __threadfence();
      atomicExch(&locks[bucket], 0);
      done = true;
    }
  }
}

/// The lanes of a warp add to their account under its lock; the lock is taken in a loop of its own.
extern "C" __global__ void naive(int* locks, volatile int* accounts, int count, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < rounds; ++round) {
    const int account = (i / 2 + round * 7) % count;
    while (atomicCAS(&locks[account], 0, 1) != 0) {
    }
    __threadfence();
    accounts[account] = accounts[account] + i + round;
    __threadfence();
    atomicExch(&locks[account], 0);
  }
}
