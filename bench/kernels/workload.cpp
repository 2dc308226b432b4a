// Inputs come from a hash of the index, so references need no copy of them; comparisons are written so
// that a NaN fails. References are double precision (integers: exact) in the plainest form there is.
#include "workload.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>

#include "base/assert.h"
#include "parallel.h"

namespace bench {
namespace {

std::uint32_t hash(std::uint32_t stream, std::uint32_t i) {
  std::uint64_t z = (std::uint64_t{stream} << 32 | i) + 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 16);
}

/// Uniform in [low, high), 24 bits.
float uniform(std::uint32_t stream, long i, float low, float high) {
  return low + (high - low) * static_cast<float>(hash(stream, static_cast<std::uint32_t>(i)) >> 8) * 0x1p-24f;
}

void fill_uniform(const Buffer& buffer, std::uint32_t stream, float low, float high) {
  const std::span<float> values = buffer.as<float>();
  parallel_for(static_cast<long>(values.size()), [&](long begin, long end) {
    for (long i = begin; i < end; ++i) values[i] = uniform(stream, i, low, high);
  });
}

void fill_hash(const Buffer& buffer, std::uint32_t stream) {
  const std::span<std::uint32_t> values = buffer.as<std::uint32_t>();
  parallel_for(static_cast<long>(values.size()), [&](long begin, long end) {
    for (long i = begin; i < end; ++i) values[i] = hash(stream, static_cast<std::uint32_t>(i));
  });
}

/// The lowest index for which `wrong` holds, or -1.
template <class Wrong>
long first_wrong(long count, const Wrong& wrong) {
  std::atomic<long> lowest{count};
  parallel_for(count, [&](long begin, long end) {
    for (long i = begin; i < end; ++i) {
      if (!wrong(i)) continue;
      long seen = lowest.load();
      while (i < seen && !lowest.compare_exchange_weak(seen, i)) {
      }
      return;
    }
  });
  return lowest == count ? -1 : lowest.load();
}

/// Compares floats with `expected(i)`: |got - expected| <= relative * |expected| + absolute.
template <class Expected>
Result<void> compare(std::span<const float> got, double relative, double absolute, const Expected& expected) {
  const long bad = first_wrong(static_cast<long>(got.size()), [&](long i) {
    const double want = expected(i);
    return !(std::abs(got[i] - want) <= relative * std::abs(want) + absolute);
  });
  if (bad < 0) return {};
  return Error::invalid("element {}: {} instead of {} (tolerance {} relative, {} absolute)", bad, got[bad],
                        expected(bad), relative, absolute);
}

class Saxpy : public Workload {
 public:
  explicit Saxpy(bool quick) {
    size = quick ? 1l << 24 : 1l << 26;
    unit = "GB/s";
    work = 12e-9 * static_cast<double>(size);
    for (int i = 0; i < 2; ++i) buffers.emplace_back(size * sizeof(float));
    fill_uniform(buffers[0], 1, -1, 1);
  }
  void reset() override { fill_uniform(buffers[1], 2, -1, 1); }
  Result<void> verify() const override {
    return compare(buffers[1].as<float>(), 1e-6, 1e-6,
                   [](long i) { return double{kSaxpyFactor} * uniform(1, i, -1, 1) + uniform(2, i, -1, 1); });
  }
};

class BlackScholes : public Workload {
 public:
  explicit BlackScholes(bool quick) {
    size = quick ? 1l << 21 : 1l << 24;
    unit = "Goption/s";
    work = 1e-9 * static_cast<double>(size);
    for (int i = 0; i < 5; ++i) buffers.emplace_back(size * sizeof(float));
    fill_uniform(buffers[0], 3, 5, 30);
    fill_uniform(buffers[1], 4, 1, 100);
    fill_uniform(buffers[2], 5, 0.25f, 10);
  }
  void reset() override {
    for (int i : {3, 4}) std::memset(buffers[i].data(), 0xff, buffers[i].bytes());
  }
  Result<void> verify() const override {  // absolute: prices are up to 100, computed in float
    Result<void> calls = compare(buffers[3].as<float>(), 1e-4, 1e-3, [](long i) { return price(i, true); });
    if (!calls.ok()) return calls;
    return compare(buffers[4].as<float>(), 1e-4, 1e-3, [](long i) { return price(i, false); });
  }

