// Iterations until escape for each pixel of a width x height picture, at most `limit`.
// Lanes of a warp leave the loop at different times: divergence in a hot loop.
extern "C" __global__ void mandelbrot(unsigned* iterations, int width, int height, float left, float top,
                                      float step, int limit) {
  const int px = blockIdx.x * blockDim.x + threadIdx.x;
  const int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  const float cx = left + px * step, cy = top + py * step;
  float x = 0.0f, y = 0.0f;
  int count = 0;
  while (count < limit) {
    const float xx = x * x, yy = y * y;
    if (xx + yy > 4.0f) break;
    y = 2.0f * x * y + cy;
    x = xx - yy + cx;
    ++count;
  }
  iterations[py * width + px] = count;
}
