// Graphs on a device, from end to end.
#include <atomic>
#include <cstdio>
#include <thread>

#include "graph_test.h"

namespace raddle::graph {
namespace {

// proves: G-2a, G-1f
TEST(Execution, OneDispatch) {
  auto device = open_device();
  auto executor = Executor::open(device).value();
  const Words in{1, 2, 3, 4};
  auto a = device.buffer(in).value();
  auto b = device.buffer<std::uint32_t>(4).value();
  executor.bind("a", a.address());
  executor.bind("b", b.address());
  Graph graph;
  const Resource from = graph.buffer("a", 16, Origin::input), to = graph.buffer("b", 16, Origin::output);
  graph.pass("scale").reads(from).writes(to).dispatch(code("scale"), {.grid = {1}, .block = {4}}, to, from,
                                                      10u);
  const auto report = executor.run(graph);
  RADDLE_ASSERT_OK(report);
  Words out(4);
  RADDLE_ASSERT_OK(b.read(out));
  EXPECT_EQ(out, (Words{11, 21, 31, 41}));
}

// proves: G-1h, G-2c, G-2f
TEST(Execution, CopiesFillsClearsAndCalls) {
  auto device = open_device();
  auto executor = Executor::open(device, {.scheduler = {.policy = "program_order"}}).value();
  executor.provide("out", 64).value();
  Graph graph;
  const Resource t = graph.buffer("t", 64), out = graph.buffer("out", 64, Origin::output);
  const Resource image = graph.image(
      "image", {.format = {ChannelType::unsigned32, 1}, .width = 2, .height = 2, .layers = 2, .mips = 2});
  std::atomic<int> called{0};
  graph.pass("fill").fill(t, 7);
  graph.pass("clear").clear(View::range(t, 0, 8));
  graph.pass("fill image").fill(image, 9);
  graph.pass("fill level").fill(View::levels(image, 1).of_layers(1), 5);
  graph.pass("copy").copy(out, t);
  graph.pass("copy image").copy(View::range(out, 16, 8), View::levels(image, 1));
  graph.pass("call").reads(out, {.unit = Unit::host}).call([&] { ++called; });
  RADDLE_ASSERT_OK(executor.run(graph));
  EXPECT_EQ(read(executor, "out", 8), (Words{0, 0, 7, 7, 9, 5, 7, 7}));
  EXPECT_EQ(called, 1);
  RADDLE_ASSERT_OK(executor.run(graph));
  EXPECT_EQ(called, 2);
  EXPECT_EQ(executor.plans(), 1u);  // the second run made nothing
}

// proves: G-20a, G-20b
TEST(Execution, BodiesAreCalledWhenTheirPassExecutes) {
  auto device = open_device();
  auto executor = Executor::open(device).value();
  executor.provide("out", 16).value();
  bool is_built = false;
  std::atomic<int> calls{0};
  Definition body("body");
  body.imports("from").exports("to").state("factor", std::int64_t{3});
  body.body([&](Recorder& recorder, const Arguments& with) -> Result<void> {
    EXPECT_TRUE(is_built);
    ++calls;
    TRY_ASSIGN(const View from, with.view("from"));
    TRY_ASSIGN(const View to, with.view("to"));
    TRY_ASSIGN(const std::int64_t factor, with.whole("factor"));
    TRY_ASSIGN(const DevicePtr source, recorder.address(from));
    TRY_ASSIGN(const DevicePtr target, recorder.address(to));
    TRY_ASSIGN(const Kernel kernel, recorder.kernel(code("scale")));
    const auto number = static_cast<std::uint32_t>(factor);
    const Argument arguments[] = {target, source, number};
    return recorder.launch(kernel, {.grid = {1}, .block = {4}}, arguments);
  });
  Graph graph;
  const Resource t = graph.buffer("t", 16), u = graph.buffer("u", 16),
                 out = graph.buffer("out", 16, Origin::output);
  graph.pass("fill").fill(t, 5);
  RADDLE_ASSERT_OK(body.invoke(graph, {.views = {{"from", t}, {"to", u}}}));
  graph.pass("copy").copy(out, u);
  is_built = true;
  EXPECT_EQ(calls, 0);
  RADDLE_ASSERT_OK(executor.run(graph));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(read(executor, "out", 4), (Words{16, 16, 16, 16}));
}

TEST(Execution, ErrorsOfBodiesEndTheRun) {
  auto device = open_device();
  auto executor = Executor::open(device).value();
  Graph graph;
  const Resource t = graph.buffer("t", 16);
  const unsigned line = __LINE__ + 1;
  graph.pass("bad").writes(t).body([](Recorder&) -> Result<void> { return Error::invalid("no ink"); });
  graph.pass("next").reads(t).body([](Recorder&) -> Result<void> {
    ADD_FAILURE() << "the run goes on";
    return {};
  });
  const auto report = executor.run(graph);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().where.line, line);
  EXPECT_EQ(report.error().message, "pass 'bad': no ink");
}

TEST(Execution, TemporalResourcesHaveTheLastRunsValue) {
  auto device = open_device();
  auto executor = Executor::open(device).value();
  Graph graph;
  const Resource state = graph.buffer("state", 16, Origin::temporal), before = graph.previous(state);
  graph.pass("step").reads(before).writes(state).dispatch(code("scale"), {.grid = {1}, .block = {4}}, state,
                                                          before, 2u);
  for (const std::uint32_t expected : {1u, 3u, 7u, 15u, 31u}) {
    RADDLE_ASSERT_OK(executor.run(graph));
    EXPECT_EQ(read(executor, "state", 4), Words(4, expected));
  }
  EXPECT_EQ(executor.plans(), 2u);  // one for each memory
}

// Draws and bodies see the outer graph's memory by the names of their own.
TEST(Execution, SubGraphsRecord) {
  const auto scale_by = [](const View& to, const View& from, std::uint32_t factor) {
    return [=](Recorder& recorder) -> Result<void> {
      TRY_ASSIGN(const Kernel kernel, recorder.kernel(code("scale")));
      TRY_ASSIGN(const DevicePtr target, recorder.address(to));
      TRY_ASSIGN(const DevicePtr source, recorder.address(from));
      const Argument arguments[] = {target, source, factor};
      return recorder.launch(kernel, {.grid = {1}, .block = {2}}, arguments);
    };
  };
  auto inner = std::make_shared<Graph>();
  const Resource x = inner->buffer("x", 16, Origin::in_out), t = inner->buffer("t", 8);
  const View low = View::range(x, 0, 8), high = View::range(x, 8, 8);
  inner->pass("draw").reads(low).writes(t).command(Draw{"scale", scale_by(t, low, 2)});
  inner->pass("body").reads(t).writes(high).body(scale_by(high, t, 10));
  auto middle = std::make_shared<Graph>();
  const Resource y = middle->buffer("y", 32, Origin::in_out);
  middle->pass("in the middle").include(inner, {{x, View::range(y, 16, 16)}});
  Graph graph;
  const Resource out = graph.buffer("out", 64, Origin::in_out);
  graph.pass("fill").fill(out, 1);
  graph.pass("first").include(middle, {{y, View::range(out, 0, 32)}});
  graph.pass("second").include(middle, {{y, View::range(out, 32, 32)}});
  auto device = open_device();
  auto executor = Executor::open(device).value();
  executor.provide("out", 64).value();
  RADDLE_ASSERT_OK(executor.run(graph));
  EXPECT_EQ(read(executor, "out", 16), (Words{1, 1, 1, 1, 1, 1, 31, 31, 1, 1, 1, 1, 1, 1, 31, 31}));
  inner->pass("of another graph").writes(t).body(scale_by(View(Resource{17}), t, 1));
  const auto refused = executor.run(graph);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("the sub-graph does not have"), std::string::npos)
      << refused.error().message;
}

