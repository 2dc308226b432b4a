// Sparse matrix times vector. The matrix is in compressed rows: row r has the elements starts[r] to starts[r + 1],
// each with its column and value. Two ways to share the work: a row per thread, a row per warp.

extern "C" __global__ void spmv_scalar(const int* starts, const int* columns, const float* values, const float* x,
                                       float* y, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = starts[row]; i < starts[row + 1]; ++i) sum += values[i] * x[columns[i]];
  y[row] = sum;
}

extern "C" __global__ void spmv_vector(const int* starts, const int* columns, const float* values, const float* x,
                                       float* y, int rows) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;  // all lanes of the warp or none
  float sum = 0;
  for (int i = starts[row] + lane; i < starts[row + 1]; i += 32) sum += values[i] * x[columns[i]];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (lane == 0) y[row] = sum;
}
