// out = in transposed, 32x32 tiles through shared memory with blocks of 32x8 threads.
// The padding column keeps the column-wise reads out of one bank.
extern "C" __global__ void transpose(const float* in, float* out, int width, int height) {
  constexpr int kTile = 32, kRows = 8;
  __shared__ float tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x;
  int y = blockIdx.y * kTile + threadIdx.y;
  for (int r = 0; r < kTile; r += kRows) {
    if (x < width && y + r < height) tile[threadIdx.y + r][threadIdx.x] = in[(y + r) * width + x];
  }
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  for (int r = 0; r < kTile; r += kRows) {
    if (x < height && y + r < width) out[(y + r) * height + x] = tile[threadIdx.x][threadIdx.y + r];
  }
}
