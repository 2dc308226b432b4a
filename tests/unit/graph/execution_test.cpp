// Graphs on a device, from end to end.
#include "graph_test.h"

namespace raddle::graph {
namespace {

TEST(Execution, OneDispatch) {
  auto device = open_device();
  auto executor = Executor::open(device).value();
  const std::vector<std::uint32_t> in{1, 2, 3, 4};
  auto a = device.buffer(in).value();
  auto b = device.buffer<std::uint32_t>(4).value();
  executor.bind("a", a.address());
  executor.bind("b", b.address());
  Graph graph;
  const Resource from = graph.buffer("a", 16, Origin::input), to = graph.buffer("b", 16, Origin::output);
  graph.pass("scale").reads(from).writes(to).dispatch(code("scale"), {.grid = {1}, .block = {4}}, to, from, 10u, 0u);
  const auto report = executor.run(graph);
  RADDLE_ASSERT_OK(report);
  std::vector<std::uint32_t> out(4);
  RADDLE_ASSERT_OK(b.read(out));
  EXPECT_EQ(out, (std::vector<std::uint32_t>{11, 21, 31, 41}));
}

}  // namespace
}  // namespace raddle::graph
