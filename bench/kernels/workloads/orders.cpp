// Rows that put elements in order or sum them in order: bitonic sort of short runs, radix sort of pairs,
// prefix sums of everything and of what a cluster has. Blocks of all but the first wait for one another.
#include <algorithm>

#include "data.h"
#include "makers.h"

namespace bench {
namespace {

class BitonicSort : public Workload {
 public:
  explicit BitonicSort(bool quick) {
    size = quick ? 1l << 20 : 1l << 23;
    // Runs of 2^10 keys take 10 * 11 / 2 steps; in each a key is the minimum or the maximum of two.
    work = {"Mkey/s", 1e-6 * static_cast<double>(size), Limit::arithmetic,
            2e-9 * 55 * static_cast<double>(size)};
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
  std::vector<Launch> launches() const override {
    return {
        {"bitonic_sort", "bitonic_sort", {blocks(size, kSortRun), 1, 1}, {512, 1, 1}, {BufferArgument{0}}}};
  }
  void reset() override { fill_hash(buffers[0], 13); }
  Result<void> verify() const override {
    return compare_exactly<std::uint32_t>(buffers[0].as<std::uint32_t>(), reference_);
  }

 private:
  std::vector<std::uint32_t> reference_;
};

/// Pairs of a key and its index. Buffers: keys, values, the same again for every other pass, counts, what
/// tiles publish, tickets.
class RadixSort : public Workload {
 public:
  explicit RadixSort(bool quick) {
    size = quick ? 1l << 20 : 1l << 22;
    tiles_ = blocks(size, 16l * kThreads);
    const double keys = 1e-9 * static_cast<double>(size);
    // Counting reads every key, and each of four passes reads and writes pairs.
    work = {"Mkey/s", 1e3 * keys, Limit::copy, (4 + 4 * 16) * keys};
    reset_each_run = true;
    for (int i = 0; i < 4; ++i) buffers.emplace_back(size * sizeof(std::uint32_t));
    buffers.emplace_back(kPasses * kCountBytes);
    buffers.emplace_back(kPasses * tiles_ * kCountBytes);
    buffers.emplace_back(kPasses * sizeof(std::uint32_t));
    compute_reference();
  }
  std::vector<Launch> launches() const override {
    const std::int32_t n = static_cast<std::int32_t>(size);
    std::vector<Launch> all = {
        {"radix_sort",
         "radix_count",
         {200, 1, 1},
         {kThreads, 1, 1},
         {BufferArgument{0}, BufferArgument{4}, n}},
        {"radix_sort", "radix_starts", {kPasses, 1, 1}, {256, 1, 1}, {BufferArgument{4}}}};
    for (int pass = 0; pass < kPasses; ++pass) {
      const int from = pass % 2 * 2, to = 2 - from;
      all.push_back(
          {"radix_sort",
           "radix_pass",
           {tiles_, 1, 1},
           {kThreads, 1, 1},
           {BufferArgument{from}, BufferArgument{from + 1}, BufferArgument{to}, BufferArgument{to + 1},
            BufferArgument{4, pass * kCountBytes}, BufferArgument{5, pass * long{tiles_} * kCountBytes},
            BufferArgument{6, pass * long{sizeof(std::uint32_t)}}, pass, n}});
    }
    return all;
  }
  void reset() override {
    fill_hash(buffers[0], 17);
    for (long i = 0; i < size; ++i) buffers[1].as<std::uint32_t>()[i] = static_cast<std::uint32_t>(i);
    for (int i : {2, 3}) fill_unwritten(buffers[i]);
    for (int i : {4, 5, 6}) clear(buffers[i]);
  }
  Result<void> verify() const override {
    const std::span<std::uint32_t> keys = buffers[0].as<std::uint32_t>(),
                                   values = buffers[1].as<std::uint32_t>();
    const long bad = first_wrong(
        size, [&](long i) { return (std::uint64_t{keys[i]} << 32 | values[i]) != reference_[i]; });
    if (bad < 0) return {};
    return Error::invalid("place {}: key {} with value {}, not key {} with value {}", bad, keys[bad],
                          values[bad], reference_[bad] >> 32, reference_[bad] & 0xffffffff);
  }

