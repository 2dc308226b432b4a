// Control flow: divergence of every kind, with results that depend on the path that each thread took.
#define GLOBAL_ID (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void nested_if(const int* in, int* out, int n) {
  int i = GLOBAL_ID;
  if (i >= n) return;
  int v = in[i], r = 0;
  if (v & 1) {
    if (v & 2) {
      r = v * 3;
      if (v & 4) out[n + i] = r;
    } else {
      out[n + i] = v + 1;
      r = v - 7;
    }
    out[2 * n + i] = r + 5;
  } else if (v & 8) {
    if (i % 3 == 0) { out[n + i] = 100 - v; r = 1; }
    else out[2 * n + i] = 200 - v;
  }
  out[i] = r;
}

// Trip counts differ; break, continue and return inside; the counter is read after the loop.
extern "C" __global__ void loops(const int* in, int* out, int n) {
  int i = GLOBAL_ID;
  if (i >= n) return;
  int v = in[i] & 63, sum = 0, k;
#pragma unroll 1
  for (k = 0; k < 100; ++k) {
    if (((k * 7 + v) & 15) == 3) continue;
    if (k > v) break;
    sum += k ^ v;
    if (sum > 1500) {
      out[i] = -sum;
      out[n + i] = k;
      return;
    }
#pragma unroll 1
    for (int j = k & 3; j < (v & 7); ++j) {
      if (sum & 64) { sum += 3; break; }
      sum += j;
    }
  }
  out[i] = sum;
  out[n + i] = k + 1000;
}

// Temporal divergence: k is equal in all lanes inside the loop, but not after it; it is used as address and as branch.
extern "C" __global__ void temporal(const int* in, const int* table, int* out, int n) {
  int i = GLOBAL_ID;
  if (i >= n) return;
  int limit = in[i] & 31, k = 0, last = 0;
#pragma unroll 1
  while (true) {
    last = table[k];
    if (last % 32 >= limit || k == 63) break;
    ++k;
  }
  int r = table[k] + last;
  if (k & 1) r += table[64 + k];
  out[i] = r;
  out[n + i] = k;
}

// Collatz steps with an inner loop that only some rounds enter.
extern "C" __global__ void collatz(int* out, int n) {
  int i = GLOBAL_ID;
  if (i >= n) return;
  unsigned v = i + 1, steps = 0;
#pragma unroll 1
  while (v != 1) {
    if (v & 1) { v = 3 * v + 1; ++steps; }
#pragma unroll 1
    while (!(v & 1)) { v >>= 1; ++steps; }
  }
  out[i] = steps;
}

// A state machine: one switch in a loop, lanes in different states.
extern "C" __global__ void machine(const int* in, int* out, int n) {
  int i = GLOBAL_ID;
  if (i >= n) return;
  unsigned v = in[i], state = v % 7, trace = 0;
#pragma unroll 1
  for (int step = 0; step < 40; ++step) {
    switch (state) {
      case 0: trace = trace * 3 + 1; state = (v >> 3) % 7; break;
      case 1: trace ^= 0x55; state = 4; break;
      case 2: v = v * 1103515245u + 12345u; state = v >> 29; break;
      case 3: trace += v; state = (trace & 1) ? 2 : 5; break;
      case 4: trace = trace << 1 | trace >> 31; state = 2; break;
      case 5: if (trace & 2) { out[i] = trace; return; } trace += 9; state = 0; break;
      case 6: trace -= v; state = 3; break;
      default: v ^= 0x1234567; trace += 11; state = 6;
    }
  }
  out[i] = trace ^ 0x80000000u;
}

extern "C" __global__ void guarded_stores(const int* in, int* out, int n, int uniform) {
  int i = GLOBAL_ID;
  if (i >= n) return;
  int v = in[i];
  int a = uniform > 3 ? v : -v;
  if (uniform > 5) a += 10;
  if (v > 0) a *= 2;
  if (v > 0 && uniform == 4) out[n + i] = a;
  out[i] = a;
}
