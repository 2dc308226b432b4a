// Both forms of programs, and the two worked examples (G-6).
#include "graph_test.h"

namespace raddle::graph {
namespace {

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> result;
  for (const PassInfo& pass : graph.passes()) result.push_back(pass.name);
  return result;
}

/// Draws that record nothing: what they are is another library's.
Draw draw(const char* what) {
  return {what, [](Recorder&) -> Result<void> { return {}; }};
}

// The first example: passA = draw1, passB = draw2 and draw3.
struct FirstExample {
  Definition pass_a{"passA"}, pass_b{"passB"};
  FirstExample() {
    pass_a.imports("R1").exports("R2").commands([](PassBuilder& pass, const Arguments&) -> Result<void> {
      pass.command(draw("draw1"));
      return {};
    });
    pass_b.imports("R2").exports("R3").commands([](PassBuilder& pass, const Arguments&) -> Result<void> {
      pass.command(draw("draw2")).command(draw("draw3"));
      return {};
    });
  }
  Graph run(bool cond_a, bool cond_b) const {
    Graph graph;
    const Resource r1 = graph.buffer("R1", 64, Origin::input), r2 = graph.buffer("R2", 64),
                   r3 = graph.buffer("R3", 64, Origin::output);
    EXPECT_TRUE(pass_a.invoke(graph, {.views = {{"R1", r1}, {"R2", r2}}}).ok());
    if (cond_a) EXPECT_TRUE(pass_b.invoke(graph, {.views = {{"R2", r2}, {"R3", r3}}}).ok());
    if (cond_b) EXPECT_TRUE(pass_b.invoke(graph, {.views = {{"R2", r2}, {"R3", r3}}}).ok());
    return graph;
  }
};

// proves: G-2b, G-2h, G-3a, G-3f, G-4a, G-4b, G-4c, G-6a, G-6b, G-6c
TEST(Forms, FirstWorkedExample) {
  const FirstExample example;
  EXPECT_EQ(names(example.run(true, true)), (std::vector<std::string>{"passA", "passB", "passB"}));
  EXPECT_EQ(names(example.run(true, false)), (std::vector<std::string>{"passA", "passB"}));
  EXPECT_EQ(names(example.run(false, true)), (std::vector<std::string>{"passA", "passB"}));
  EXPECT_EQ(names(example.run(false, false)), (std::vector<std::string>{"passA"}));
  const Graph graph = example.run(true, true);
  EXPECT_EQ(graph.passes()[1].commands.size(), 2u);  // what draw2 makes for draw3 is no resource
  EXPECT_EQ(graph.resources().size(), 3u);
  Scheduler scheduler{Target{}};
  const auto schedule = scheduler.schedule(graph);
  RADDLE_ASSERT_OK(schedule);
  EXPECT_EQ((*schedule)->edges_of(1)[0].from, 0u);
  EXPECT_EQ((*schedule)->edges_of(1)[0].reason, Reason::read_after_write);
}

CommandTable draws() {
  CommandTable table;
  for (const char* name : {"draw1", "draw2", "draw3"})
    table.add(name, [name](const Arguments&) -> Result<Command> { return Command(draw(name)); });
  return table;
}

Graph second_example(bool b, CommandStream::Mode mode) {
  Graph graph;
  const Resource r1 = graph.buffer("R1", 64, Origin::input), r2 = graph.buffer("R2", 64, Origin::output),
                 r3 = graph.buffer("R3", 64, Origin::output), r5 = graph.buffer("R5", 64);
  CommandStream stream(graph, draws(), mode);
  stream.set_resources({r1}, {r2});
  EXPECT_TRUE(stream.command("draw1").ok());
  EXPECT_TRUE(stream.control_flow().ok());
  if (b) {
    stream.set_resources({r2}, {r5});
    EXPECT_TRUE(stream.command("draw2").ok());
    stream.set_resources({r5}, {r3});
    EXPECT_TRUE(stream.command("draw3").ok());
  }
  EXPECT_TRUE(stream.finish().ok());
  return graph;
}

// proves: G-5a, G-5b, G-5c, G-6d, G-6e
TEST(Forms, SecondWorkedExample) {
  const Graph with = second_example(true, {}), without = second_example(false, {});
  EXPECT_EQ(names(with), (std::vector<std::string>{"draw1", "draw2", "draw3"}));
  EXPECT_EQ(names(without), (std::vector<std::string>{"draw1"}));
  Scheduler scheduler{Target{}};
  const auto schedule = scheduler.schedule(with);
  RADDLE_ASSERT_OK(schedule);
  for (std::uint32_t node = 1; node < 3; ++node) {  // a chain
    ASSERT_GE((*schedule)->edges_of(node).size(), 1u);
    EXPECT_EQ((*schedule)->edges_of(node)[0].from, node - 1);
    EXPECT_TRUE(is_dependency((*schedule)->edges_of(node)[0].reason));
  }
}

// proves: G-5d
TEST(Forms, BlocksOfOneSeveralOrAnyCommands) {
  EXPECT_EQ(names(second_example(true, {.commands = 2})), (std::vector<std::string>{"draw1", "draw2+draw3"}));
  EXPECT_EQ(names(second_example(true, {.commands = 0})), (std::vector<std::string>{"draw1", "draw2+draw3"}));
  Graph graph;
  const Resource r = graph.buffer("r", 64, Origin::in_out);
  for (const std::uint32_t most : {0u, 1u, 2u, 3u}) {
    graph.clear_passes();
    CommandStream stream(graph, draws(), {.commands = most});
    for (unsigned i = 0; i < 5; ++i) {
      stream.set_resources({r}, {r});
      EXPECT_TRUE(stream.command("draw1").ok());
    }
    EXPECT_TRUE(stream.finish().ok());
    EXPECT_EQ(graph.passes().size(), most == 0 ? 1u : (5 + most - 1) / most) << most;
  }
}

// proves: G-5e, G-5g
TEST(Forms, BlocksThatDoNotEndInACommand) {
  for (const bool may : {false, true}) {
    Graph graph;
    const Resource a = graph.buffer("a", 64, Origin::in_out), b = graph.buffer("b", 64, Origin::in_out);
    CommandStream stream(graph, draws(), {.commands = 0, .may_end_without_command = may});
    stream.set_resources({a}, {});
    EXPECT_TRUE(stream.command("draw1").ok());
    stream.set_resources({b}, {});  // behind the last command before the branch
    EXPECT_TRUE(stream.control_flow().ok());
    stream.set_resources({}, {a});
    EXPECT_TRUE(stream.command("draw2").ok());
    EXPECT_TRUE(stream.finish().ok());
    ASSERT_EQ(graph.passes().size(), 2u);
    EXPECT_EQ(graph.passes()[0].accesses.size(), may ? 2u : 1u);
    EXPECT_EQ(graph.passes()[1].accesses.size(), may ? 1u : 2u);
  }
  Graph graph;
  const Resource a = graph.buffer("a", 64, Origin::in_out);
  CommandStream stream(graph, draws(), {.may_end_without_command = true});
  stream.set_resources({a}, {a});
  EXPECT_TRUE(stream.finish().ok());
  EXPECT_EQ(graph.passes().size(), 1u);  // without a command
}

// proves: G-5f, G-2g
TEST(Forms, StateStaysUntilItIsChanged) {
  Graph graph;
  const Resource a = graph.buffer("a", 16, Origin::in_out), b = graph.buffer("b", 16, Origin::in_out);
  CommandStream stream(graph);
  stream.set_state("kernel", code("scale"));
  stream.set_state("grid", std::int64_t{7});
  for (unsigned i = 0; i < 3; ++i) {
    if (i == 2) stream.set_state("grid", std::int64_t{9});
    stream.set_resources({a}, {b});
    RADDLE_ASSERT_OK(stream.command("dispatch", {.list = {b, a, i}}));
  }
  RADDLE_ASSERT_OK(stream.finish());
  std::vector<std::uint32_t> grids;
  for (const PassInfo& pass : graph.passes())
    grids.push_back(std::get<Dispatch>(pass.commands[0]).config.grid.x);
  EXPECT_EQ(grids, (std::vector<std::uint32_t>{7, 7, 9}));
}

// proves: G-5h
TEST(Forms, BlockWithoutResourcesIsAnErrorWithItsLine) {
  Graph graph;
  CommandStream stream(graph, draws());
  const unsigned line = __LINE__ + 1;
  const auto result = stream.command("draw1");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().where.line, line);
  EXPECT_NE(result.error().where.file.find("forms_test.cpp"), std::string::npos);
  EXPECT_NE(result.error().message.find("names no resources"), std::string::npos) << result.error().message;
  const auto unknown = stream.command("paint");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("draw1, draw2, draw3"), std::string::npos)
      << unknown.error().message;
}

