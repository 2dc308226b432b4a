// Graphs on what a GPU's driver offers: Raddle's own libcuda.so.1 stands in for NVIDIA's, and is asked as
// that would be.
#include "graph_test.h"

namespace raddle::graph {
namespace {

constexpr LaunchConfig one_block() { return {.grid = {1}, .block = {16}}; }

/// What it is and what it was go from run to run.
void add_passes(Graph& graph, std::uint32_t factor) {
  const Resource out = graph.buffer("out", 64, Origin::in_out),
                 state = graph.buffer("state", 64, Origin::temporal);
  const Resource a = graph.buffer("a", 64), b = graph.buffer("b", 64);
  graph.pass("copy").reads(graph.previous(state)).writes(a).copy(a, graph.previous(state));
  graph.pass("fill").fill(b, 3);
  graph.pass("scale").reads(a).writes(state).dispatch(code("scale"), one_block(), state, a, factor);
  graph.pass("add").read_writes(out).reads(b).dispatch(code("accumulate"), one_block(), out, b);
  graph.pass("add the state")
      .read_writes(out)
      .reads(state)
      .dispatch(code("accumulate"), one_block(), out, state);
}

// proves: G-19e
TEST(GpuTarget, DoesWhatADeviceDoes) {
  auto device = open_device();
  const ExecutorOptions options{.scheduler = {.policy = "program_order"}};  // whatever is measured
  auto here = Executor::open(device, options).value();
  auto there = Executor::open_gpu(options, RADDLE_LIBCUDA).value();
  EXPECT_EQ(there.target().kind, Target::Kind::gpu);
  EXPECT_EQ(there.target().sm_count, 132u);
  for (Executor* executor : {&here, &there}) {
    executor->provide("out", 64).value();
    for (const std::uint32_t factor : {2u, 2u, 5u}) {
      Graph graph;
      add_passes(graph, factor);
      const auto report = executor->run(graph);
      RADDLE_ASSERT_OK(report);
      EXPECT_GT(report->score.nanoseconds, 0);
      EXPECT_GT(report->score.serial, 0);
      for (std::uint32_t node = 0; node < report->times.size(); ++node)
        for (const Edge& edge : report->schedule->edges_of(node))
          EXPECT_LE(report->times[edge.from].end, report->times[node].end);
    }
  }
  EXPECT_EQ(read(there, "out", 16), read(here, "out", 16));
  EXPECT_EQ(read(there, "out", 1)[0], 3u * 3 + 1 + 3 + 16);
  EXPECT_EQ(read(there, "state", 16), Words(16, 16));
  EXPECT_LE(there.plans(), 2u) << "two memories take turns";
  EXPECT_EQ(there.history().size(), 5u);
}

TEST(GpuTarget, RefusesWhatItHasNot) {
  auto executor = Executor::open_gpu({}, RADDLE_LIBCUDA).value();
  executor.provide("out", 64).value();
  Graph draws;
  const unsigned line = __LINE__ + 1;
  draws.pass("draw")
      .writes(draws.buffer("out", 64, Origin::output))
      .command(Draw{"a", [](Recorder&) -> Result<void> { return {}; }});
  const auto drawn = executor.run(draws);
  ASSERT_FALSE(drawn.ok());
  EXPECT_EQ(drawn.error().code, ErrorCode::unsupported);
  EXPECT_EQ(drawn.error().where.line, line);
  Graph bodies;
  bodies.pass("body").writes(bodies.buffer("out", 64, Origin::output)).body([](Recorder&) -> Result<void> {
    return {};
  });
  const auto body = executor.run(bodies);
  ASSERT_FALSE(body.ok());
  EXPECT_NE(body.error().to_string().find("pass 'body'"), std::string::npos) << body.error().to_string();
  Graph unbound;
  unbound.pass("p").fill(unbound.buffer("nowhere", 64, Origin::output), 1);
  EXPECT_EQ(executor.run(unbound).error().code, ErrorCode::not_found);
  executor.bind("nowhere", executor.provide("small", 16).value());
  EXPECT_EQ(executor.run(unbound).error().code, ErrorCode::invalid);
  auto on_device = Executor::open_gpu({.sides = {Side::device, Side::host, false}}, RADDLE_LIBCUDA).value();
  EXPECT_EQ(on_device.run([](Graph&) -> Result<void> { return {}; }).error().code, ErrorCode::unsupported);
  EXPECT_EQ(Executor::open_gpu({}, "libnothing.so.7").error().code, ErrorCode::not_found);
}

/// Launches stay whole; copies are split as everywhere.
TEST(GpuTarget, SplitsNoLaunches) {
  auto executor = Executor::open_gpu({}, RADDLE_LIBCUDA).value();
  constexpr std::uint32_t kBlocks = 1 << 18;
  constexpr std::uint64_t kBytes = std::uint64_t{kBlocks} * 32 * 4;
  executor.provide("out", kBytes).value();
  Graph graph;
  const Resource out = graph.buffer("out", kBytes, Origin::in_out);
  graph.pass("fill").fill(out, 3);
  graph.pass("scale")
      .read_writes(out, {.bytes_per_block = 128})
      .dispatch(code("scale"), {.grid = {kBlocks}, .block = {32}}, out, out, 2u);
  const auto schedule = executor.schedule(graph);
  RADDLE_ASSERT_OK(schedule);
  EXPECT_EQ((*schedule)->splits, 1u);
  for (const PassInfo& pass : (*schedule)->graph->passes()) EXPECT_EQ(pass.pieces == 1, pass.name == "scale");
}

}  // namespace
}  // namespace raddle::graph
