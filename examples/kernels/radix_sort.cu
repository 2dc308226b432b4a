// Sorts pairs of 32-bit keys and values, stably, 8 bits a pass ("onesweep"): one kernel counts the digits of all
// four passes, one turns the counts into starts, then each pass reads its input once. In a pass a block takes the
// next tile by ticket, ranks its keys in shared memory, and learns where its digits go by looking back at the
// tiles before it, one digit per thread, spinning on those that have published nothing yet.
// Blocks have 256 threads or more, in whole warps; a tile has kItems keys per thread.

constexpr int kDigits = 256, kPasses = 4, kMaxWarps = 32, kItems = 16;
constexpr unsigned kEmpty = 0u, kCount = 1u << 30, kPrefix = 2u << 30, kValue = kCount - 1;  // n < 2^30

__device__ __forceinline__ unsigned digit_of(unsigned key, int pass) { return key >> (8 * pass) & 255u; }

/// counts: [pass][digit], cleared by the host.
extern "C" __global__ void radix_count(const unsigned* keys, unsigned* counts, int n) {
  __shared__ unsigned local[kPasses * kDigits];
  for (int i = threadIdx.x; i < kPasses * kDigits; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) atomicAdd(&local[pass * kDigits + digit_of(keys[i], pass)], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kPasses * kDigits; i += blockDim.x) atomicAdd(&counts[i], local[i]);
}

/// Exclusive prefix sums of each pass's counts, in place: one block of kDigits threads per pass.
extern "C" __global__ void radix_starts(unsigned* counts) {
  __shared__ unsigned sums[kDigits];
  const int digit = threadIdx.x;
  const unsigned mine = counts[blockIdx.x * kDigits + digit];
  sums[digit] = mine;
  for (int step = 1; step < kDigits; step *= 2) {
    __syncthreads();
    const unsigned below = digit >= step ? sums[digit - step] : 0;
    __syncthreads();
    sums[digit] += below;
  }
  counts[blockIdx.x * kDigits + digit] = sums[digit] - mine;
}

/// Keys of this digit in all tiles before `tile`.
__device__ unsigned look_back(volatile unsigned* published, int tile, int digit) {
  unsigned before = 0;
  while (--tile >= 0) {
    unsigned word;
    do {
      word = published[tile * kDigits + digit];
    } while (word == kEmpty);
    before += word & kValue;
    if (word & kPrefix) break;
  }
  return before;
}

/// starts: of this pass, from radix_starts. published: [tile][digit] and ticket: cleared by the host, per pass.
extern "C" __global__ void radix_pass(const unsigned* keys, const unsigned* values, unsigned* keys_out,
                                      unsigned* values_out, const unsigned* starts, unsigned* published,
                                      unsigned* ticket, int pass, int n) {
  // Of each warp, then where the warp's digits go. The last is of keys behind the end, which have no digit.
  __shared__ unsigned counts[kMaxWarps][kDigits + 1];
  __shared__ int shared_tile;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  if (threadIdx.x == 0) shared_tile = atomicAdd(ticket, 1u);
  for (int i = threadIdx.x; i < warps * (kDigits + 1); i += blockDim.x) (&counts[0][0])[i] = 0;
  __syncthreads();
  const int tile = shared_tile, first = (tile * blockDim.x + warp * 32) * kItems + lane;

  unsigned key[kItems], rank[kItems];  // rank: among the warp's keys of the same digit
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int i = first + 32 * k;
    key[k] = i < n ? keys[i] : 0;
    const unsigned digit = i < n ? digit_of(key[k], pass) : kDigits;
    const unsigned same = __match_any_sync(0xffffffffu, digit), before = __popc(same & ((1u << lane) - 1));
    const unsigned counted = counts[warp][digit];
    rank[k] = counted + before;
    __syncwarp();
    if (before == 0) counts[warp][digit] = counted + __popc(same);
    __syncwarp();
  }
  __syncthreads();

  if (threadIdx.x < kDigits) {
    const int digit = threadIdx.x;
    unsigned total = 0;
    for (int w = 0; w < warps; ++w) total += counts[w][digit];
    volatile unsigned* words = published;
    words[tile * kDigits + digit] = (tile == 0 ? kPrefix : kCount) | total;
    const unsigned before = look_back(words, tile, digit);
    if (tile != 0) words[tile * kDigits + digit] = kPrefix | (before + total);
    unsigned to = starts[digit] + before;
    for (int w = 0; w < warps; ++w) {
      const unsigned count = counts[w][digit];
      counts[w][digit] = to;
      to += count;
    }
  }
  __syncthreads();
  // All keys before the values, so that the lines that the block writes to stay in the nearest cache.
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    if (first + 32 * k >= n) continue;
    rank[k] += counts[warp][digit_of(key[k], pass)];  // now: where it goes
    keys_out[rank[k]] = key[k];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int i = first + 32 * k;
    if (i < n) values_out[rank[k]] = values[i];
  }
}
