// Device functions: structs by value, recursion, indirect calls, calls in divergent code; printf, assert, trap, faults.
#include <cstdio>
#include <cassert>
struct Pair { int a; long long b; short c; };
__device__ __noinline__ Pair mix(Pair p, int k) {
  Pair r = {p.a * k, p.b - k, (short)(p.c + p.a)};
  if (k & 1) r.b += p.a;
  return r;
}
__device__ __noinline__ unsigned factorial(unsigned n) { unsigned r = n; return n < 2 ? 1 : r * factorial(n - 1); }
__device__ __noinline__ int fibonacci(int n) {
  if (n < 2) return n;
  return fibonacci(n - 1) + fibonacci(n - 2);
}
__device__ __noinline__ int ackermann(int m, int n) {
  int keep[2] = {m, n};
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  int inner = ackermann(m, n - 1);
  return ackermann(keep[0] - 1, inner) + (keep[1] - n);
}
extern "C" __global__ void structs(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Pair p = {in[i], in[i] * 1000000007ll, (short)i};
  if (in[i] & 1) p = mix(p, i);
  else if (in[i] & 2) p = mix(mix(p, 3), 2);
  out[i] = p.a; out[n + i] = (int)(p.b >> 7); out[2 * n + i] = p.c;
}
extern "C" __global__ void recursion(int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = i % 3 ? factorial(i % 13) : fibonacci(i % 11);
  out[n + i] = ackermann(i % 3, i % 4);
}
__device__ __noinline__ int f_add(int x, int y) { return x + y; }
__device__ __noinline__ int f_mul(int x, int y) { return x * y; }
__device__ __noinline__ int f_loop(int x, int y) { int r = 0; for (int k = 0; k < (y & 7); ++k) r += x ^ k; return r; }
__device__ __noinline__ int f_early(int x, int y) { if (x & 4) return -y; return fibonacci(x & 7) + y; }
typedef int (*Op)(int, int);
__device__ Op ops[4] = {f_add, f_mul, f_loop, f_early};
extern "C" __global__ void indirect(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int r = ops[in[i] & 3](in[i], i);
  if (i % 5 == 2) r += ops[i & 3](r, 9);
  out[i] = r;
}
__device__ __noinline__ void leave(int i, int* out) { if (i % 4 == 1) { out[i] = 77; asm volatile("exit;"); } out[i] = i; }
extern "C" __global__ void exits(int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i % 3) leave(i, out);
  else out[i] = -1;
  out[n + i] = i + 1;
}

extern "C" __global__ void prints(int x) {
  if (threadIdx.x == 0) {
    printf("int %d %5d|%-5d|%05d %u %x %X %o\n", -7, 42, 42, 42, 3000000000u, 255, 255, 8);
    printf("long %lld %llu %llx char %c string %s percent %%\n", -5000000000ll, 18446744073709551615ull, 0xabcdef0123ull, 'z', "text");
    printf("float %f %.3f %e %g %8.2f|\n", 1.5, 2.0 / 3, 12345.678, 0.0001, 3.14159);
    printf("star %*d %.*f none\n", 6, x, 2, 1.0);
  }
  __syncthreads();
  for (int k = 0; k < 3; ++k) if (threadIdx.x % 16 == 5) printf("t%d k%d\n", threadIdx.x, k);
}
extern "C" __global__ void asserts(int limit) { assert((int)threadIdx.x < limit && "small"); }
extern "C" __global__ void traps(int who) { if (threadIdx.x == who) asm volatile("trap;"); }
extern "C" __global__ void wild(int* p, unsigned long long address, int who) {
  p[threadIdx.x] = 1;
  if (threadIdx.x == who) *(volatile int*)address = 1;
}
extern "C" __global__ void deep(int* out) { out[0] = ackermann(3, 60 + threadIdx.x % 2); }
extern "C" __global__ void fine(int* p) { p[threadIdx.x] = threadIdx.x; }
