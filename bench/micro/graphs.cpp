// Graphs of empty kernels: what the call of a launch costs per node, and what a node costs until all is over,
// beside the same launches into a stream.
#include <benchmark/benchmark.h>

#include <vector>

#include "raddle/executable_graph.h"

namespace bench {
namespace {

constexpr const char* kNullGraphPtx =
    ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry null_kernel()\n{\n\tret;\n}\n";
constexpr raddle::LaunchConfig kOneWarpNode{.grid = {1}, .block = {32}};
constexpr int kNodes = 1000;

enum class Shape { chain, wide, stream };

raddle::Result<void> rounds(benchmark::State& state, Shape shape, bool waits) {
  using raddle::ExecutableGraph;
  TRY_ASSIGN(raddle::Device device, raddle::Device::open());
  TRY_ASSIGN(raddle::Module module, device.load(kNullGraphPtx));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel("null_kernel"));
  ExecutableGraph graph(device);
  std::vector<ExecutableGraph::Dependency> after;
  for (int i = 0; i < kNodes; ++i) {
    TRY_ASSIGN(const ExecutableGraph::Node node, graph.add_launch(kernel, kOneWarpNode, {}, after));
    if (shape == Shape::chain) after = {{node}};
  }
  raddle::Stream& stream = device.default_stream();
  TRY(graph.launch(stream));
  TRY(device.synchronize());
  for (auto step : state) {
    if (shape != Shape::stream)
      TRY(graph.launch(stream));
    else
      for (int i = 0; i < kNodes; ++i) TRY(kernel.launch(kOneWarpNode));
    if (waits) {
      TRY(device.synchronize());
    } else {
      state.PauseTiming();
      TRY(device.synchronize());
      state.ResumeTiming();
    }
  }
  state.counters["s_per_node"] =
      benchmark::Counter(kNodes, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  return {};
}

void graphs(benchmark::State& state, Shape shape, bool waits) {
  if (raddle::Result<void> done = rounds(state, shape, waits); !done.ok())
    state.SkipWithError(done.error().to_string().c_str());
}

BENCHMARK_CAPTURE(graphs, chain_call, Shape::chain, false)->UseRealTime();
BENCHMARK_CAPTURE(graphs, chain, Shape::chain, true)->UseRealTime();
BENCHMARK_CAPTURE(graphs, wide_call, Shape::wide, false)->UseRealTime();
BENCHMARK_CAPTURE(graphs, wide, Shape::wide, true)->UseRealTime();
BENCHMARK_CAPTURE(graphs, stream, Shape::stream, true)->UseRealTime();

}  // namespace
}  // namespace bench
