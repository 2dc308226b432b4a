// bench_graph: what task graphs cost. Building and scheduling graphs of 1,000 to 100,000 passes, each policy;
// running the same passes as a graph, one by one through a stream, and as a flow graph of oneTBB; memory with
// aliasing and without. Medians of several runs; one line each.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <random>

#include "raddle/graph.hpp"
#ifdef RADDLE_BENCH_TBB
#include <oneapi/tbb/flow_graph.h>
#endif

namespace raddle::graph {
namespace {

using Clock = std::chrono::steady_clock;

/// Median milliseconds.
double median_of(unsigned runs, const std::function<void()>& function) {
  std::vector<double> times;
  for (unsigned i = 0; i < runs; ++i) {
    const auto begin = Clock::now();
    function();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

const KernelCode& null_kernel() {
  static const KernelCode code = KernelCode::read(R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry nothing(.param .u64 p) { ret; }
)",
                                                  "nothing")
                                     .value();
  return code;
}

/// Passes that each read one or two of the last resources and write one: layers of a network, or of a frame.
Graph layered(unsigned passes, unsigned width, std::uint64_t bytes = 65536) {
  std::mt19937 random(1);
  Graph graph;
  graph.reserve(passes, passes);
  std::vector<Resource> last;
  for (unsigned i = 0; i < passes; ++i) {
    const Resource made = graph.buffer("r", bytes);
    PassBuilder pass = graph.pass("pass");
    pass.writes(made);
    if (!last.empty()) {
      const std::size_t window = std::min<std::size_t>(last.size(), width);
      pass.reads(last[last.size() - 1 - random() % window]);
      pass.reads(last[last.size() - 1 - random() % window]);
    }
    pass.dispatch(null_kernel(), {.grid = {4}, .block = {128}}, made);
    last.push_back(made);
  }
  return graph;
}

void schedules(const char* policy, unsigned passes, unsigned runs) {
  std::uint64_t peak = 0, plain = 0;
  const double build = median_of(runs, [&] { layered(passes, 16); });
  const double both = median_of(runs, [&] {
    const Graph graph = layered(passes, 16);
    Scheduler scheduler(Target{.sm_count = 132}, {.policy = policy});
    const auto schedule = scheduler.schedule(graph).value();
    peak = schedule->peak_bytes, plain = schedule->plain_bytes;
  });
  fmt::print(
      "schedule  {:>7} passes  {:<14} build {:8.3f} ms  build and schedule {:9.3f} ms  {:6.0f} ns a pass  "
      "memory {} of {} KiB\n",
      passes, policy, build, both, both * 1e6 / passes, peak >> 10, plain >> 10);
}

void reschedules(unsigned passes) {
  const Graph graph = layered(passes, 16);
  Scheduler scheduler(Target{.sm_count = 132});
  (void)scheduler.schedule(graph).value();
  const double same = median_of(21, [&] { (void)scheduler.schedule(graph).value(); });
  const Graph other = layered(passes, 16);
  unsigned turn = 0;
  const double equal =
      median_of(21, [&] { (void)scheduler.schedule(++turn % 2 != 0 ? other : graph).value(); });
  fmt::print("again     {:>7} passes  the same graph {:.3f} ms  an equal one {:.3f} ms\n", passes, same,
             equal);
}

#ifdef RADDLE_BENCH_TBB
double flow_graph(const Graph& graph) {
  namespace flow = oneapi::tbb::flow;
  Scheduler scheduler(Target{});
  const auto schedule = scheduler.schedule(graph).value();
  std::atomic<std::size_t> executed{0};
  flow::graph made;
  std::vector<std::unique_ptr<flow::continue_node<flow::continue_msg>>> nodes;
  flow::broadcast_node<flow::continue_msg> start(made);
  for (std::uint32_t i = 0; i < schedule->nodes.size(); ++i) {
    nodes.push_back(std::make_unique<flow::continue_node<flow::continue_msg>>(
        made, [&](const flow::continue_msg&) { ++executed; }));
    bool is_first = true;
    for (const Edge& edge : schedule->edges_of(i))
      if (is_dependency(edge.reason)) flow::make_edge(*nodes[edge.from], *nodes[i]), is_first = false;
    if (is_first) flow::make_edge(start, *nodes[i]);
  }
  const double time = median_of(31, [&] {
    start.try_put(flow::continue_msg());
    made.wait_for_all();
  });
  if (executed != 31 * nodes.size()) fmt::print("  ({} of {} nodes ran)", executed.load(), 31 * nodes.size());
  return time;
}
#endif

void executions(unsigned passes) {
  DeviceOptions options;
  Device device = Device::open(options).value();
  const Graph graph = layered(passes, 16, 4096);
  Executor executor = Executor::open(device, {.scheduler = {.split = false}}).value();
  (void)executor.run(graph).value();
  (void)executor.run(graph).value();
  const double whole = median_of(31, [&] { (void)executor.run(graph).value(); });
  auto module = device.load(*null_kernel().program()).value();
  Kernel kernel = module.kernel("nothing").value();
  const DevicePtr memory = device.allocate(4096).value();
  Stream stream = device.stream().value();
  const double serial = median_of(31, [&] {
    for (unsigned i = 0; i < passes; ++i)
      (void)kernel.launch({.grid = {4}, .block = {128}, .stream = &stream}, memory).value();
    (void)stream.synchronize();
  });
  fmt::print(
      "run       {:>7} passes  graph {:.3f} ms ({:.0f} ns a pass, scheduling and measuring with it)  stream "
      "{:.3f} ms",
      passes, whole, whole * 1e6 / passes, serial);
#ifdef RADDLE_BENCH_TBB
  fmt::print("  oneTBB flow graph of empty nodes {:.3f} ms\n", flow_graph(graph));
#else
  fmt::print("  (no oneTBB here: Debian's libtbb-dev)\n");
#endif
}

void memory() {
  for (const unsigned width : {4u, 64u}) {
    const Graph graph = layered(2000, width);
    fmt::print("memory    2000 passes over {} resources, 64 KiB each:", width);
    for (const char* policy : {"fastest", "least_memory", "program_order"}) {
      const auto peak = [&](bool alias) {
        Scheduler scheduler(Target{.sm_count = 132}, {.policy = policy, .alias = alias});
        return scheduler.schedule(graph).value()->peak_bytes;
      };
      fmt::print("  {} {} KiB", policy, peak(true) >> 10);
    }
    Scheduler plain(Target{.sm_count = 132}, {.alias = false});
    fmt::print("  without aliasing {} KiB\n", plain.schedule(graph).value()->peak_bytes >> 10);
  }
}

}  // namespace
}  // namespace raddle::graph

int main() {
  using namespace raddle::graph;
  for (const char* policy : {"fastest", "least_memory", "program_order", "random_order"})
    schedules(policy, 1000, 31);
  for (const unsigned passes : {10'000u, 100'000u}) schedules("fastest", passes, 5);
  schedules("least_memory", 100'000, 3);
  reschedules(1000);
  executions(1000);
  memory();
}
