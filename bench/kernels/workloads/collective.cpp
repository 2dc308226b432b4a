// Rows whose blocks combine many values into few: a sum, counts, and the sums and maxima of a matrix's rows.
#include <array>

#include "data.h"
#include "makers.h"

namespace bench {
namespace {

class Reduction : public Workload {
 public:
  explicit Reduction(bool quick) {
    size = quick ? 1l << 24 : 1l << 26;
    const double bytes = 4e-9 * static_cast<double>(size);
    work = {"GB/s", bytes, Limit::read, bytes};
    buffers.emplace_back(size * sizeof(float));
    buffers.emplace_back((kReductionBlocks + 1) * sizeof(float));  // partial sums, then the result
    fill_uniform(buffers[0], 8, 0, 1);
    for (long i = 0; i < size; ++i) reference_ += buffers[0].as<float>()[i];
  }
  std::vector<Launch> launches() const override {
    return {{"reduction",
             "reduce_sum",
             {kReductionBlocks, 1, 1},
             {256, 1, 1},
             {BufferArgument{0}, BufferArgument{1}, static_cast<std::int32_t>(size)}},
            {"reduction",
             "reduce_sum",
             {1, 1, 1},
             {256, 1, 1},
             {BufferArgument{1}, BufferArgument{1, kReductionBlocks * sizeof(float)}, kReductionBlocks}}};
  }
  void reset() override { fill_unwritten(buffers[1]); }
  Result<void> verify() const override {
    return compare(buffers[1].as<float>().subspan(kReductionBlocks), 1e-4, 0,
                   [&](long) { return reference_; });
  }

 private:
  double reference_ = 0;
};

class Histogram : public Workload {
 public:
  explicit Histogram(bool quick) {
    size = quick ? 1l << 24 : 1l << 27;  // bytes
    const double elements = 1e-9 * static_cast<double>(size);
    work = {"Gelement/s", elements, Limit::increments, elements};
    reset_each_run = true;
    buffers.emplace_back(size);
    buffers.emplace_back(256 * sizeof(std::uint32_t));
    fill_hash(buffers[0], 12);
    for (std::uint8_t byte : buffers[0].as<std::uint8_t>()) ++reference_[byte];
  }
  std::vector<Launch> launches() const override {
    return {{"histogram",
             "histogram",
             {kHistogramBlocks, 1, 1},
             {256, 1, 1},
             {BufferArgument{0}, BufferArgument{1}, static_cast<std::int32_t>(size / 4)}}};
  }
  void reset() override { clear(buffers[1]); }
  Result<void> verify() const override {
    return compare_exactly<std::uint32_t>(buffers[1].as<std::uint32_t>(), reference_);
  }

 private:
  std::array<std::uint32_t, 256> reference_{};
};

/// Rows of kColumns numbers that a block reads and writes; `size` rows.
class RowKernel : public Workload {
 protected:
  RowKernel(long rows, std::size_t element_bytes) {
    size = rows;
    const double bytes = 2e-9 * static_cast<double>(rows * kColumns * element_bytes);
    work = {"GB/s", bytes, Limit::copy, bytes};
  }
  /// Compares each row of `got` with `row(r)`'s, which it fills in.
  template <class Row>
  Result<void> compare_rows(std::span<const float> got, double relative, double absolute,
                            const Row& row) const {
    std::vector<double> want(got.size());
    parallel_for(size, [&](long begin, long end) {
      for (long r = begin; r < end; ++r) row(r, &want[r * kColumns]);
    });
    return compare(got, relative, absolute, [&](long i) { return want[i]; });
  }
};

class Softmax : public RowKernel {
 public:
  explicit Softmax(bool quick) : RowKernel(quick ? 4096 : 16384, sizeof(_Float16)) {
    for (int i = 0; i < 2; ++i) buffers.emplace_back(size * kColumns * sizeof(_Float16));
    const std::span<_Float16> in = buffers[0].as<_Float16>();
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<_Float16>(uniform(13, static_cast<long>(i), -8, 8));
  }
  std::vector<Launch> launches() const override {
    return {{"softmax",
             "softmax_half",
             {static_cast<unsigned>(size), 1, 1},
             {256, 1, 1},
             {BufferArgument{0}, BufferArgument{1}, kColumns}}};
  }
  void reset() override { fill_unwritten(buffers[1]); }
  Result<void> verify() const override {
    const std::span<_Float16> in = buffers[0].as<_Float16>(), out = buffers[1].as<_Float16>();
    const std::vector<float> got(out.begin(), out.end());
    // Half a unit in the last place and a little; below 2^-14 halves are a fixed distance apart.
    return compare_rows(got, 1.02 * 0x1p-11, 0x1p-24, [&](long r, double* want) {
      double sum = 0;
      for (int c = 0; c < kColumns; ++c)
        sum += want[c] = std::exp(static_cast<double>(static_cast<float>(in[r * kColumns + c])));
      for (int c = 0; c < kColumns; ++c) want[c] /= sum;
    });
  }
};

class LayerNorm : public RowKernel {
 public:
  explicit LayerNorm(bool quick) : RowKernel(quick ? 2048 : 8192, sizeof(float)) {
    buffers.emplace_back(size * kColumns * sizeof(float));
    for (int i = 0; i < 2; ++i) buffers.emplace_back(kColumns * sizeof(float));
    buffers.emplace_back(size * kColumns * sizeof(float));
    fill_uniform(buffers[0], 14, 9, 11);
    fill_uniform(buffers[1], 15, 0.5f, 2);
    fill_uniform(buffers[2], 16, -1, 1);
  }
  std::vector<Launch> launches() const override {
    return {
        {"layer_norm",
         "layer_norm",
         {static_cast<unsigned>(size), 1, 1},
         {256, 1, 1},
         {BufferArgument{0}, BufferArgument{1}, BufferArgument{2}, BufferArgument{3}, kColumns, kEpsilon}}};
  }
  void reset() override { fill_unwritten(buffers[3]); }
  Result<void> verify() const override {
    const std::span<float> in = buffers[0].as<float>(), scale = buffers[1].as<float>(),
                           shift = buffers[2].as<float>();
    return compare_rows(buffers[3].as<float>(), 1e-4, 1e-4, [&](long r, double* want) {
      const float* row = &in[r * kColumns];
      double mean = 0, variance = 0;
      for (int c = 0; c < kColumns; ++c) mean += row[c];
      mean /= kColumns;
      for (int c = 0; c < kColumns; ++c) variance += (row[c] - mean) * (row[c] - mean) / kColumns;
      const double factor = 1 / std::sqrt(variance + kEpsilon);
      for (int c = 0; c < kColumns; ++c) want[c] = (row[c] - mean) * factor * scale[c] + shift[c];
    });
  }
};

}  // namespace

namespace workloads {

std::unique_ptr<Workload> reduction(bool quick) { return std::make_unique<Reduction>(quick); }
std::unique_ptr<Workload> histogram(bool quick) { return std::make_unique<Histogram>(quick); }
std::unique_ptr<Workload> softmax(bool quick) { return std::make_unique<Softmax>(quick); }
std::unique_ptr<Workload> layer_norm(bool quick) { return std::make_unique<LayerNorm>(quick); }

}  // namespace workloads
}  // namespace bench