 private:
  static constexpr unsigned kThreads = 512;
  static constexpr int kPasses = 4;
  static constexpr long kCountBytes = 256 * sizeof(std::uint32_t);

  void compute_reference() {  // values rise with the place, so order of pairs is the stable order of keys
    for (long i = 0; i < size; ++i) {
      const std::uint32_t index = static_cast<std::uint32_t>(i);
      reference_.push_back(std::uint64_t{hash(17, index)} << 32 | index);
    }
    std::sort(reference_.begin(), reference_.end());
  }
  unsigned tiles_;
  std::vector<std::uint64_t> reference_;  ///< keys above values
};

/// Sums up to and including each element, modulo 2^32, that start anew after every `run` elements.
class PrefixSums : public Workload {
 protected:
  PrefixSums(bool quick, long run) {
    size = quick ? 1l << 22 : 1l << 25;
    const double bytes = 8e-9 * static_cast<double>(size);
    work = {"GB/s", bytes, Limit::copy, bytes};
    for (int i = 0; i < 2; ++i) buffers.emplace_back(size * sizeof(std::uint32_t));
    fill_hash(buffers[0], 18);
    std::uint32_t sum = 0;
    for (long i = 0; i < size; ++i) {
      if (i % (run == 0 ? size : run) == 0) sum = 0;
      reference_.push_back(sum += buffers[0].as<std::uint32_t>()[i]);
    }
  }
  static constexpr unsigned kThreads = kScanThreads;
  unsigned grid() const { return blocks(size, long{kThreads} * kScanItems); }

 public:
  void reset() override {
    fill_unwritten(buffers[1]);
    for (std::size_t i = 2; i < buffers.size(); ++i) clear(buffers[i]);
  }
  Result<void> verify() const override {
    return compare_exactly<std::uint32_t>(buffers[1].as<std::uint32_t>(), reference_);
  }

 private:
  std::vector<std::uint32_t> reference_;
};

class Scan : public PrefixSums {
 public:
  explicit Scan(bool quick) : PrefixSums(quick, 0) {
    reset_each_run = true;  // tiles and ticket
    buffers.emplace_back(grid() * sizeof(std::uint64_t));
    buffers.emplace_back(sizeof(std::uint32_t));
  }
  std::vector<Launch> launches() const override {
    return {{"scan_lookback",
             "scan_lookback",
             {grid(), 1, 1},
             {kThreads, 1, 1},
             {BufferArgument{0}, BufferArgument{1}, BufferArgument{2}, BufferArgument{3},
              static_cast<std::int32_t>(size)}}};
  }
};

class ClusterScan : public PrefixSums {
 public:
  explicit ClusterScan(bool quick) : PrefixSums(quick, kClusterRun) {}
  std::vector<Launch> launches() const override {
    Launch launch{"cluster_scan",
                  "cluster_scan",
                  {grid(), 1, 1},
                  {kThreads, 1, 1},
                  {BufferArgument{0}, BufferArgument{1}, static_cast<std::int32_t>(size)}};
    launch.cluster = kClusterRun / (kThreads * kScanItems);
    return {launch};
  }
};

}  // namespace

namespace workloads {

std::unique_ptr<Workload> bitonic_sort(bool quick) { return std::make_unique<BitonicSort>(quick); }
std::unique_ptr<Workload> radix_sort(bool quick) { return std::make_unique<RadixSort>(quick); }
std::unique_ptr<Workload> scan(bool quick) { return std::make_unique<Scan>(quick); }
std::unique_ptr<Workload> cluster_scan(bool quick) { return std::make_unique<ClusterScan>(quick); }

}  // namespace workloads
}  // namespace bench
