// Fourier transforms of kTransform points each, `size` of them.
#include <complex>
#include <numbers>

#include "data.h"
#include "makers.h"

namespace bench {
namespace {

using Complex = std::complex<double>;

/// In place, by halves; `roots[k]` is e^(-2 pi i k / kTransform).
void transform(Complex* data, long n, const std::vector<Complex>& roots, std::vector<Complex>& scratch) {
  if (n == 1) return;
  for (long i = 0; i < n / 2; ++i) scratch[i] = data[2 * i], scratch[n / 2 + i] = data[2 * i + 1];
  std::copy(scratch.begin(), scratch.begin() + n, data);
  transform(data, n / 2, roots, scratch);
  transform(data + n / 2, n / 2, roots, scratch);
  for (long k = 0; k < n / 2; ++k) {
    const Complex even = data[k], odd = roots[k * (kTransform / n)] * data[n / 2 + k];
    data[k] = even + odd, data[n / 2 + k] = even - odd;
  }
}

class Fft : public Workload {
 public:
  explicit Fft(bool quick) {
    size = quick ? 512 : 4096;
    const double points = 1e-9 * static_cast<double>(size) * kTransform;
    // 5 n log2 n operations, as FFTs are usually counted; each point is read and written once.
    work = {"GFLOP/s", 5 * std::log2(kTransform) * points, Limit::copy, 16 * points};
    for (int i = 0; i < 2; ++i) buffers.emplace_back(2 * size * kTransform * sizeof(float));
    fill_uniform(buffers[0], 40, -1, 1);
    compute_reference();
  }
  std::vector<Launch> launches() const override {
    Launch launch{"fft",
                  "fft",
                  {static_cast<unsigned>(size), 1, 1},
                  {kTransform / 4, 1, 1},
                  {BufferArgument{0}, BufferArgument{1}, kTransform}};
    launch.shared_bytes = kTransform * 8;
    return {launch};
  }
  void reset() override { fill_unwritten(buffers[1]); }
  Result<void> verify() const override {
    return compare(buffers[1].as<float>(), 1e-5, 2e-6 * std::sqrt(kTransform) * std::log2(kTransform),
                   [&](long i) { return i % 2 == 0 ? reference_[i / 2].real() : reference_[i / 2].imag(); });
  }

 private:
  void compute_reference() {
    std::vector<Complex> roots;
    for (int k = 0; k < kTransform / 2; ++k)
      roots.push_back(std::polar(1.0, -2 * std::numbers::pi * k / kTransform));
    const std::span<float> in = buffers[0].as<float>();
    reference_.resize(size * kTransform);
    parallel_for(size, [&](long begin, long end) {
      std::vector<Complex> scratch(kTransform);
      for (long i = begin * kTransform; i < end * kTransform; ++i) reference_[i] = {in[2 * i], in[2 * i + 1]};
      for (long t = begin; t < end; ++t) transform(&reference_[t * kTransform], kTransform, roots, scratch);
    });
  }
  std::vector<Complex> reference_;
};

}  // namespace

namespace workloads {

std::unique_ptr<Workload> fft(bool quick) { return std::make_unique<Fft>(quick); }

}  // namespace workloads
}  // namespace bench
