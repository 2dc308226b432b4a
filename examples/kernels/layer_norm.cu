// Layer normalisation: each row less its mean, over its deviation, then scaled and shifted per column.
// A block per row, any number of threads in whole warps. The variance is summed from differences to the mean in
// a second pass over the row, as E[x^2] - E[x]^2 would cancel.

/// The sum over the block, in every thread.
__device__ float block_sum(float value, float* partial) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  __syncthreads();  // the last sum has been read
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  float sum = 0;
  for (int w = 0; w < warps; ++w) sum += partial[w];
  return sum;
}

extern "C" __global__ void layer_norm(const float* in, const float* scale, const float* shift, float* out,
                                      int columns, float epsilon) {
  __shared__ float partial[32];
  const float* row = in + static_cast<size_t>(blockIdx.x) * columns;
  float sum = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += row[c];
  const float mean = block_sum(sum, partial) / columns;
  float squares = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) squares += (row[c] - mean) * (row[c] - mean);
  const float factor = rsqrtf(block_sum(squares, partial) / columns + epsilon);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    out[static_cast<size_t>(blockIdx.x) * columns + c] = (row[c] - mean) * factor * scale[c] + shift[c];
  }
}
