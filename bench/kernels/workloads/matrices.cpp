// Rows on dense matrices: products of three tile shapes, transpose, attention.
#include "data.h"
#include "makers.h"

namespace bench {
namespace {

class Sgemm : public Workload {
 public:
  Sgemm(Launch launch, bool quick) : launch_(std::move(launch)) {
    size = quick ? 512 : 1024;
    const double operations =
        2e-9 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
    work = {"GFLOP/s", operations, Limit::arithmetic, operations};
    for (int i = 0; i < 3; ++i) buffers.emplace_back(size * size * sizeof(float));
    fill_uniform(buffers[0], 6, -1, 1);
    fill_uniform(buffers[1], 7, -1, 1);
    compute_reference();
  }
  /// The launch given has the tile's columns and rows for a grid.
  std::vector<Launch> launches() const override {
    Launch launch = launch_;
    launch.grid[0] = blocks(size, launch.grid[0]);
    launch.grid[1] = blocks(size, launch.grid[1]);
    launch.arguments = {BufferArgument{0}, BufferArgument{1}, BufferArgument{2},
                        static_cast<std::int32_t>(size)};
    return {launch};
  }
  void reset() override { fill_unwritten(buffers[2]); }
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
  Launch launch_;
  std::vector<double> reference_;
};

class Transpose : public Workload {
 public:
  explicit Transpose(bool quick) {
    size = quick ? 2048 : 4096;
    const double bytes = 8e-9 * static_cast<double>(size) * static_cast<double>(size);
    work = {"GB/s", bytes, Limit::copy, bytes};
    for (int i = 0; i < 2; ++i) buffers.emplace_back(size * size * sizeof(float));
    fill_hash(buffers[0], 20);
  }
  std::vector<Launch> launches() const override {
    const std::int32_t n = static_cast<std::int32_t>(size);
    return {{"transpose",
             "transpose",
             {blocks(n, 32), blocks(n, 32), 1},
             {32, 8, 1},
             {BufferArgument{0}, BufferArgument{1}, n, n}}};
  }
  void reset() override { fill_unwritten(buffers[1]); }
  Result<void> verify() const override {
    const std::span<std::uint32_t> in = buffers[0].as<std::uint32_t>(), out = buffers[1].as<std::uint32_t>();
    const long bad =
        first_wrong(size * size, [&](long i) { return out[i] != in[i % size * size + i / size]; });
    if (bad < 0) return {};
    return Error::invalid("element {} of row {} is wrong", bad % size, bad / size);
  }
};

/// Softmax(q k^T / 8) v for every head, f32; `size` positions.
class Attention : public Workload {
 public:
  explicit Attention(bool quick) {
    size = quick ? 512 : 1024;
    const double operations = 4e-9 * kHeads * kHead * static_cast<double>(size) * static_cast<double>(size);
    work = {"GFLOP/s", operations, Limit::arithmetic, operations};
    for (int i = 0; i < 4; ++i) buffers.emplace_back(kHeads * size * kHead * sizeof(float));
    for (int i = 0; i < 3; ++i) fill_uniform(buffers[i], 21 + i, -1, 1);
    compute_reference();
  }
  std::vector<Launch> launches() const override {
    return {{"flash_attention",
             "flash_attention",
             {blocks(size, 128), kHeads, 1},
             {128, 1, 1},
             {BufferArgument{0}, BufferArgument{1}, BufferArgument{2}, BufferArgument{3},
              static_cast<std::int32_t>(size)}}};
  }
  void reset() override { fill_unwritten(buffers[3]); }
  Result<void> verify() const override {
    return compare(buffers[3].as<float>(), 1e-4, 1e-5, [&](long i) { return reference_[i]; });
  }

 private:
  void compute_reference() {
    reference_.assign(kHeads * size * kHead, 0.0);
    parallel_for(kHeads * size, [&](long begin, long end) {
      std::vector<double> weights(size);
      for (long row = begin; row < end; ++row) attend(row, weights);
    });
  }
  void attend(long row, std::vector<double>& weights) {
    const long first = row / size * size;  // of the head's positions
    const float *q = buffers[0].as<float>().data() + row * kHead,
                *keys = buffers[1].as<float>().data() + first * kHead,
                *values = buffers[2].as<float>().data() + first * kHead;
    double sum = 0;
    for (long key = 0; key < size; ++key) {
      double score = 0;
      for (int c = 0; c < kHead; ++c) score += double{q[c]} * keys[key * kHead + c];
      sum += weights[key] = std::exp(score / 8);  // |score| < 64: no overflow
    }
    double* out = &reference_[row * kHead];
    for (long key = 0; key < size; ++key) {
      for (int c = 0; c < kHead; ++c) out[c] += weights[key] / sum * values[key * kHead + c];
    }
  }
  std::vector<double> reference_;
};

}  // namespace

namespace workloads {

std::unique_ptr<Workload> sgemm_16x16(bool quick) {
  return std::make_unique<Sgemm>(Launch{"sgemm_tiled", "sgemm_16", {16, 16, 1}, {16, 16, 1}, {}}, quick);
}
std::unique_ptr<Workload> sgemm_32x32(bool quick) {
  return std::make_unique<Sgemm>(Launch{"sgemm_tiled", "sgemm_32", {32, 32, 1}, {32, 32, 1}, {}}, quick);
}
std::unique_ptr<Workload> sgemm_64x32(bool quick) {
  return std::make_unique<Sgemm>(Launch{"sgemm_tiled", "sgemm_64x32", {32, 64, 1}, {32, 8, 1}, {}}, quick);
}
std::unique_ptr<Workload> transpose(bool quick) { return std::make_unique<Transpose>(quick); }
std::unique_ptr<Workload> attention(bool quick) { return std::make_unique<Attention>(quick); }

}  // namespace workloads
}  // namespace bench
