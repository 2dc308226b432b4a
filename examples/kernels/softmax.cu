// Softmax of each row of a matrix, one block per row, in half and in bf16: values are converted to
// float, maximum and sum go through warp shuffles and shared memory, results are rounded back.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ __forceinline__ float load(const __half* p) { return __half2float(*p); }
__device__ __forceinline__ float load(const __nv_bfloat16* p) { return __bfloat162float(*p); }
__device__ __forceinline__ void store(__half* p, float value) { *p = __float2half_rn(value); }
__device__ __forceinline__ void store(__nv_bfloat16* p, float value) { *p = __float2bfloat16_rn(value); }

struct Maximum {
  static constexpr float kIdentity = -3.402823466e38f;
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
  static constexpr float kIdentity = 0.0f;
  __device__ float operator()(float a, float b) const { return a + b; }
};

template <typename Combine>
__device__ __forceinline__ float block_combine(float value, float* scratch, Combine combine) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  __syncthreads();  // the scratch of an earlier call has been read
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  value = lane < warps ? scratch[lane] : Combine::kIdentity;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

template <typename T>
__device__ __forceinline__ void softmax_row(const T* in, T* out, int columns) {
  __shared__ float scratch[32];
  in += static_cast<size_t>(blockIdx.x) * columns;
  out += static_cast<size_t>(blockIdx.x) * columns;
  float maximum = Maximum::kIdentity;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) maximum = fmaxf(maximum, load(in + i));
  maximum = block_combine(maximum, scratch, Maximum{});
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += __expf(load(in + i) - maximum);
  const float scale = 1.0f / block_combine(sum, scratch, Sum{});
  for (int i = threadIdx.x; i < columns; i += blockDim.x) store(out + i, __expf(load(in + i) - maximum) * scale);
}

extern "C" __global__ void softmax_half(const __half* in, __half* out, int columns) {
  softmax_row(in, out, columns);
}

extern "C" __global__ void softmax_bf16(const __nv_bfloat16* in, __nv_bfloat16* out, int columns) {
  softmax_row(in, out, columns);
}
