// The cost of a CTA in the distributor from launch to completion, live model and broadcast included: steady
// streams on 132 SMs, and a grid of one CTA from its addition to its end.
#include <benchmark/benchmark.h>

#include <deque>
#include <utility>
#include <vector>

#include "machine/distributor/distributor.h"

namespace bench {
namespace {

using namespace raddle::machine;

constexpr CtaNeeds kNeeds{.threads = 256, .warps = 8, .barriers = 1, .registers = 8192, .shared_bytes = 1024};

/// Resident CTAs, oldest first, as a ring: room for all that the machine holds.
class Residents final : public LaunchSink {
 public:
  void launch(const LaunchMask& mask) override {
    for (const std::uint32_t sm : mask.sms) ctas_[end_++ % kRoom] = {sm, mask.cluster};
  }
  std::pair<std::uint32_t, std::uint32_t> take() { return ctas_[begin_++ % kRoom]; }
  std::uint64_t count() const { return end_ - begin_; }

 private:
  static constexpr std::uint64_t kRoom = 8192;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ctas_{kRoom};
  std::uint64_t begin_ = 0, end_ = 0;
};

/// A batch of CTAs completes, then as many are launched.
void stream(benchmark::State& state, const GridKind& kind) {
  const MachineShape shape = std::move(*preset_shape("h200", 1));
  Distributor distributor(shape, std::move(*make_policy("lake")));
  Residents residents;
  Grid grid{.needs = kNeeds, .kind = kind, .ctas = 1ull << 62};
  distributor.add(grid);
  distributor.distribute(residents);
  const auto batch = static_cast<std::uint64_t>(state.range(0));
  for (auto step : state) {
    for (std::uint64_t i = 0; i < batch; ++i) {
      const auto [sm, cluster] = residents.take();
      if (kind.is_plain())
        distributor.complete(grid, sm, 1);
      else if (distributor.complete_in_cluster(grid, sm, cluster, 0).last)
        distributor.flush_all(cluster), distributor.cluster_complete(grid, cluster);
    }
    benchmark::DoNotOptimize(distributor.distribute(residents));
  }
  state.counters["s_per_cta"] =
      benchmark::Counter(static_cast<double>(batch),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

/// Grids of one CTA, one after the other, with as many kinds of needs.
void null_launch(benchmark::State& state) {
  const MachineShape shape = std::move(*preset_shape("h200", 1));
  Distributor distributor(shape, std::move(*make_policy("lake")));
  Residents residents;
  std::uint32_t number = 0;
  for (auto step : state) {
    Grid grid{.needs = kNeeds, .ctas = 1};
    grid.needs.threads += number++ % static_cast<std::uint32_t>(state.range(0));
    distributor.add(grid);
    distributor.distribute(residents);
    distributor.complete(grid, residents.take().first, 1);
  }
}

void plain(benchmark::State& state) { stream(state, {}); }
void clusters_of_4(benchmark::State& state) {
  GridKind kind;
  kind.depth = 1;
  kind.levels[0] = {Level::gpc, {4, 1, 1}};
  stream(state, kind);
}
BENCHMARK(plain)->Name("distribute/plain/batch")->Arg(1)->Arg(8)->Arg(32)->Arg(128);
BENCHMARK(clusters_of_4)->Name("distribute/clusters_of_4/batch")->Arg(8)->Arg(32);
BENCHMARK(null_launch)->Name("distribute/one_cta/kinds_of_needs")->Arg(1)->Arg(8)->Arg(64);

}  // namespace
}  // namespace bench
