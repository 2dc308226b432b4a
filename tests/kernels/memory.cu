// Memory accesses: block shapes, wrap-around, strides and permutations, narrow types, every space.
struct Odd { char c; short s; int i; double d; };
extern "C" __global__ void coordinates(unsigned* out) {
  unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  unsigned i = block * (blockDim.x * blockDim.y * blockDim.z) + thread, lane, warp;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
  out[2 * i] = threadIdx.x | threadIdx.y << 10 | threadIdx.z << 20;
  out[2 * i + 1] = lane | warp << 5 | blockIdx.x << 10 | blockIdx.y << 16 | blockIdx.z << 22;
}

// A tile read with coordinates of the block, transposed through shared memory of a shape that fits no vector.
extern "C" __global__ void tile(const int* in, int* out, int pitch) {
  extern __shared__ int shared[];
  int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z, w = blockDim.x, h = blockDim.y;
  shared[(z * w + x) * h + y] = in[(z * h + y) * pitch + x];
  __syncthreads();
  int t = (z * h + y) * w + x, all = w * h * blockDim.z;
  out[t] = shared[t] + 1000 * shared[all - 1 - t];
}

extern "C" __global__ void wrap_unsigned(const int* in, int* out, unsigned n) {
  unsigned i = threadIdx.x - 5u;  // wraps within the first warp
  if (i < n) out[i] = in[i] * 3;
  unsigned j = blockDim.x - 7u - threadIdx.x;  // and in the last one, downwards
  if (j < n) out[n + j] = in[j] + 1;
}
extern "C" __global__ void wrap_signed(const int* in, int* out, unsigned start, const int* far) {
  // Unsigned arithmetic passes 2^31 within a warp: as a signed index it jumps to the other end.
  int i = (int)(start + threadIdx.x);
  const int* p = i < 0 ? far + (i + 2147483647 + 1) : in + (i - 2147483600);
  out[threadIdx.x] = *p;
}
// Index computed in 32 bits that wraps to small values: (tid * 2^30) >> ... must read the wrapped place.
extern "C" __global__ void wrap_product(const int* in, int* out) {
  unsigned t = threadIdx.x;
  out[t] = in[(t * 0x40000001u) & 0xffu] + in[(t * 0x08000000u) >> 27] + in[(t + 0xfffffff0u) % 64u];
}

extern "C" __global__ void patterns(const int* in, int* out, int n) {
  unsigned t = threadIdx.x, b = blockDim.x;
  if (t >= n) return;
  int r = in[2 * t] + 3 * in[3 * t + 1] + 5 * in[b - 1 - t] + 7 * in[t ^ 1] + 11 * in[t ^ 21];
  r += 13 * in[t & 15] + 17 * in[t >> 4] + 19 * in[(t & 15) * 16 + (t >> 4)] + 23 * in[t & 30] + 29 * in[t * 17];
  out[t] = r;
  out[n + 2 * (t ^ 1)] = r;
  out[n + 1 + 2 * (b - 1 - t)] = -r;
}
extern "C" __global__ void patterns_shared(const int* in, int* out, int n) {
  __shared__ int s[2048];
  unsigned t = threadIdx.x, b = blockDim.x;
  for (unsigned k = t; k < 2048; k += b) s[k] = in[k];
  __syncthreads();
  int r = 0;
  if (t < n) {
    r = s[2 * t] + 3 * s[3 * t + 1] + 5 * s[b - 1 - t] + 7 * s[t ^ 1] + 11 * s[t ^ 21];
    r += 13 * s[t & 15] + 17 * s[t >> 4] + 19 * s[(t & 15) * 16 + (t >> 4)] + 23 * s[t & 30] + 29 * s[t * 17 & 2047];
  }
  __syncthreads();
  if (t < n) { s[2 * (t ^ 1)] = r; s[2 * (b - 1 - t) + 1] = -r; }
  __syncthreads();
  if (t < n) { out[t] = r; out[n + 2 * (t ^ 1)] = s[2 * (t ^ 1)]; out[n + 1 + 2 * (b - 1 - t)] = s[2 * (b - 1 - t) + 1]; }
}
extern "C" __global__ void vectors(const float2* a, const float4* b, float4* out, float2* out2, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || i % 7 == 3) return;
  float2 x = a[i], y = a[n - 1 - i];
  float4 z = b[i], w = b[i ^ 1];
  out[i] = make_float4(x.x + z.w, x.y + z.x, y.x + w.y, y.y + w.z);
  out2[n - 1 - i] = make_float2(z.y, w.x);
}
extern "C" __global__ void narrow(const signed char* a, const unsigned char* b, const short* c, const unsigned short* d,
                                  signed char* oa, unsigned short* od, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int sum = a[i] + b[n - 1 - i] * 2 + c[i] * 3 + d[(i * 37) % n];
  if (sum & 1) oa[i] = sum;
  od[(i * 5) % n] = sum >> 2;
  if (i % 3) oa[n + 3 * i] = sum >> 8;
}
extern "C" __global__ void odd_structs(const Odd* in, Odd* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Odd o = in[i];
  o.c += 1; o.s = o.s * 2; o.i ^= i; o.d = o.d * 0.5;
  out[n - 1 - i] = o;
}

__device__ __noinline__ int sum_through(const int* p, int n) {  // p is generic: local, shared or global
  int s = 0;
  for (int k = 0; k < n; ++k) s = s * 3 + p[k];
  return s;
}
extern "C" __global__ void local_arrays(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int a[16];
  for (int k = 0; k < 16; ++k) a[k] = in[(i + k) % n];
  for (int k = 0; k < 16; ++k) { int j = a[k] & 15, t = a[j]; a[j] = a[k] + k; a[k] = t; }
  char bytes[8];
  for (int k = 0; k < 8; ++k) bytes[(k * 3 + i) & 7] = a[k];
  out[i] = sum_through(a, 16) + bytes[i & 7];
}
extern "C" __global__ void generic_pointers(const int* in, int* out, int n) {
  __shared__ int s[64];
  int i = threadIdx.x, l[4] = {i, i + 1, i + 2, i * i};
  s[i] = in[i] * 2;
  __syncthreads();
  const int* p = i % 3 == 0 ? l : i % 3 == 1 ? s + (i & 48) : in + i;
  int where = __isShared(p) ? 1 : __isLocal(p) ? 2 : __isGlobal(p) ? 3 : 4;
  out[i] = sum_through(p, 4);
  out[n + i] = where;
}

__constant__ int table[64];
__constant__ short weights[5] = {1, -2, 3, -4, 5};
__device__ int values[4] = {11, 22, 33, 44};
__device__ int* pointers[3] = {values + 2, values, values + 3};
__device__ const char* text = "raddle";
extern "C" __global__ void constants(int* out, int n) {
  int i = threadIdx.x;
  int r = table[i & 63] + table[7] * weights[i % 5] + *pointers[i % 3] + text[i % 7];
  for (int k = 0; k < 5; ++k) r += table[(i + k) & 63] * weights[k];
  out[i] = r;
}
extern "C" __global__ void dynamic_shared(int* out, int words) {
  extern __shared__ int pool[];
  for (int k = threadIdx.x; k < words; k += blockDim.x) pool[k] = k * 7 + blockIdx.x;
  __syncthreads();
  long long sum = 0;
  for (int k = threadIdx.x; k < words; k += blockDim.x) sum += pool[words - 1 - k] ^ k;
  atomicAdd(out + blockIdx.x, (int)sum);
}
