// Fourier transforms of n complex numbers each, n a power of two from 4 to 4096: a block of n / 4 threads per
// transform, in shared memory, in place between barriers (Stockham: sorted without bit reversal). Radix 4, with one
// step of radix 2 at the start if log2 n is odd. Dynamic shared memory: n float2.

__device__ __forceinline__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ __forceinline__ float2 operator*(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
__device__ __forceinline__ float2 times_minus_i(float2 a) { return make_float2(a.y, -a.x); }

/// e^(-2 pi i k / n)
__device__ __forceinline__ float2 root(int k, int n) {
  float2 w;
  sincospif(-2.0f * k / n, &w.y, &w.x);
  return w;
}

/// Pairs at distance n / 2, the first step (all roots are 1): two pairs a thread.
__device__ void radix_2_step(float2* data, int n) {
  const int t = threadIdx.x, half = n / 2, quarter = n / 4;
  const float2 a = data[t], b = data[t + half], c = data[t + quarter], d = data[t + quarter + half];
  __syncthreads();
  data[2 * t] = a + b;
  data[2 * t + 1] = a - b;
  data[2 * (t + quarter)] = c + d;
  data[2 * (t + quarter) + 1] = c - d;
  __syncthreads();
}

/// Joins four transforms of `size` into one of 4 * size.
__device__ void radix_4_step(float2* data, int n, int size) {
  const int t = threadIdx.x, quarter = n / 4, k = t & (size - 1);
  const float2 w = root(k, 4 * size), w2 = w * w;
  const float2 a = data[t], b = w * data[t + quarter], c = w2 * data[t + 2 * quarter], d = w2 * w * data[t + 3 * quarter];
  const float2 even = a + c, odd = b + d, even_difference = a - c, odd_difference = times_minus_i(b - d);
  const int to = (t - k) * 4 + k;
  __syncthreads();
  data[to] = even + odd;
  data[to + size] = even_difference + odd_difference;
  data[to + 2 * size] = even - odd;
  data[to + 3 * size] = even_difference - odd_difference;
  __syncthreads();
}

extern "C" __global__ void fft(const float2* in, float2* out, int n) {
  extern __shared__ float2 data[];
  in += static_cast<size_t>(blockIdx.x) * n;
  out += static_cast<size_t>(blockIdx.x) * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = in[i];
  __syncthreads();
  int size = 1;
  if (__popc(n - 1) % 2 == 1) {
    radix_2_step(data, n);
    size = 2;
  }
  for (; size < n; size *= 4) radix_4_step(data, n, size);
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = data[i];
}
