// 256-bin histogram of bytes: each block counts in shared memory with atomics, then adds its bins
// to the global ones. A thread reads four bytes at a time; n counts those 32-bit words.
extern "C" __global__ void histogram(const unsigned* words, unsigned* bins, int n) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    const unsigned word = words[i];
    atomicAdd(&local[word & 255], 1u);
    atomicAdd(&local[word >> 8 & 255], 1u);
    atomicAdd(&local[word >> 16 & 255], 1u);
    atomicAdd(&local[word >> 24], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}