TEST(Execution, SubGraphsAreInPlace) {
  auto inner = std::make_shared<Graph>();
  const Resource from = inner->buffer("from", 16, Origin::input),
                 to = inner->buffer("to", 16, Origin::output), t = inner->buffer("t", 16);
  inner->pass("one").reads(from).writes(t).dispatch(code("scale"), {.grid = {1}, .block = {4}}, t, from, 2u);
  inner->pass("two").reads(t).writes(to).dispatch(code("scale"), {.grid = {1}, .block = {4}}, to, t, 2u);
  Graph graph;
  const Resource out = graph.buffer("out", 32, Origin::in_out);
  graph.pass("start").fill(View::range(out, 0, 16), 1);
  graph.pass("sub").include(inner, {{from, View::range(out, 0, 16)}, {to, View::range(out, 16, 16)}});
  graph.pass("again").include(inner, {{from, View::range(out, 16, 16)}, {to, View::range(out, 0, 16)}});
  auto device = open_device();
  auto executor = Executor::open(device).value();
  executor.provide("out", 32).value();
  const auto report = executor.run(graph);
  RADDLE_ASSERT_OK(report);
  EXPECT_EQ(report->schedule->nodes.size(), 5u);
  EXPECT_EQ(read(executor, "out", 8), (Words{31, 31, 31, 31, 7, 7, 7, 7}));
  Graph wrong;
  const Resource small = wrong.buffer("small", 8, Origin::in_out);
  const unsigned line = __LINE__ + 1;
  wrong.pass("sub").include(inner, {{from, small}, {to, small}});
  const auto refused = executor.run(wrong);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().where.line, line);
}

