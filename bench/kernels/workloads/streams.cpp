// Rows with one independent result per element: saxpy, Black-Scholes; and saxpy again as one launch of a
// million small blocks, and as ten thousand launches of a hundred.
#include "data.h"
#include "makers.h"

namespace bench {
namespace {

class Saxpy : public Workload {
 public:
  explicit Saxpy(long elements) {
    size = elements;
    const double bytes = 12e-9 * static_cast<double>(size);
    work = {"GB/s", bytes, Limit::update, bytes};
    for (int i = 0; i < 2; ++i) buffers.emplace_back(size * sizeof(float));
    fill_uniform(buffers[0], 1, -1, 1);
  }
  std::vector<Launch> launches() const override { return {launch(0, size, 256)}; }
  void reset() override { fill_uniform(buffers[1], 2, -1, 1); }
  Result<void> verify() const override {
    return compare(buffers[1].as<float>(), 1e-6, 1e-6,
                   [](long i) { return double{kSaxpyFactor} * uniform(1, i, -1, 1) + uniform(2, i, -1, 1); });
  }

 protected:
  static Launch launch(long first, long count, unsigned threads) {
    const long offset = first * static_cast<long>(sizeof(float));
    return {"saxpy",
            "saxpy",
            {blocks(count, threads), 1, 1},
            {threads, 1, 1},
            {static_cast<std::int32_t>(count), kSaxpyFactor, BufferArgument{0, offset},
             BufferArgument{1, offset}}};
  }
};

/// Blocks so small that what surrounds them counts.
class SmallBlocks : public Saxpy {
 public:
  SmallBlocks(long launches, bool quick)
      : Saxpy((quick ? 1000l : 10000l) * kStormBlocks * kStormThreads), launches_(launches) {}
  std::vector<Launch> launches() const override {
    std::vector<Launch> all;
    const long count = size / launches_;
    for (long first = 0; first < size; first += count) all.push_back(launch(first, count, kStormThreads));
    return all;
  }

 private:
  long launches_;
};

class BlackScholes : public Workload {
 public:
  explicit BlackScholes(bool quick) {
    size = quick ? 1l << 21 : 1l << 24;
    const double options = 1e-9 * static_cast<double>(size);
    work = {"Goption/s", options, Limit::arithmetic, 2 * kInstructions * options};
    for (int i = 0; i < 5; ++i) buffers.emplace_back(size * sizeof(float));
    fill_uniform(buffers[0], 3, 5, 30);
    fill_uniform(buffers[1], 4, 1, 100);
    fill_uniform(buffers[2], 5, 0.25f, 10);
  }
  std::vector<Launch> launches() const override {
    return {{"black_scholes",
             "black_scholes",
             {blocks(size, 256), 1, 1},
             {256, 1, 1},
             {BufferArgument{0}, BufferArgument{1}, BufferArgument{2}, BufferArgument{3}, BufferArgument{4},
              kRate, kVolatility, static_cast<std::int32_t>(size)}}};
  }
  void reset() override {
    for (int i : {3, 4}) fill_unwritten(buffers[i]);
  }
  Result<void> verify() const override {  // absolute: prices are up to 100, computed in float
    Result<void> calls = compare(buffers[3].as<float>(), 1e-4, 1e-3, [](long i) { return price(i, true); });
    if (!calls.ok()) return calls;
    return compare(buffers[4].as<float>(), 1e-4, 1e-3, [](long i) { return price(i, false); });
  }

 private:
  static constexpr double kInstructions = 56;  ///< on floats, per option, in the PTX

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

}  // namespace

namespace workloads {

std::unique_ptr<Workload> saxpy(bool quick) { return std::make_unique<Saxpy>(quick ? 1l << 24 : 1l << 26); }
std::unique_ptr<Workload> black_scholes(bool quick) { return std::make_unique<BlackScholes>(quick); }
std::unique_ptr<Workload> one_launch(bool quick) { return std::make_unique<SmallBlocks>(1, quick); }
std::unique_ptr<Workload> launch_storm(bool quick) {
  return std::make_unique<SmallBlocks>(quick ? 1000 : 10000, quick);
}

}  // namespace workloads
}  // namespace bench
