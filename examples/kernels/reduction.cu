// Sum of n floats: a grid-stride loop per thread, then warp shuffles, then one value per warp
// through shared memory. Each block leaves one partial sum; a second launch of one block adds those.

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

extern "C" __global__ void reduce_sum(const float* in, float* partial, int n) {
  __shared__ float warp_sums[32];
  float sum = 0.0f;
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) sum += in[i];
  sum = warp_sum(sum);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) warp_sums[warp] = sum;
  __syncthreads();
  if (warp != 0) return;
  const int warps = blockDim.x / 32;
  sum = warp_sum(lane < warps ? warp_sums[lane] : 0.0f);
  if (lane == 0) partial[blockIdx.x] = sum;
}