// proves: G-13a
TEST(Execution, PiecesOfAPassDoAllOfIt) {
  DeviceOptions options;
  options.shape = "tiny";
  auto device = open_device(options);
  auto executor = Executor::open(device).value();
  constexpr std::uint32_t kBlocks = 4096, kThreads = 32;
  constexpr std::uint64_t kBytes = std::uint64_t{kBlocks} * kThreads * 4;
  executor.provide("in", kBytes).value();
  executor.provide("out", kBytes).value();
  Graph graph;
  const Resource in = graph.buffer("in", kBytes, Origin::in_out), t = graph.buffer("t", kBytes),
                 out = graph.buffer("out", kBytes, Origin::output);
  const Usage by_block{.bytes_per_block = kThreads * 4};
  graph.pass("fill").fill(in, 3);
  graph.pass("one")
      .reads(in, by_block)
      .writes(t, by_block)
      .dispatch(code("scale"), {.grid = {kBlocks}, .block = {kThreads}}, t, in, 2u);
  graph.pass("two")
      .reads(t, by_block)
      .writes(out, by_block)
      .dispatch(code("scale"), {.grid = {kBlocks}, .block = {kThreads}}, out, t, 2u);
  const auto report = executor.run(graph);
  RADDLE_ASSERT_OK(report);
  EXPECT_EQ(report->schedule->splits, 2u);
  EXPECT_EQ(read(executor, "out", kBytes / 4), Words(kBytes / 4, 15));
}

// proves: G-7a, G-7b, G-7c, G-7d, G-7e
TEST(Execution, ProgramAndSchedulerStandWhereTheyAreTold) {
  auto device = open_device();
  const auto here = std::this_thread::get_id();
  std::vector<std::string> shapes;
  for (const Sides sides : {Sides{Side::host, Side::host, false}, Sides{Side::device, Side::device, false},
                            Sides{Side::host, Side::device, false}, Sides{Side::device, Side::device, true},
                            Sides{Side::host, Side::host, true}}) {
    ExecutorOptions options;
    options.sides = sides;
    auto executor = Executor::open(device, options).value();
    executor.provide("out", 16).value();
    bool on_host = false;
    const auto report = executor.run([&](Graph& graph) -> Result<void> {
      on_host = std::this_thread::get_id() == here;
      const Resource t = graph.buffer("t", 16), u = graph.buffer("u", 16),
                     out = graph.buffer("out", 16, Origin::output);
      graph.pass("fill").fill(t, 5);
      graph.pass("other").fill(u, 6);
      graph.pass("scale").reads(t).writes(out).dispatch(code("scale"), {.grid = {1}, .block = {4}}, out, t,
                                                        2u);
      graph.pass("sum").reads(u).read_writes(out).dispatch(code("accumulate"), {.grid = {1}, .block = {4}},
                                                           out, u);
      return {};
    });
    RADDLE_ASSERT_OK(report);
    EXPECT_EQ(on_host, sides.program == Side::host);
    EXPECT_EQ(read(executor, "out", 4), Words(4, 17));
    std::string shape;
    for (std::uint32_t node = 0; node < report->schedule->nodes.size(); ++node)
      shape +=
          report->schedule->node_name(node) + fmt::format("<{} ", report->schedule->edges_of(node).size());
    shapes.push_back(shape);
  }
  for (const std::string& shape : shapes) EXPECT_EQ(shape, shapes[0]);
  ExecutorOptions apart;
  apart.sides = {Side::host, Side::device, true};
  EXPECT_FALSE(Executor::open(device, apart).value().run([](Graph&) -> Result<void> { return {}; }).ok());
}

