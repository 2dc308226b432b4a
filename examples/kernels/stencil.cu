// One step of a 5-point stencil on a width x height grid: the centre and the mean of its four neighbours.
// The border keeps its values.
extern "C" __global__ void stencil(const float* in, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const int i = y * width + x;
  float value = in[i];
  if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
    value = 0.5f * value + 0.125f * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
  }
  out[i] = value;
}
