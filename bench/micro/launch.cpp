// Launch latency of an empty kernel: back to back (target: under 2 microseconds each), and one launch awaited
// at a time. And what a block of a larger grid costs from launch to end, alone and in clusters.
#include <benchmark/benchmark.h>

#include <optional>

#include "raddle/raddle.h"

namespace bench {
namespace {

constexpr const char* kNullPtx =
    ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry null_kernel()\n{\n\tret;\n}\n";
constexpr raddle::LaunchConfig kOneWarp{.grid = {1}, .block = {32}};

raddle::Result<void> launch_rounds(benchmark::State& state, int launches_per_round) {
  TRY_ASSIGN(raddle::Device device, raddle::Device::open());
  TRY_ASSIGN(raddle::Module module, device.load(kNullPtx));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel("null_kernel"));
  TRY_ASSIGN([[maybe_unused]] const raddle::LaunchReport compiled, kernel.compile(kOneWarp.block));
  for (auto step : state) {
    for (int i = 0; i < launches_per_round; ++i) {
      TRY_ASSIGN(raddle::Launch launch, kernel.launch(kOneWarp));
      if (i + 1 < launches_per_round) continue;
      TRY(launch.wait());
    }
  }
  state.counters["s_per_launch"] = benchmark::Counter(
      launches_per_round, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  return {};
}

void null_launch(benchmark::State& state) {
  if (raddle::Result<void> done = launch_rounds(state, static_cast<int>(state.range(0))); !done.ok()) {
    state.SkipWithError(done.error().to_string().c_str());
  }
}
/// Grids of empty blocks, awaited.
raddle::Result<void> grid_rounds(benchmark::State& state, std::uint32_t cluster) {
  const raddle::LaunchConfig config{.grid = {8192}, .block = {128}, .cluster = {cluster, 1, 1}};
  TRY_ASSIGN(raddle::Device device, raddle::Device::open());
  TRY_ASSIGN(raddle::Module module, device.load(kNullPtx));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel("null_kernel"));
  TRY_ASSIGN([[maybe_unused]] const raddle::LaunchReport compiled, kernel.compile(config.block));
  for (auto step : state) {
    TRY_ASSIGN(raddle::Launch launch, kernel.launch(config));
    TRY(launch.wait());
  }
  state.counters["s_per_block"] = benchmark::Counter(
      config.grid.x, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  return {};
}

void blocks(benchmark::State& state) {
  if (raddle::Result<void> done = grid_rounds(state, static_cast<std::uint32_t>(state.range(0))); !done.ok())
    state.SkipWithError(done.error().to_string().c_str());
}
BENCHMARK(blocks)->Name("launch/blocks_in_clusters_of")->Arg(1)->Arg(2)->Arg(8)->UseRealTime();

BENCHMARK(null_launch)
    ->Name("launch/null/back_to_back")
    ->Arg(1000)
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();
BENCHMARK(null_launch)->Name("launch/null/awaited")->Arg(1)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
}  // namespace bench
