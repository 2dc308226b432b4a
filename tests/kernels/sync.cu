// Synchronisation: locks, producers and consumers, barriers of every kind, warp exchanges, atomics.
#define FULL 0xffffffffu
extern "C" __global__ void lock(int* mutex, int* plain, int rounds) {
  for (int k = 0; k < rounds; ++k) {
    bool done = false;
    while (!done) {
      if (atomicCAS(mutex, 0, 1) == 0) {
        __threadfence();
        *(volatile int*)plain = *(volatile int*)plain + 1;
        __threadfence();
        atomicExch(mutex, 0);
        done = true;
      }
    }
  }
}
extern "C" __global__ void lock_simple(int* mutex, int* plain) {  // the naive form: the spin alone in its loop
  while (atomicCAS(mutex, 0, 1) != 0) {}
  __threadfence();
  *(volatile int*)plain = *(volatile int*)plain + 1;
  __threadfence();
  atomicExch(mutex, 0);
}
// Lane l waits for lane l + 1 of the block's next thread: a chain through all threads, downwards.
extern "C" __global__ void chain(volatile int* flag, int* out) {
  int t = threadIdx.x, last = blockDim.x - 1;
  if (t != last) while (flag[t + 1] == 0) {}
  __threadfence();
  out[t] = t == last ? 1 : ((volatile int*)out)[t + 1] + 1;
  __threadfence();
  flag[t] = 1;
}
// Block b waits for block b - 1.
extern "C" __global__ void relay(volatile int* ready, int* out) {
  __shared__ int received;
  if (threadIdx.x == 0) {
    if (blockIdx.x > 0) while (ready[blockIdx.x - 1] == 0) {}
    __threadfence();
    received = blockIdx.x > 0 ? ((volatile int*)out)[blockIdx.x - 1] : 0;
    out[blockIdx.x] = received + blockIdx.x;
    __threadfence();
    ready[blockIdx.x] = 1;
  }
}
extern "C" __global__ void barrier_loop(const int* in, int* out, int rounds) {
  extern __shared__ int a[];
  int t = threadIdx.x, n = blockDim.x;
  a[t] = in[t];
  __syncthreads();
  for (int k = 0; k < rounds; ++k) {
    int v = a[(t + k + 1) % n];
    __syncthreads();
    if (k & 1) { a[t] += v; __syncthreads(); }
    else { a[n - 1 - t] = v ^ k; __syncthreads(); }
  }
  out[t] = a[t];
}
extern "C" __global__ void barrier_exits(int* out) {  // some warps and some lanes leave before the barriers
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = 1;
  if ((t & 64) && t < 128) return;
  if (t % 5 == 2) { out[t] = -1; return; }
  __syncthreads();
  s[t] = t;
  __syncthreads();
  out[t] = s[t ^ 128] + 1000 * s[(t + 1) & 255];
}
extern "C" __global__ void barrier_reduce(const int* in, int* out) {
  int t = threadIdx.x, v = in[t];
  int c = __syncthreads_count(v & 1), a = __syncthreads_and(v > 10), o = __syncthreads_or(v == 50);
  if (t < 3) return;
  int d = __syncthreads_count(v & 2);
  out[t] = c + 1000 * a + 2000 * o + 10000 * d;
}
// Warps 0 and 1 produce, 2 and 3 consume: bar.arrive and bar.sync on two named barriers.
extern "C" __global__ void pipeline(const int* in, int* out, int rounds) {
  __shared__ int slot[64];
  int t = threadIdx.x;
  if (t < 64) {
    for (int k = 0; k < rounds; ++k) {
      if (k) asm volatile("bar.sync 2, 128;" ::: "memory");
      slot[t] = in[k * 64 + t] * 2;
      asm volatile("bar.arrive 1, 128;" ::: "memory");
    }
  } else {
    for (int k = 0; k < rounds; ++k) {
      asm volatile("bar.sync 1, 128;" ::: "memory");
      out[k * 64 + (t - 64)] = slot[(t - 64) ^ 33] + 1;
      if (k + 1 < rounds) asm volatile("bar.arrive 2, 128;" ::: "memory");
    }
  }
}
extern "C" __global__ void named(int* out) {  // each pair of warps has its own barrier
  __shared__ int s[256];
  int t = threadIdx.x, pair = t / 64;
  for (int k = 0; k < 2 + pair * 3; ++k) {
    s[t] = t * 10 + k;
    asm volatile("bar.sync %0, 64;" ::"r"(pair + 3) : "memory");
    out[t] = s[t ^ 32];
    asm volatile("bar.sync %0, 64;" ::"r"(pair + 3) : "memory");
  }
}
extern "C" __global__ void warp_sync(int* out) {  // the two halves meet at different instructions
  __shared__ volatile int s[64];
  int t = threadIdx.x, r;
  if (t & 1) { s[t] = t * 3; __syncwarp(); r = s[t ^ 1]; __syncwarp(); s[t] = r + 1; __syncwarp(); r += s[t ^ 1]; }
  else { s[t] = t * 5; __syncwarp(); r = s[t ^ 1] * 2; __syncwarp(); s[t] = r + 2; __syncwarp(); r -= s[t ^ 1]; }
  out[t] = r;
}
extern "C" __global__ void warp_exchange(const int* in, int* out, int n) {
  int t = threadIdx.x, l = t & 31, v = in[t], r = 0;
  r += __shfl_xor_sync(FULL, v, 5) + 3 * __shfl_up_sync(FULL, v, 3) + 5 * __shfl_down_sync(FULL, v, 7, 16);
  r += 7 * __shfl_sync(FULL, v, v & 31) + 11 * __popc(__ballot_sync(FULL, v & 4));
  unsigned m = __ballot_sync(FULL, v & 1);
  if (v & 1) {
    r += __shfl_sync(m, v, __ffs(m) - 1) + __popc(__ballot_sync(m, v & 2)) + (__all_sync(m, v & 8) ? 100 : 0) + (__any_sync(m, v & 16) ? 200 : 0);
    out[n + t] = __popc(__activemask() & ~m);
  } else {
    r -= __reduce_add_sync(~m, l) + __popc(__match_any_sync(~m, v & 6)) * 13;
    out[n + t] = -1;
  }
  out[t] = r;
}
extern "C" __global__ void atomics(const int* in, int* g, int* out, int n) {
  __shared__ int s[8];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < 8) s[threadIdx.x] = threadIdx.x == 1 ? 1 << 30 : 0;
  __syncthreads();
  if (i < n) {
    int v = in[i] & 0xffff;
    atomicAdd(s, v); atomicMin(s + 1, v); atomicMax(s + 2, v); atomicXor(s + 3, v); atomicOr(s + 4, v);
    if (v & 1) out[i] = atomicAdd(s + 5, 1); else out[i] = -1;
    atomicAdd((float*)g + 8, 1.0f);
    atomicAdd((unsigned long long*)(g + 10), 0x100000001ull * v);
    atomicInc((unsigned*)g + 12, 6);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(g, s[0]); atomicMin(g + 1, s[1]); atomicMax(g + 2, s[2]); atomicXor(g + 3, s[3]); atomicOr(g + 4, s[4]); atomicAdd(g + 5, s[5]);
  }
}
extern "C" __global__ void count_blocks(int* counter, unsigned long long* sum) {
  if (threadIdx.x == 0) { atomicAdd(counter, 1); if ((blockIdx.x & 1023) == 0) atomicAdd(sum, blockIdx.x); }
}
extern "C" __global__ void until_told(volatile int* flag, int* out) {
  int turns = 0;
  while (*flag == 0) ++turns;
  out[blockIdx.x * blockDim.x + threadIdx.x] = *flag + (turns < 0);
}
// Lanes meet at the same exchange in two branches; `width` 16 gives each half of the warp a mask of its own.
extern "C" __global__ void warp_meet(const int* in, int* out, int width) {
  int t = threadIdx.x, l = t & 31, v = in[t], r = 0;
  unsigned mask = width == 16 ? 0xffffu << (l & 16) : FULL;
#pragma unroll 1
  for (int k = 0; k < 3; ++k) {
    if (v & 1) {
      r += __shfl_xor_sync(mask, v + k, 1 + k) * 3;
      r += __popc(__ballot_sync(mask, v & (4 << k))) * 1000;
      r ^= 77;
      r += __reduce_add_sync(mask, v & 255);
      r += __popc(__match_any_sync(mask, v & 6));
      __syncwarp(mask);
    } else {
      r -= __shfl_xor_sync(mask, v * 2 + k, 1 + k);
      if (__ballot_sync(mask, v & 2) & 1) r += 5000;
      r *= 3;
      r -= __reduce_add_sync(mask, l);
      r ^= __popc(__match_any_sync(mask, v & 2)) << 3;
      __syncwarp(mask);
    }
    v = v * 5 + k;
  }
  out[t] = r;
}
// Half of a warp at a block barrier on one path, half on another, and reductions likewise.
extern "C" __global__ void barrier_meet(int* out, int rounds) {
  __shared__ int s[128];
  int t = threadIdx.x, n = blockDim.x, r = 0;
#pragma unroll 1
  for (int k = 0; k < rounds; ++k) {
    s[t] = t + k;
    if ((t + k) & 1) {
      asm volatile("barrier.sync 0;" ::: "memory");
      r += 3 * s[n - 1 - t];
      asm volatile("barrier.sync 0;" ::: "memory");
    } else {
      asm volatile("barrier.sync 0;" ::: "memory");
      r -= s[n - 1 - t];
      r ^= 5;
      asm volatile("barrier.sync 0;" ::: "memory");
    }
    int count;
    if (t % 3 == 0) asm volatile("{.reg .pred p; setp.lt.s32 p, %1, 40; barrier.red.popc.u32 %0, 0, p;}" : "=r"(count) : "r"(t) : "memory");
    else asm volatile("{.reg .pred p; setp.gt.s32 p, %1, 60; barrier.red.popc.u32 %0, 0, p;}" : "=r"(count) : "r"(t) : "memory");
    r += count * 1000;
  }
  out[t] = r;
}
// Even lanes of two warps meet at one barrier, odd lanes at another, unequally often.
extern "C" __global__ void barrier_lanes(int* out) {
  __shared__ volatile int s[64];
  int t = threadIdx.x, r = 0;
  if (t & 1) {
#pragma unroll 1
    for (int k = 0; k < 5; ++k) {
      s[t] = t + k;
      asm volatile("barrier.sync 1, 32;" ::: "memory");
      r += s[t ^ 32];
      asm volatile("barrier.sync 1, 32;" ::: "memory");
    }
  } else {
#pragma unroll 1
    for (int k = 0; k < 9; ++k) {
      s[t] = t - k;
      asm volatile("barrier.sync 2, 32;" ::: "memory");
      r -= s[t ^ 32];
      asm volatile("barrier.sync 2, 32;" ::: "memory");
    }
  }
  asm volatile("barrier.sync 0;" ::: "memory");  // a warp with exited lanes would count as whole
  out[t] = r;
}