 private:
  static double normal_cdf(double d) {  // the exact one: the kernels' polynomial is good to 1e-7
    return 0.5 * std::erfc(-d * 0.70710678118654752440);
  }
  static double price(long i, bool call) {
    const double s = uniform(3, i, 5, 30), x = uniform(4, i, 1, 100), t = uniform(5, i, 0.25f, 10);
    const double spread = double{kVolatility} * std::sqrt(t);
    const double d1 = (std::log(s / x) + (double{kRate} + 0.5 * kVolatility * kVolatility) * t) / spread;
    const double n1 = normal_cdf(d1), n2 = normal_cdf(d1 - spread),
                 discounted = x * std::exp(-double{kRate} * t);
    return call ? s * n1 - discounted * n2 : discounted * (1 - n2) - s * (1 - n1);
  }
};

class Sgemm : public Workload {
 public:
  Sgemm(Kernel which, bool quick) {
    kernel = which;
    headline = which == Kernel::sgemm_32;
    size = quick ? 512 : 1024;
    unit = "GFLOP/s";
    work = 2e-9 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
    for (int i = 0; i < 3; ++i) buffers.emplace_back(size * size * sizeof(float));
    fill_uniform(buffers[0], 6, -1, 1);
    fill_uniform(buffers[1], 7, -1, 1);
    compute_reference();
  }
  void reset() override { std::memset(buffers[2].data(), 0xff, buffers[2].bytes()); }
  Result<void> verify() const override {
    return compare(buffers[2].as<float>(), 1e-5, 1e-4, [&](long i) { return reference_[i]; });
  }

 private:
  void compute_reference() {
    const float *a = buffers[0].as<float>().data(), *b = buffers[1].as<float>().data();
    reference_.assign(size * size, 0.0);
    parallel_for(size, [&](long begin, long end) {
      for (long i = begin; i < end; ++i) {
        for (long k = 0; k < size; ++k) {
          double* row = &reference_[i * size];
          for (long j = 0; j < size; ++j) row[j] += static_cast<double>(a[i * size + k]) * b[k * size + j];
        }
      }
    });
  }
  std::vector<double> reference_;
};

class Reduction : public Workload {
 public:
  explicit Reduction(bool quick) {
    size = quick ? 1l << 24 : 1l << 26;
    unit = "GB/s";
    work = 4e-9 * static_cast<double>(size);
    buffers.emplace_back(size * sizeof(float));
    buffers.emplace_back((kReductionBlocks + 1) * sizeof(float));  // partial sums, then the result
    fill_uniform(buffers[0], 8, 0, 1);
    for (long i = 0; i < size; ++i) reference_ += buffers[0].as<float>()[i];
  }
  void reset() override { std::memset(buffers[1].data(), 0xff, buffers[1].bytes()); }
  Result<void> verify() const override {
    return compare(buffers[1].as<float>().subspan(kReductionBlocks), 1e-4, 0,
                   [&](long) { return reference_; });
  }

 private:
  double reference_ = 0;
};

class Stencil : public Workload {
 public:
  explicit Stencil(bool quick) {
    size = quick ? 2048 : 4096;
    unit = "GB/s";
    work = 8e-9 * static_cast<double>(size) * static_cast<double>(size);
    for (int i = 0; i < 2; ++i) buffers.emplace_back(size * size * sizeof(float));
    fill_uniform(buffers[0], 9, -1, 1);
  }
  void reset() override { std::memset(buffers[1].data(), 0xff, buffers[1].bytes()); }
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
    unit = "Ginteraction/s";
    work = 1e-9 * static_cast<double>(size) * static_cast<double>(size);
    for (int i = 0; i < 2; ++i) buffers.emplace_back(size * 4 * sizeof(float));
    fill_uniform(buffers[0], 10, -1, 1);
    for (long i = 0; i < size; ++i) buffers[0].as<float>()[4 * i + 3] = uniform(11, i, 0.1f, 1);
    compute_reference();
  }
  void reset() override { std::memset(buffers[1].data(), 0xff, buffers[1].bytes()); }
  Result<void> verify() const override {  // sums of 16,384 terms of mixed sign, each good to a few ulp
    return compare(buffers[1].as<float>(), 1e-4, 0.05, [&](long i) { return reference_[i]; });
  }

 private:
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

class Histogram : public Workload {
 public:
  explicit Histogram(bool quick) {
    size = quick ? 1l << 24 : 1l << 27;  // bytes
    unit = "Gelement/s";
    work = 1e-9 * static_cast<double>(size);
    reset_each_run = true;
    buffers.emplace_back(size);
    buffers.emplace_back(256 * sizeof(std::uint32_t));
    fill_hash(buffers[0], 12);
    for (std::uint8_t byte : buffers[0].as<std::uint8_t>()) ++reference_[byte];
  }
  void reset() override { std::memset(buffers[1].data(), 0, buffers[1].bytes()); }
  Result<void> verify() const override {
    const std::span<std::uint32_t> bins = buffers[1].as<std::uint32_t>();
    for (int i = 0; i < 256; ++i) {
      if (bins[i] != reference_[i])
        return Error::invalid("bin {}: {} instead of {}", i, bins[i], reference_[i]);
    }
    return {};
  }

