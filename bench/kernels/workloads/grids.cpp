// Rows from simulation and graphics: 5-point stencil, n-body, Mandelbrot.
#include <array>

#include "data.h"
#include "makers.h"

namespace bench {
namespace {

class Stencil : public Workload {
 public:
  explicit Stencil(bool quick) {
    size = quick ? 2048 : 4096;
    const double bytes = 8e-9 * static_cast<double>(size) * static_cast<double>(size);
    work = {"GB/s", bytes, Limit::copy, bytes};
    for (int i = 0; i < 2; ++i) buffers.emplace_back(size * size * sizeof(float));
    fill_uniform(buffers[0], 9, -1, 1);
  }
  std::vector<Launch> launches() const override {
    const std::int32_t n = static_cast<std::int32_t>(size);
    return {{"stencil",
             "stencil",
             {blocks(n, 32), blocks(n, 8), 1},
             {32, 8, 1},
             {BufferArgument{0}, BufferArgument{1}, n, n}}};
  }
  void reset() override { fill_unwritten(buffers[1]); }
  Result<void> verify() const override {
    const float* in = buffers[0].as<float>().data();
    return compare(buffers[1].as<float>(), 1e-6, 1e-6, [&](long i) {
      const long x = i % size, y = i / size;
      if (x == 0 || y == 0 || x == size - 1 || y == size - 1) return double{in[i]};
      return 0.5 * in[i] + 0.125 * (double{in[i - 1]} + in[i + 1] + in[i - size] + in[i + size]);
    });
  }
};

class Nbody : public Workload {
 public:
  explicit Nbody(bool quick) {
    size = quick ? 4096 : 16384;
    const double pairs = 1e-9 * static_cast<double>(size) * static_cast<double>(size);
    work = {"Ginteraction/s", pairs, Limit::arithmetic, 2 * kInstructions * pairs};
    for (int i = 0; i < 2; ++i) buffers.emplace_back(size * 4 * sizeof(float));
    fill_uniform(buffers[0], 10, -1, 1);
    for (long i = 0; i < size; ++i) buffers[0].as<float>()[4 * i + 3] = uniform(11, i, 0.1f, 1);
    compute_reference();
  }
  std::vector<Launch> launches() const override {
    return {{"nbody",
             "nbody",
             {blocks(size, 256), 1, 1},
             {256, 1, 1},
             {BufferArgument{0}, BufferArgument{1}, static_cast<std::int32_t>(size), kSoftening}}};
  }
  void reset() override { fill_unwritten(buffers[1]); }
  Result<void> verify() const override {  // sums of 16,384 terms of mixed sign, each good to a few ulp
    return compare(buffers[1].as<float>(), 1e-4, 0.05, [&](long i) { return reference_[i]; });
  }

 private:
  static constexpr double kInstructions = 14;  ///< on floats, per interaction, in the PTX

  void compute_reference() {
    std::array<std::vector<double>, 4> column;
    for (int c = 0; c < 4; ++c) {
      for (long i = 0; i < size; ++i) column[c].push_back(buffers[0].as<float>()[4 * i + c]);
    }
    const double *x = column[0].data(), *y = column[1].data(), *z = column[2].data(), *m = column[3].data();
    reference_.assign(4 * size, 0.0);
    const long n = size;
    parallel_for(n, [&](long begin, long end) {
      for (long i = begin; i < end; ++i) {
        double ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
        for (long j = 0; j < n; ++j) {
          const double dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
          const double square = dx * dx + dy * dy + dz * dz + double{kSoftening};
          const double pull = m[j] / (square * std::sqrt(square));
          ax += dx * pull, ay += dy * pull, az += dz * pull;
        }
        reference_[4 * i] = ax, reference_[4 * i + 1] = ay, reference_[4 * i + 2] = az;
      }
    });
  }
  std::vector<double> reference_;
};

class Mandelbrot : public Workload {
 public:
  explicit Mandelbrot(bool quick) {
    size = quick ? 512 : 2048;
    buffers.emplace_back(size * size * sizeof(std::uint32_t));
    compute_reference();
    double iterations = 0;
    for (std::uint32_t count : reference_) iterations += 1e-9 * count;
    work = {"Giteration/s", iterations, Limit::arithmetic, 2 * kInstructions * iterations};
  }
  std::vector<Launch> launches() const override {
    const std::int32_t n = static_cast<std::int32_t>(size);
    return {{"mandelbrot",
             "mandelbrot",
             {blocks(n, 32), blocks(n, 8), 1},
             {32, 8, 1},
             {BufferArgument{0}, n, n, kMandelbrotLeft, kMandelbrotTop,
              kMandelbrotExtent / static_cast<float>(n), kMandelbrotLimit}}};
  }
  void reset() override { fill_unwritten(buffers[0]); }
  /// Near the boundary a last bit (a fused multiply-add or not) changes the count, so a share of the pixels
  /// may differ.
  Result<void> verify() const override {
    const std::span<std::uint32_t> got = buffers[0].as<std::uint32_t>();
    long different = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i] > static_cast<unsigned>(kMandelbrotLimit))
        return Error::invalid("pixel {}: {} iterations", i, got[i]);
      different += got[i] != reference_[i];
    }
    if (different * 100 <= static_cast<long>(got.size())) return {};
    return Error::invalid("{} of {} pixels differ, more than 1 %", different, got.size());
  }

 private:
  static constexpr double kInstructions = 8;  ///< on floats, per iteration, in the PTX

  void compute_reference() {
    reference_.resize(size * size);
    const float step = kMandelbrotExtent / static_cast<float>(size);
    parallel_for(size * size, [&](long begin, long end) {
      for (long i = begin; i < end; ++i) {
        const float cx = kMandelbrotLeft + static_cast<float>(i % size) * step;
        const float cy = kMandelbrotTop + static_cast<float>(i / size) * step;
        float x = 0, y = 0;
        int count = 0;
        for (; count < kMandelbrotLimit && x * x + y * y <= 4.0f; ++count) {
          const float next = x * x - y * y + cx;
          y = 2.0f * x * y + cy;
          x = next;
        }
        reference_[i] = static_cast<std::uint32_t>(count);
      }
    });
  }
  std::vector<std::uint32_t> reference_;
};

}  // namespace

namespace workloads {

std::unique_ptr<Workload> stencil(bool quick) { return std::make_unique<Stencil>(quick); }
std::unique_ptr<Workload> nbody(bool quick) { return std::make_unique<Nbody>(quick); }
std::unique_ptr<Workload> mandelbrot(bool quick) { return std::make_unique<Mandelbrot>(quick); }

}  // namespace workloads
}  // namespace bench
