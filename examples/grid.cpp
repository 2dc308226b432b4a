// Examples from simulation and graphics: 5-point stencil, n-body, Mandelbrot.
#include <fmt/format.h>

#include "example.h"

namespace examples {
namespace {

Example stencil(Size size) {
  const int width = size == Size::small ? 70 : 2001, height = size == Size::small ? 50 : 1500;
  const std::vector<float> in = random_floats(16, static_cast<std::size_t>(width) * height, -1, 1);
  Example example{"stencil", "stencil", {to_bytes(in), unwritten(in.size() * sizeof(float))}};
  example.steps = {{"stencil",
                    {blocks_for(width, 32), blocks_for(height, 8), 1},
                    {32, 8, 1},
                    {BufferRef{0}, BufferRef{1}, width, height}}};
  example.work = 8e-9 * width * height;
  example.unit = "GB/s";
  example.check = [in, width, height](const std::vector<Bytes>& results) {
    std::vector<double> want(in.begin(), in.end());
    for (int y = 1; y < height - 1; ++y) {
      for (int x = 1; x < width - 1; ++x) {
        const int i = y * width + x;
        want[i] = 0.5 * in[i] + 0.125 * (double{in[i - 1]} + in[i + 1] + in[i - width] + in[i + width]);
      }
    }
    return check_floats(from_bytes<float>(results[1]), want, 1e-6, 1e-6);
  };
  return example;
}

std::vector<double> accelerations(const std::vector<float>& bodies, double softening) {
  std::vector<double> result(bodies.size(), 0.0);
  for (std::size_t i = 0; i < bodies.size(); i += 4) {
    for (std::size_t j = 0; j < bodies.size(); j += 4) {
      double d[3], square = softening;
      for (int c = 0; c < 3; ++c) {
        d[c] = static_cast<double>(bodies[j + c]) - bodies[i + c];
        square += d[c] * d[c];
      }
      const double pull = bodies[j + 3] / (square * std::sqrt(square));
      for (int c = 0; c < 3; ++c) result[i + c] += d[c] * pull;
    }
  }
  return result;
}

Example nbody(Size size) {
  const int n = size == Size::small ? 512 : 4096;  // a multiple of the block, as the kernel asks
  const float softening = 0.01f;
  std::vector<float> bodies = random_floats(17, 4 * n, -1, 1);
  for (int i = 0; i < n; ++i) bodies[4 * i + 3] = 0.5f + 0.25f * bodies[4 * i + 3];  // masses are positive
  Example example{"nbody", "nbody", {to_bytes(bodies), unwritten(bodies.size() * sizeof(float))}};
  example.steps = {
      {"nbody", {blocks_for(n, 256), 1, 1}, {256, 1, 1}, {BufferRef{0}, BufferRef{1}, n, softening}}};
  example.work = 1e-9 * n * n;
  example.unit = "Gpair/s";
  example.check = [bodies, softening](const std::vector<Bytes>& results) {
    return check_floats(from_bytes<float>(results[1]), accelerations(bodies, softening), 1e-4, 0.02);
  };
  return example;
}

struct View {
  int width, height, limit;
  float left, top, step;
};

/// As the kernel computes it, with the same fused multiply-adds that nvcc makes of the source.
std::uint32_t escape_iterations(const View& view, int px, int py) {
  const float cx = std::fma(static_cast<float>(px), view.step, view.left);
  const float cy = std::fma(static_cast<float>(py), view.step, view.top);
  float x = 0, y = 0;
  for (int count = 0; count < view.limit; ++count) {
    const float xx = x * x, yy = y * y;
    if (xx + yy > 4.0f) return static_cast<std::uint32_t>(count);
    const float next = xx - yy + cx;
    y = std::fma(x + x, y, cy);
    x = next;
  }
  return static_cast<std::uint32_t>(view.limit);
}

Example mandelbrot(Size size) {
  const int side = size == Size::small ? 50 : 700;
  const View view{side + 3, side, 200, -2.0f, -1.25f, 2.5f / static_cast<float>(side)};
  std::vector<std::uint32_t> want;
  double total = 0;
  for (int py = 0; py < view.height; ++py) {
    for (int px = 0; px < view.width; ++px) {
      want.push_back(escape_iterations(view, px, py));
      total += want.back();
    }
  }
  Example example{"mandelbrot", "mandelbrot", {unwritten(want.size() * sizeof(std::uint32_t))}};
  example.steps = {{"mandelbrot",
                    {blocks_for(view.width, 32), blocks_for(view.height, 8), 1},
                    {32, 8, 1},
                    {BufferRef{0}, view.width, view.height, view.left, view.top, view.step, view.limit}}};
  example.work = 1e-9 * total;
  example.unit = "Giteration/s";
  example.check = [want](const std::vector<Bytes>& results) {
    return check_words(from_bytes<std::uint32_t>(results[0]), want);
  };
  return example;
}

}  // namespace

std::vector<Example> make_grid_examples(Size size, unsigned) {
  return {stencil(size), nbody(size), mandelbrot(size)};
}

}  // namespace examples