// proves: G-3e
TEST(Execution, ProgramsUseWhatTheDeviceMade) {
  auto device = open_device();
  auto executor = Executor::open(device).value();
  executor.provide("value", 16).value();
  std::vector<std::size_t> passes;
  for (unsigned run = 0; run < 4; ++run) {
    const auto report = executor.run([&](Graph& graph) -> Result<void> {
      std::uint32_t value = 0;
      TRY(executor.read("value", 0, &value, 4));
      const Resource r = graph.buffer("value", 16, Origin::in_out), t = graph.buffer("t", 16);
      for (std::uint32_t i = 0; i <= value; ++i) {  // 1, 2, 4 passes more
        graph.pass("scale").reads(r).writes(t).dispatch(code("scale"), {.grid = {1}, .block = {4}}, t, r, 1u);
        graph.pass("back").copy(r, t);
      }
      return {};
    });
    RADDLE_ASSERT_OK(report);
    passes.push_back(report->schedule->nodes.size());
  }
  EXPECT_EQ(passes, (std::vector<std::size_t>{2, 4, 8, 16}));
}

/// From the host's data to the host's answer, and nothing beside it.
// proves: G-1b
TEST(Execution, AGraphIsAWholeWorkload) {
  auto device = open_device();
  auto executor = Executor::open(device).value();
  Words inputs = {1, 2, 3, 4};
  std::uint32_t answer = 0;
  Graph graph;
  const Resource in = graph.buffer("in", 16), twice = graph.buffer("twice", 16),
                 sum = graph.buffer("sum", 16);
  const auto on_host = [&](const Resource& resource, std::function<Result<void>(Device&, DevicePtr)> work) {
    return Body{[resource, work](Recorder& recorder) -> Result<void> {
      TRY_ASSIGN(const DevicePtr address, recorder.address(resource));
      return work(recorder.device(), address);
    }};
  };
  const Usage host{.unit = Unit::host};
  graph.pass("upload").writes(in, host).command(
      on_host(in, [&](Device& on, DevicePtr to) { return on.write(to, inputs.data(), 16); }));
  graph.pass("twice").reads(in).writes(twice).dispatch(code("scale"), {.grid = {1}, .block = {4}}, twice, in,
                                                       2u);
  graph.pass("start").copy(sum, in);
  graph.pass("add").read_writes(sum).reads(twice).dispatch(code("accumulate"), {.grid = {1}, .block = {4}},
                                                           sum, twice);
  graph.pass("answer").reads(sum, host).command(on_host(sum, [&](Device& on, DevicePtr from) -> Result<void> {
    Words words(4);
    TRY(on.read(words.data(), from, 16));
    for (const std::uint32_t word : words) answer += word;
    return {};
  }));
  for (unsigned run = 0; run < 2; ++run) {
    RADDLE_ASSERT_OK(executor.run(graph));
    EXPECT_EQ(answer, 34u) << "3 * (1 + 2 + 3 + 4) + 4";
    answer = 0;
  }
}