 private:
  std::array<std::uint32_t, 256> reference_{};
};

class Mandelbrot : public Workload {
 public:
  explicit Mandelbrot(bool quick) {
    size = quick ? 512 : 2048;
    unit = "Giteration/s";
    buffers.emplace_back(size * size * sizeof(std::uint32_t));
    compute_reference();
    std::uint64_t total = 0;
    for (std::uint32_t count : reference_) total += count;
    work = 1e-9 * static_cast<double>(total);
  }
  void reset() override { std::memset(buffers[0].data(), 0xff, buffers[0].bytes()); }
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

class BitonicSort : public Workload {
 public:
  explicit BitonicSort(bool quick) {
    size = quick ? 1l << 20 : 1l << 23;
    unit = "Mkey/s";
    work = 1e-6 * static_cast<double>(size);
    reset_each_run = true;
    buffers.emplace_back(size * sizeof(std::uint32_t));
    reference_.resize(size);
    parallel_for(size / kSortRun, [&](long begin, long end) {
      for (long i = begin * kSortRun; i < end * kSortRun; ++i) {
        reference_[i] = hash(13, static_cast<std::uint32_t>(i));
      }
      for (long run = begin; run < end; ++run) {
        std::sort(&reference_[run * kSortRun], &reference_[run * kSortRun] + kSortRun);
      }
    });
  }
  void reset() override { fill_hash(buffers[0], 13); }
  Result<void> verify() const override {
    const std::span<std::uint32_t> got = buffers[0].as<std::uint32_t>();
    const long bad = first_wrong(size, [&](long i) { return got[i] != reference_[i]; });
    if (bad < 0) return {};
    return Error::invalid("key {}: {} instead of {}", bad, got[bad], reference_[bad]);
  }

 private:
  std::vector<std::uint32_t> reference_;
};

std::unique_ptr<Workload> make(Kernel kernel, bool quick) {
  switch (kernel) {
    case Kernel::saxpy:
      return std::make_unique<Saxpy>(quick);
    case Kernel::black_scholes:
      return std::make_unique<BlackScholes>(quick);
    case Kernel::sgemm_16:
    case Kernel::sgemm_32:
    case Kernel::sgemm_64x32:
      return std::make_unique<Sgemm>(kernel, quick);
    case Kernel::reduction:
      return std::make_unique<Reduction>(quick);
    case Kernel::stencil:
      return std::make_unique<Stencil>(quick);
    case Kernel::nbody:
      return std::make_unique<Nbody>(quick);
    case Kernel::histogram:
      return std::make_unique<Histogram>(quick);
    case Kernel::mandelbrot:
      return std::make_unique<Mandelbrot>(quick);
    case Kernel::bitonic_sort:
      return std::make_unique<BitonicSort>(quick);
  }
  return nullptr;
}

}  // namespace

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  RADDLE_ASSERT(memory != MAP_FAILED, "no memory for a benchmark buffer");
  madvise(memory, bytes, MADV_HUGEPAGE);
  std::memset(memory, 0, bytes);
  data_ = static_cast<std::byte*>(memory);
}

Buffer::~Buffer() {
  if (data_) munmap(data_, bytes_);
}

unsigned& core_count() {
  static unsigned cores = std::max(1u, std::min(2u, std::thread::hardware_concurrency()));
  return cores;
}

std::unique_ptr<Workload> make_workload(Kernel kernel, bool quick) {
  std::unique_ptr<Workload> workload = make(kernel, quick);
  workload->kernel = kernel;
  workload->name = kernel_name(kernel);
  workload->reset();
  return workload;
}

std::span<const Kernel> all_kernels() {
  static constexpr std::array kAll = {Kernel::saxpy,     Kernel::black_scholes, Kernel::sgemm_32,
                                      Kernel::reduction, Kernel::stencil,       Kernel::nbody,
                                      Kernel::histogram, Kernel::mandelbrot,    Kernel::bitonic_sort,
                                      Kernel::sgemm_16,  Kernel::sgemm_64x32};
  return kAll;
}

std::string_view kernel_name(Kernel kernel) {
  switch (kernel) {
    case Kernel::saxpy:
      return "saxpy";
    case Kernel::black_scholes:
      return "black_scholes";
    case Kernel::sgemm_16:
      return "sgemm_16x16";
    case Kernel::sgemm_32:
      return "sgemm_32x32";
    case Kernel::sgemm_64x32:
      return "sgemm_64x32";
    case Kernel::reduction:
      return "reduction";
    case Kernel::stencil:
      return "stencil";
    case Kernel::nbody:
      return "nbody";
    case Kernel::histogram:
      return "histogram";
    case Kernel::mandelbrot:
      return "mandelbrot";
    case Kernel::bitonic_sort:
      return "bitonic_sort";
  }
  return "?";
}

}  // namespace bench