// proves: G-3b, G-3c, G-3d, G-4d, G-4e, G-4f
TEST(Forms, LoopsMakePassesWithResourcesAndStateOfTheirOwn) {
  Definition step("step");
  step.imports("from").exports("to").state("factor", std::int64_t{1});
  step.commands([](PassBuilder& pass, const Arguments& with) -> Result<void> {
    TRY_ASSIGN(const View from, with.view("from"));
    TRY_ASSIGN(const View to, with.view("to"));
    TRY_ASSIGN(const std::int64_t factor, with.whole("factor"));
    pass.dispatch(code("scale"), {.grid = {1}, .block = {4}}, to, from, static_cast<std::uint32_t>(factor));
    return {};
  });
  auto device = open_device();
  auto executor = Executor::open(device).value();
  const DevicePtr in = executor.provide("in", 16).value();
  RADDLE_ASSERT_OK(device.fill(in, 0, 16));
  executor.provide("out", 16).value();
  for (const unsigned n : {1u, 3u}) {  // a parameter of the user
    const auto run = executor.run([&](Graph& graph) -> Result<void> {
      Resource from = graph.buffer("in", 16, Origin::input);
      for (unsigned i = 1; i <= n; ++i) {
        const Resource to = i == n ? graph.buffer("out", 16, Origin::output) : graph.buffer("t", 16);
        TRY(step.invoke(graph,
                        {.views = {{"from", from}, {"to", to}}, .state = {{"factor", std::int64_t{i}}}}));
        from = to;
      }
      return {};
    });
    RADDLE_ASSERT_OK(run);
    EXPECT_EQ(run->schedule->nodes.size(), n);
    std::uint32_t out[4];
    RADDLE_ASSERT_OK(executor.read("out", 0, out, 16));
    EXPECT_EQ(out[3], n == 1 ? 1u : (0 * 1 + 1) * 2 * 3 + 3 + 1u);
  }
}

TEST(Forms, InvocationsSayWhatIsMissingAndWhere) {
  const FirstExample example;
  Graph graph;
  const Resource r = graph.buffer("R1", 64, Origin::input);
  const unsigned line = __LINE__ + 1;
  const auto missing = example.pass_a.invoke(graph, {.views = {{"R1", r}}});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().where.line, line);
  EXPECT_NE(missing.error().message.find("'R2'"), std::string::npos) << missing.error().message;
  const auto unknown = example.pass_a.invoke(graph, {.views = {{"R1", r}, {"R2", r}, {"R9", r}}});
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("'R9'"), std::string::npos) << unknown.error().message;
}

}  // namespace
}  // namespace raddle::graph
