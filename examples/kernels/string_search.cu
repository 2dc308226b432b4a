// Finds every place where one of several patterns stands in a text. A thread per place; patterns lie one after
// another, pattern p from starts[p] to starts[p + 1]. At most 32 patterns.

/// found: [place] bit p is set where pattern p begins. counts: [pattern], cleared by the host.
extern "C" __global__ void string_search(const char* text, int length, const char* patterns, const int* starts,
                                         int pattern_count, unsigned* found, unsigned* counts) {
  __shared__ unsigned local[32];
  if (threadIdx.x < 32) local[threadIdx.x] = 0;
  __syncthreads();
  const int place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place < length) {
    unsigned bits = 0;
    for (int p = 0; p < pattern_count; ++p) {
      const int size = starts[p + 1] - starts[p];
      if (place + size > length) continue;
      int i = 0;
      while (i < size && text[place + i] == patterns[starts[p] + i]) ++i;
      if (i == size) bits |= 1u << p;
    }
    found[place] = bits;
    for (unsigned rest = bits; rest != 0; rest &= rest - 1) atomicAdd(&local[__ffs(rest) - 1], 1u);
  }
  __syncthreads();
  if (threadIdx.x < pattern_count) atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}
