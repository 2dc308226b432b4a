// Philox 4x32-10 (Salmon et al., SC 2011): random numbers from a counter. Draw number i of a stream is a function
// of i and a key, so threads need no state and the result does not depend on how many there are.

__device__ __forceinline__ uint4 philox(uint4 counter, uint2 key) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned low0 = 0xD2511F53u * counter.x, high0 = __umulhi(0xD2511F53u, counter.x);
    const unsigned low1 = 0xCD9E8D57u * counter.z, high1 = __umulhi(0xCD9E8D57u, counter.z);
    counter = make_uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
    key = make_uint2(key.x + 0x9E3779B9u, key.y + 0xBB67AE85u);
  }
  return counter;
}

/// out[i] from counters[i], keys[i].
extern "C" __global__ void philox_each(const uint4* counters, const uint2* keys, uint4* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = philox(counters[i], keys[i]);
}

/// The first n * 4 numbers of the stream of a seed.
extern "C" __global__ void philox_fill(uint4* out, int seed, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = philox(make_uint4(i, 0, 0, 0), make_uint2(seed, 0));
}

/// Throws 2 n darts at the unit square; hits: how many landed in the quarter circle. pi is about 2 * hits / n.
extern "C" __global__ void philox_pi(unsigned* hits, int seed, int n) {
  unsigned mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const uint4 words = philox(make_uint4(i, 0, 0, 1), make_uint2(seed, 0));
    const float x0 = (words.x >> 8) * 0x1p-24f, y0 = (words.y >> 8) * 0x1p-24f;
    const float x1 = (words.z >> 8) * 0x1p-24f, y1 = (words.w >> 8) * 0x1p-24f;
    mine += (x0 * x0 + y0 * y0 < 1.0f) + (x1 * x1 + y1 * y1 < 1.0f);
  }
  mine = __reduce_add_sync(0xffffffffu, mine);
  if (threadIdx.x % 32 == 0) atomicAdd(hits, mine);
}
