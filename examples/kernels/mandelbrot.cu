// Iterations until escape for each pixel of a width x height picture, at most `limit`.
// Lanes of a warp leave the loop at different times: divergence in a hot loop. What is fused is said, so that every
// compiler's code counts the same.
extern "C" __global__ void mandelbrot(unsigned* iterations, int width, int height, float left, float top,
                                      float step, int limit) {
  const int px = blockIdx.x * blockDim.x + threadIdx.x;
  const int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  const float cx = __fmaf_rn(px, step, left), cy = __fmaf_rn(py, step, top);
  float x = 0.0f, y = 0.0f;
  int count = 0;
  while (count < limit) {
    const float xx = __fmul_rn(x, x), yy = __fmul_rn(y, y);
    if (xx + yy > 4.0f) break;
    y = __fmaf_rn(2.0f * x, y, cy);
    x = xx - yy + cx;
    ++count;
  }
  iterations[py * width + px] = count;
}
