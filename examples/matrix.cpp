// Examples on matrices in shared-memory tiles: sgemm in three tile shapes, transpose.
#include "example.h"

namespace examples {
namespace {

std::vector<double> multiply(const std::vector<float>& a, const std::vector<float>& b, int n) {
  std::vector<double> c(static_cast<std::size_t>(n) * n, 0.0);
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < n; ++k) {
      const double value = a[i * n + k];
      for (int j = 0; j < n; ++j) c[i * n + j] += value * b[k * n + j];
    }
  }
  return c;
}

Example sgemm(Size size, const std::string& kernel, unsigned tile_rows, unsigned tile_columns,
              unsigned block_rows) {
  const int n = size == Size::small ? 64 : 384;  // a multiple of every tile, as the kernels ask
  const std::vector<float> a = random_floats(8, n * n, -1, 1), b = random_floats(9, n * n, -1, 1);
  Example example{kernel, "sgemm_tiled", {to_bytes(a), to_bytes(b), unwritten(n * n * sizeof(float))}};
  example.steps = {{kernel,
                    {n / tile_columns, n / tile_rows, 1},
                    {tile_columns, block_rows, 1},
                    {BufferRef{0}, BufferRef{1}, BufferRef{2}, n}}};
  example.work = 2e-9 * n * n * n;
  example.unit = "GFLOP/s";
  example.check = [a, b, n](const std::vector<Bytes>& results) {
    return check_floats(from_bytes<float>(results[2]), multiply(a, b, n), 1e-5, 1e-4);
  };
  return example;
}

Example transpose(Size size) {
  const int width = size == Size::small ? 75 : 1500, height = size == Size::small ? 50 : 1001;
  const std::vector<float> in = random_floats(10, width * height, -1, 1);
  Example example{"transpose", "transpose", {to_bytes(in), unwritten(in.size() * sizeof(float))}};
  example.steps = {{"transpose",
                    {blocks_for(width, 32), blocks_for(height, 32), 1},
                    {32, 8, 1},
                    {BufferRef{0}, BufferRef{1}, width, height}}};
  example.work = 8e-9 * width * height;
  example.unit = "GB/s";
  example.check = [in, width, height](const std::vector<Bytes>& results) {
    std::vector<double> want(in.size());
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) want[x * height + y] = in[y * width + x];
    }
    return check_floats(from_bytes<float>(results[1]), want, 0, 0);
  };
  return example;
}

}  // namespace

std::vector<Example> make_matrix_examples(Size size, unsigned) {
  return {sgemm(size, "sgemm_16", 16, 16, 16), sgemm(size, "sgemm_32", 32, 32, 32),
          sgemm(size, "sgemm_64x32", 64, 32, 8), sgemm(size, "sgemm_64x32_async", 64, 32, 8),
          transpose(size)};
}

}  // namespace examples
