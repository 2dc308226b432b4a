// What runs are measured to take, and that it decides later ones.
#include <cstdio>

#include "graph_test.h"

namespace raddle::graph {
namespace {

// proves: G-11a, G-11b, G-11c, G-11h
TEST(Execution, RunsAreMeasuredAndRemembered) {
  const std::string file = testing::TempDir() + "raddle_executor_history.json";
  std::remove(file.c_str());
  auto device = open_device();
  Graph graph;
  const Resource out = graph.buffer("out", 4096, Origin::in_out);
  graph.pass("fill").fill(out, 1);
  graph.pass("scale").read_writes(out).dispatch(code("scale"), {.grid = {4}, .block = {256}}, out, out, 3u);
  double measured = 0;
  {
    auto executor = Executor::open(device, {.history = file}).value();
    executor.provide("out", 4096).value();
    const auto report = executor.run(graph);
    RADDLE_ASSERT_OK(report);
    const std::uint32_t node = report->schedule->node_of({1});
    measured = report->times[node].end - report->times[node].begin;
    EXPECT_GT(measured, 0);
    EXPECT_GE(report->score.nanoseconds, measured);
    EXPECT_GT(report->score.serial, 0);
    EXPECT_GT(report->score.busy[Needs::slots], 0);
    const auto known = executor.history().find(History::key(graph, graph.passes()[1]));
    ASSERT_TRUE(known.has_value());
    EXPECT_DOUBLE_EQ(known->nanoseconds, measured);
    EXPECT_GT(known->occupancy, 0);
    EXPECT_DOUBLE_EQ(known->bytes_per_nanosecond, 8192 / measured);
  }
  auto executor = Executor::open(device, {.history = file}).value();  // another process's
  const auto schedule = executor.schedule(graph);
  RADDLE_ASSERT_OK(schedule);
  const Node& node = (*schedule)->nodes[(*schedule)->node_of({1})];
  EXPECT_NEAR(node.end - node.begin, measured, 1e-3 * measured);
  std::remove(file.c_str());
}

/// Of what it takes a draw says nothing: what it took is measured.
// proves: G-11a, G-11c
TEST(Execution, MeasuredOccupancyLetsPassesOverlap) {
  DeviceOptions options;
  options.shape = "tiny";  // two SMs of two such blocks
  auto device = open_device(options);
  auto executor = Executor::open(device).value();
  Graph graph;
  for (const char* name : {"one", "two"}) {
    executor.provide(name, 8192).value();
    const Resource out = graph.buffer(name, 8192, Origin::in_out);
    graph.pass(name).read_writes(out).command(
        Draw{name, [out](Recorder& recorder) -> Result<void> {
               TRY_ASSIGN(const Kernel kernel, recorder.kernel(code("scale")));
               TRY_ASSIGN(const DevicePtr address, recorder.address(out));
               const std::uint32_t factor = 3;
               const Argument arguments[] = {address, address, factor};
               return recorder.launch(kernel, {.grid = {2}, .block = {1024}}, arguments);
             }});
  }
  const auto first = executor.run(graph), second = executor.run(graph);
  RADDLE_ASSERT_OK(first);
  RADDLE_ASSERT_OK(second);
  EXPECT_DOUBLE_EQ(executor.history().find(History::key(graph, graph.passes()[0]))->occupancy, 0.5);
  const auto waits = [](const RunReport& report) { return report.schedule->edges.size(); };
  EXPECT_EQ(waits(*first), 1u) << "for all slots";
  EXPECT_EQ(waits(*second), 0u);
  EXPECT_EQ(read(executor, "two", 2048), Words(2048, 4));
}

}  // namespace
}  // namespace raddle::graph