// Two passes that end only if they run at the same time.
// proves: G-8f, G-10a
TEST(Execution, IndependentPassesReallyOverlap) {
  for (const unsigned workers : {1u, 2u}) {
    DeviceOptions options;
    options.time_limit = std::chrono::seconds(20);
    options.workers = workers;
    auto device = open_device(options);
    auto executor = Executor::open(device).value();
    executor.provide("flags", 8).value();
    Graph graph;
    const Resource flags = graph.buffer("flags", 8, Origin::in_out);
    const Usage shared{.unordered = true};
    const LaunchConfig one_thread{.grid = {1}, .block = {1}};
    graph.pass("clear").clear(flags);
    graph.pass("one").read_writes(flags, shared).dispatch(code("meet"), one_thread, flags, 0u, 1u);
    graph.pass("other").read_writes(flags, shared).dispatch(code("meet"), one_thread, flags, 1u, 0u);
    const auto report = executor.run(graph);
    RADDLE_ASSERT_OK(report);
    const NodeTimes one = report->times[report->schedule->node_of({1})];
    const NodeTimes other = report->times[report->schedule->node_of({2})];
    EXPECT_LT(one.begin, other.end);
    EXPECT_LT(other.begin, one.end);
  }
}

// proves: G-11b, G-11d
TEST(Execution, WhatWasMeasuredChangesTheNextSchedule) {
  auto device = open_device();
  auto executor = Executor::open(device).value();
  executor.provide("a", 64 * 32 * 4).value();
  executor.provide("b", 4).value();
  Graph graph;
  const Resource a = graph.buffer("a", 64 * 32 * 4, Origin::in_out), b = graph.buffer("b", 4, Origin::output);
  Needs most;
  most.share[Needs::slots] = 0.6f;
  graph.pass("looks long")
      .read_writes(a)
      .needs(most)
      .dispatch(code("scale"), {.grid = {64}, .block = {32}}, a, a, 2u);
  graph.pass("is long").writes(b).needs(most).dispatch(code("spin"), {.grid = {1}, .block = {1}}, b,
                                                       200'000u);
  const auto first = executor.run(graph), second = executor.run(graph);
  RADDLE_ASSERT_OK(first);
  RADDLE_ASSERT_OK(second);
  EXPECT_EQ(first->schedule->nodes[0].pass, 0u);
  EXPECT_EQ(second->schedule->nodes[0].pass, 1u);
}

// proves: G-11a
TEST(Execution, MemoryThatIsLeftNowIsTheLimit) {
  DeviceOptions options;
  options.memory_bytes = 64 << 20;
  auto device = open_device(options);
  auto executor = Executor::open(device).value();
  Graph graph;
  std::vector<Resource> all;
  for (unsigned i = 0; i < 8; ++i) all.push_back(graph.buffer("r", 4 << 20));
  for (const Resource each : all) graph.pass("fill").fill(each, 1);
  for (const Resource each : all) graph.pass("use").reads(each);
  const auto wide = executor.run(graph);
  RADDLE_ASSERT_OK(wide);
  // Other work of the device's takes most of it.
  std::vector<DevicePtr> others;
  auto narrow_executor = Executor::open(device).value();
  while (device.memory_used() < (56u << 20)) others.push_back(device.allocate(1 << 20).value());
  const auto narrow = narrow_executor.run(graph);
  RADDLE_ASSERT_OK(narrow);
  EXPECT_LE(narrow->schedule->peak_bytes, 8u << 20);
  while (device.memory_used() < (62u << 20)) others.push_back(device.allocate(1 << 20).value());
  auto none = Executor::open(device).value();
  EXPECT_EQ(none.run(graph).error().code, ErrorCode::out_of_memory);
}

// Each run builds its graph anew: the same work with other arguments.
TEST(Execution, EqualGraphsChangeTheWorkThatIsThere) {
  auto device = open_device();
  auto executor = Executor::open(device, {.scheduler = {.policy = "program_order"}}).value();
  executor.provide("out", 16).value();
  std::uint32_t called = 0;
  for (std::uint32_t run = 1; run <= 5; ++run) {
    RADDLE_ASSERT_OK(executor.run([&](Graph& graph) -> Result<void> {
      const Resource t = graph.buffer("t", 16), out = graph.buffer("out", 16, Origin::output);
      graph.pass("fill").fill(t, run);
      graph.pass("scale").reads(t).writes(out).dispatch(code("scale"), {.grid = {1}, .block = {4}}, out, t,
                                                        run);
      graph.pass("call").reads(out, {.unit = Unit::host}).call([&called, run] { called = run; });
      return {};
    }));
    EXPECT_EQ(read(executor, "out", 4), Words(4, run * run + 1));
    EXPECT_EQ(called, run);
  }
  EXPECT_EQ(executor.plans(), 1u);
  RADDLE_ASSERT_OK(executor.run([&](Graph& graph) -> Result<void> {
    const Resource t = graph.buffer("t", 16), out = graph.buffer("out", 16, Origin::output);
    graph.pass("fill").fill(t, 1);
    graph.pass("copy").reads(t).writes(out).body(
        [=](Recorder& recorder) -> Result<void> {  // another kind of work
          TRY_ASSIGN(const DevicePtr to, recorder.address(out));
          return recorder.fill({.to = to, .word = 77, .word_bytes = 4, .width = 4});
        });
    graph.pass("call").reads(out, {.unit = Unit::host}).call([] {});
    return {};
  }));
  EXPECT_EQ(read(executor, "out", 4), Words(4, 77));
}

TEST(Execution, BindingsAreChecked) {
  auto device = open_device();
  auto executor = Executor::open(device).value();
  Graph graph;
  const Resource a = graph.buffer("a", 64, Origin::in_out);
  graph.pass("fill").fill(a, 1);
  EXPECT_EQ(executor.run(graph).error().code, ErrorCode::not_found);
  auto small = device.buffer<std::uint32_t>(4).value();
  executor.bind("a", small.address());
  const auto refused = executor.run(graph);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("'a' has 64 bytes, and the memory that is bound to it has 16"),
            std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(executor.read("b", 0, nullptr, 0).ok());
}

// proves: G-19d
TEST(Execution, TheHostsProcessorIsATarget) {
  DeviceOptions options;
  options.shape = "host";
  auto device = open_device(options);
  auto executor = Executor::open(device, {.target = Target::Kind::host}).value();
  executor.provide("out", 16).value();
  Graph graph;
  const Resource t = graph.buffer("t", 16), out = graph.buffer("out", 16, Origin::output);
  graph.pass("fill").fill(t, 5);
  graph.pass("scale").reads(t).writes(out).dispatch(code("scale"), {.grid = {1}, .block = {4}}, out, t, 2u);
  const auto report = executor.run(graph);
  RADDLE_ASSERT_OK(report);
  EXPECT_EQ(report->schedule->target, "host");
  EXPECT_EQ(read(executor, "out", 4), Words(4, 11));
}

TEST(Execution, DrawsAreRecordedWhenAddressesAreKnown) {
  auto device = open_device();
  auto executor = Executor::open(device).value();
  executor.provide("out", 64).value();
  Graph graph;
  const Resource image =
      graph.image("image", {.format = {ChannelType::unsigned32, 1}, .width = 4, .height = 4});
  const Resource out = graph.buffer("out", 64, Origin::output);
  graph.pass("scene")
      .writes(image, {.unit = Unit::draw})
      .draw("flat", [&](Recorder& recorder) -> Result<void> {
        TRY_ASSIGN(const Image target, recorder.image(image));
        EXPECT_EQ(target.levels[0].row_pitch, 16u);
        TRY(recorder.fill({.to = target.levels[0].address, .word = 1, .word_bytes = 4, .width = 16}));
        return recorder.fill(
            {.to = target.levels[0].address, .word = 2, .word_bytes = 4, .width = 4});  // in order
      });
  graph.pass("copy").copy(out, image);
  RADDLE_ASSERT_OK(executor.run(graph));
  EXPECT_EQ(read(executor, "out", 5), (Words{2, 2, 2, 2, 1}));
}

TEST(Execution, PrefetchesRead) {
  auto device = open_device();
  auto executor = Executor::open(device).value();
  executor.provide("out", 4096).value();
  Graph graph;
  const Resource out = graph.buffer("out", 4096, Origin::in_out);
  graph.pass("fill").fill(out, 3);
  graph.pass("prefetch").cache(out, CacheAction::Kind::prefetch);
  const auto report = executor.run(graph);
  RADDLE_ASSERT_OK(report);
  EXPECT_GT(report->times[1].end, report->times[1].begin);  // it does something
  EXPECT_EQ(read(executor, "out", 2), (Words{3, 3}));
}

}  // namespace
}  // namespace raddle::graph
