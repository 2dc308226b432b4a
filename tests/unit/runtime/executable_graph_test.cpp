// Executable graphs: order, launches in a row, changes while launches wait, conditionals, events, faults.
#include "raddle/executable_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "unit/runtime/allocations.h"
#include "wait_until.h"

namespace {

using raddle::Argument;
using raddle::ExecutableGraph;
using Node = ExecutableGraph::Node;
using Dependency = ExecutableGraph::Dependency;

constexpr const char* kGraphKernels = R"(
.version 8.0
.target sm_90
.address_size 64
// log[log[0]++ + 1] = id, in one step
.visible .entry write_down(.param .u64 plog, .param .u32 pid)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [plog];
  ld.param.u32 %r1, [pid];
  atom.global.add.u32 %r2, [%rd1], 1;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3+4], %r1;
  ret;
}
// x = x * factor + summand
.visible .entry step(.param .u64 px, .param .u32 pfactor, .param .u32 psummand)
{
  .reg .b32 %r<5>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [px];
  ld.param.u32 %r1, [pfactor];
  ld.param.u32 %r2, [psummand];
  ld.global.u32 %r3, [%rd1];
  mad.lo.u32 %r4, %r3, %r1, %r2;
  st.global.u32 [%rd1], %r4;
  ret;
}
.visible .entry fault()
{
  .reg .b64 %rd<2>;
  mov.u64 %rd1, 8;
  st.global.u32 [%rd1], 1;
  ret;
}
.visible .entry nothing()
{
  ret;
}
)";

class ExecutableGraphs : public testing::Test {
 protected:
  void SetUp() override { open({}); }
  void open(raddle::DeviceOptions options) {
    module.reset(), device.reset();
    options.engine = "interp";
    options.pin = false;
    device.emplace(raddle::Device::open(options).value());
    module.emplace(device->load(kGraphKernels).value());
  }
  raddle::Kernel kernel(std::string_view name) { return module->kernel(name).value(); }
  Node step(ExecutableGraph& graph, raddle::DevicePtr x, std::uint32_t factor, std::uint32_t summand,
            ExecutableGraph::After after = {}) {
    const std::array<Argument, 3> arguments{x, factor, summand};
    return graph.add_launch(kernel("step"), {}, arguments, after).value();
  }
  std::uint32_t read(raddle::DevicePtr x) {
    std::uint32_t value = 0;
    EXPECT_TRUE(device->read(&value, x, sizeof value).ok());
    return value;
  }
  raddle::DevicePtr word(std::uint32_t value) {
    const raddle::DevicePtr address = device->allocate(4).value();
    EXPECT_TRUE(device->write(address, &value, 4).ok());
    return address;
  }

  std::optional<raddle::Device> device;
  std::optional<raddle::Module> module;
};

/// Waits in a node until the host opens it.
struct Gate {
  std::uint32_t word = 0;
  raddle::WordCondition condition() { return {&word, 4, raddle::WordCondition::Comparison::equal, 1}; }
  void open() { std::atomic_ref(word).store(1); }
};

TEST_F(ExecutableGraphs, ChainsRunInOrderAndLaunchesInARow) {
  ExecutableGraph graph(*device);
  const raddle::DevicePtr x = word(1);
  Node last = step(graph, x, 3, 1);
  for (std::uint32_t i = 2; i < 20; ++i) last = step(graph, x, 3, i, std::array{Dependency{last}});
  std::uint32_t expected = 1;
  for (int run = 0; run < 10; ++run) {
    for (std::uint32_t i = 1; i < 20; ++i) expected = expected * 3 + i;
    ASSERT_TRUE(graph.launch(device->default_stream()).ok());
  }
  EXPECT_EQ(read(x), expected);
}

// Whatever edges there are, and though one launch is given before the last is over: each run is a whole one,
// in an order that the edges allow.
TEST_F(ExecutableGraphs, RandomOrdersAreKept) {
  std::mt19937 random(20261125);
  for (int round = 0; round < 20; ++round) {
    const std::uint32_t nodes = 1 + random() % 30;
    constexpr int kRuns = 4;
    auto log = device->buffer(std::vector<std::uint32_t>(1 + nodes * kRuns)).value();
    ExecutableGraph graph(*device);
    std::vector<std::vector<Node>> before(nodes);
    for (std::uint32_t id = 0; id < nodes; ++id) {
      std::vector<Dependency> after;
      for (Node other = 0; other < id; ++other)
        if (random() % 6 == 0) after.push_back({other}), before[id].push_back(other);
      const std::array<Argument, 2> arguments{log.address(), id};
      ASSERT_EQ(graph.add_launch(kernel("write_down"), {}, arguments, after).value(), id);
    }
    raddle::Stream other = device->stream().value();
    for (int run = 0; run < kRuns; ++run)
      ASSERT_TRUE(graph.launch(run % 2 == 0 ? device->default_stream() : other).ok());
    ASSERT_TRUE(device->synchronize().ok());
    std::vector<std::uint32_t> written(1 + nodes * kRuns);
    ASSERT_TRUE(log.read(written).ok());
    ASSERT_EQ(written[0], nodes * kRuns);
    for (int run = 0; run < kRuns; ++run) {
      const std::span<const std::uint32_t> ids(&written[1 + run * nodes], nodes);
      std::vector<std::size_t> place(nodes, nodes);
      for (std::size_t i = 0; i < nodes; ++i) place[ids[i]] = i;
      for (std::uint32_t id = 0; id < nodes; ++id) {
        ASSERT_LT(place[id], nodes) << "missing in a run";
        for (const Node earlier : before[id]) EXPECT_LT(place[earlier], place[id]);
      }
    }
  }
}

TEST_F(ExecutableGraphs, CopiesFillsCallsAndWaits) {
  ExecutableGraph graph(*device);
  const raddle::DevicePtr x = word(0);
  std::uint32_t out = 0, seen = 0;
  Gate gate;
  const Node wait = graph.add_wait(gate.condition()).value();
  const Node fill =
      graph.add_fill({.to = x, .word = 7, .word_bytes = 4, .width = 1}, std::array{Dependency{wait}}).value();
  const Node empty = graph.add_empty(std::array{Dependency{fill}}).value();
  const Node product = step(graph, x, 6, 0, std::array{Dependency{empty}});
  const raddle::CopySide device_side{&*device, x.value},
      host_side{nullptr, reinterpret_cast<std::uint64_t>(&out)};
  const Node copy = graph.add_copy({host_side, device_side, 4}, std::array{Dependency{product}}).value();
  ASSERT_TRUE(graph.add_call([&] { seen = out; }, std::array{Dependency{copy}}).ok());
  ASSERT_TRUE(graph.launch(device->default_stream()).ok());
  EXPECT_FALSE(device->default_stream().done());
  gate.open();
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(seen, 42u);
  EXPECT_GE(graph.times(product).begin_ns, graph.times(fill).end_ns);
  EXPECT_GE(graph.times(product).end_ns, graph.times(product).begin_ns);
}

// Its tasks are those of all launches: in another stream, too, one begins when the one before is over.
// proves: G-16a
TEST_F(ExecutableGraphs, LaunchesInTwoStreamsDoNotMeet) {
  ExecutableGraph graph(*device);
  const raddle::DevicePtr x = word(1);
  std::atomic<int> begun{0};
  Gate gate;
  const Node call = graph.add_call([&] { ++begun; }).value();
  const Node wait = graph.add_wait(gate.condition(), std::array{Dependency{call}}).value();
  step(graph, x, 5, 3, std::array{Dependency{wait}});
  raddle::Stream one = device->stream().value(), other = device->stream().value();
  ASSERT_TRUE(graph.launch(one).ok());
  ASSERT_TRUE(graph.launch(other).ok());
  EXPECT_TRUE(raddle::wait_until([&] { return begun > 0; }));
  raddle::give_others_a_chance();
  EXPECT_EQ(begun, 1);
  gate.open();
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(read(x), 43u);
}

TEST_F(ExecutableGraphs, ChangesCountForLaterLaunchesOnly) {
  ExecutableGraph graph(*device);
  const raddle::DevicePtr x = word(0);
  Gate gate;
  const Node wait = graph.add_wait(gate.condition()).value();
  const Node sum = step(graph, x, 10, 1, std::array{Dependency{wait}});
  const Node more = step(graph, x, 10, 2, std::array{Dependency{sum}});
  ASSERT_TRUE(graph.launch(device->default_stream()).ok());
  const auto change = [&](std::uint32_t summand) {
    return graph.set_launch(sum, kernel("step"), {}, std::array<Argument, 3>{x, 10u, summand});
  };
  ASSERT_TRUE(change(5).ok());
  ASSERT_TRUE(graph.launch(device->default_stream()).ok());
  graph.set_enabled(more, false);
  EXPECT_FALSE(graph.is_enabled(more));
  ASSERT_TRUE(change(7).ok());
  ASSERT_TRUE(graph.launch(device->default_stream()).ok());
  gate.open();
  EXPECT_EQ(read(x), 12527u);
  graph.set_enabled(more, true);
  ASSERT_TRUE(graph.launch(device->default_stream()).ok());
  EXPECT_EQ(read(x), 1252772u);
  EXPECT_FALSE(graph.set_call(sum, [] {}).ok());
  EXPECT_FALSE(graph.set_launch(99, kernel("nothing"), {}, {}).ok());
}

TEST_F(ExecutableGraphs, AGraphThatIsGoneFinishesItsLaunches) {
  const raddle::DevicePtr x = word(1);
  Gate gate;
  {
    ExecutableGraph graph(*device);
    const Node wait = graph.add_wait(gate.condition()).value();
    step(graph, x, 5, 3, std::array{Dependency{wait}});
    ASSERT_TRUE(graph.launch(device->default_stream()).ok());
    ASSERT_TRUE(graph.launch(device->default_stream()).ok());
  }
  gate.open();
  EXPECT_EQ(read(x), 43u);
}

TEST_F(ExecutableGraphs, OnceAndElse) {
  raddle::Condition condition(*device);
  const raddle::DevicePtr x = word(0);
  ExecutableGraph graph(*device);
  std::vector<ExecutableGraph> bodies;
  for (std::uint32_t digit : {1u, 2u}) step(bodies.emplace_back(*device), x, 10, digit);
  const Node choice =
      graph.add_conditional(ExecutableGraph::Choice::once, condition, std::move(bodies)).value();
  step(graph, x, 10, 3, std::array{Dependency{choice}});
  for (const std::uint32_t value : {1u, 0u, 77u}) {
    ASSERT_TRUE(device->synchronize().ok());
    condition.set(value);
    ASSERT_TRUE(graph.launch(device->default_stream()).ok());
  }
  EXPECT_EQ(read(x), 132313u);
}

TEST_F(ExecutableGraphs, SelectedByNumber) {
  raddle::Condition condition(*device);
  const raddle::DevicePtr x = word(0);
  ExecutableGraph graph(*device);
  std::vector<ExecutableGraph> bodies;
  for (std::uint32_t digit : {1u, 2u, 3u}) step(bodies.emplace_back(*device), x, 10, digit);
  ASSERT_TRUE(graph.add_conditional(ExecutableGraph::Choice::selected, condition, std::move(bodies)).ok());
  for (const std::uint32_t value : {2u, 0u, 3u, 1u}) {  // there is no fourth
    ASSERT_TRUE(device->synchronize().ok());
    condition.set(value);
    ASSERT_TRUE(graph.launch(device->default_stream()).ok());
  }
  EXPECT_EQ(read(x), 312u);
}

// A loop in a loop; its values are set by its own body, and at each start.
TEST_F(ExecutableGraphs, LoopsNest) {
  raddle::Condition outer(*device), inner(*device);
  const raddle::DevicePtr x = word(0);
  int outer_left = 0, inner_left = 0;
  std::vector<ExecutableGraph> inner_bodies, outer_bodies;
  {
    ExecutableGraph& body = inner_bodies.emplace_back(*device);
    const Node count = step(body, x, 1, 1);
    ASSERT_TRUE(
        body.add_call([&] { inner.set(--inner_left > 0 ? 1 : 0); }, std::array{Dependency{count}}).ok());
  }
  {
    ExecutableGraph& body = outer_bodies.emplace_back(*device);
    const Node again = body.add_call([&] { inner_left = 3, inner.set(1); }).value();
    const Node loop = body.add_conditional(ExecutableGraph::Choice::repeated, inner, std::move(inner_bodies),
                                           std::array{Dependency{again}})
                          .value();
    const Node tens = step(body, x, 1, 100, std::array{Dependency{loop}});
    ASSERT_TRUE(
        body.add_call([&] { outer.set(--outer_left > 0 ? 1 : 0); }, std::array{Dependency{tens}}).ok());
  }
  ExecutableGraph graph(*device);
  graph.start_with(outer, 1);
  const Node begin = graph.add_call([&] { outer_left = 5; }).value();
  ASSERT_TRUE(graph
                  .add_conditional(ExecutableGraph::Choice::repeated, outer, std::move(outer_bodies),
                                   std::array{Dependency{begin}})
                  .ok());
  for (int run = 0; run < 3; ++run) ASSERT_TRUE(graph.launch(device->default_stream()).ok());
  EXPECT_EQ(read(x), 3u * 5 * 103);
}

// However often and however quickly a body ends, nothing piles up.
TEST_F(ExecutableGraphs, LongLoops) {
  raddle::Condition condition(*device);
  int left = 20000;
  std::vector<ExecutableGraph> bodies;
  ASSERT_TRUE(bodies.emplace_back(*device).add_call([&] { condition.set(--left > 0 ? 1 : 0); }).ok());
  ExecutableGraph graph(*device);
  graph.start_with(condition, 1);
  ASSERT_TRUE(graph.add_conditional(ExecutableGraph::Choice::repeated, condition, std::move(bodies)).ok());
  ASSERT_TRUE(graph.launch(device->default_stream()).ok());
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(left, 0);
}

TEST_F(ExecutableGraphs, BodiesCanBeChanged) {
  raddle::Condition condition(*device);
  const raddle::DevicePtr x = word(0);
  ExecutableGraph graph(*device);
  std::vector<ExecutableGraph> bodies;
  const Node inside = step(bodies.emplace_back(*device), x, 10, 1);
  const Node choice =
      graph.add_conditional(ExecutableGraph::Choice::once, condition, std::move(bodies)).value();
  graph.start_with(condition, 1);
  ASSERT_TRUE(graph.launch(device->default_stream()).ok());
  ASSERT_TRUE(
      graph.body(choice, 0).set_launch(inside, kernel("step"), {}, std::array<Argument, 3>{x, 10u, 4u}).ok());
  ASSERT_TRUE(graph.launch(device->default_stream()).ok());
  EXPECT_EQ(read(x), 14u);
}

// Events of one launch: nodes that wait for one of another stream, and points that are reached with a node.
TEST_F(ExecutableGraphs, EventsOfALaunch) {
  const raddle::DevicePtr x = word(0);
  Gate first, second;
  raddle::Stream other = device->stream().value(), stream = device->stream().value();
  other.wait(first.condition());
  const raddle::Event earlier = other.record();
  ExecutableGraph graph(*device);
  const Node node = step(graph, x, 10, 1);
  const Node wait = graph.add_wait(second.condition(), std::array{Dependency{node}}).value();
  const Node last = step(graph, x, 10, 2, std::array{Dependency{wait}});
  const std::array points{node, last};
  const ExecutableGraph::Wait waits[] = {{node, earlier}};
  const auto events = graph.launch(stream, points, waits).value();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_FALSE(events[0].done());
  first.open();
  events[0].wait();
  EXPECT_FALSE(events[1].done());
  second.open();
  events[1].wait();
  EXPECT_EQ(read(x), 12u);
  // The next launch has points of its own, and waits for nothing.
  const auto again = graph.launch(stream, points).value();
  again[1].wait();
  EXPECT_TRUE(again[0].done());
  EXPECT_EQ(read(x), 1212u);
}

// They have the times of their nodes, whatever came between, and are there when the launch is over.
TEST_F(ExecutableGraphs, EventsAreOfTheNodesTimes) {
  const raddle::DevicePtr x = word(0);
  ExecutableGraph graph(*device);
  const Node first = graph.add_empty().value();
  std::vector<Node> points{first};
  for (int i = 0; i < 20; ++i) points.push_back(step(graph, x, 1, 1, std::array{Dependency{points.back()}}));
  raddle::Stream stream = device->stream().value();
  for (int run = 0; run < 50; ++run) {
    const auto events = graph.launch(stream, points).value();
    ASSERT_TRUE(stream.synchronize().ok());
    for (std::size_t i = 0; i < events.size(); ++i) {
      ASSERT_TRUE(events[i].done()) << i;
      const ExecutableGraph::Times times = graph.times(points[i]);
      if (i != 0)
        EXPECT_EQ(events[i].elapsed_ms(events[0]) > 0, times.end_ns > graph.times(first).end_ns) << i;
      if (i != 0) EXPECT_GE(events[i].elapsed_ms(events[i - 1]), 0) << i;
    }
  }
}

TEST_F(ExecutableGraphs, AFaultEndsTheLaunchAndReachesItsPoints) {
  const raddle::DevicePtr x = word(1);
  raddle::Condition condition(*device);
  std::vector<ExecutableGraph> bodies;  // an endless loop, but for the fault
  const Node fault = bodies.emplace_back(*device).add_launch(kernel("fault"), {}, {}).value();
  step(bodies[0], x, 2, 0, std::array{Dependency{fault}});
  ExecutableGraph graph(*device);
  graph.start_with(condition, 1);
  const Node loop =
      graph.add_conditional(ExecutableGraph::Choice::repeated, condition, std::move(bodies)).value();
  const Node after = step(graph, x, 2, 0, std::array{Dependency{loop}});
  const std::array points{after};
  const auto events = graph.launch(device->default_stream(), points).value();
  const auto later = graph.launch(device->default_stream(), points);
  EXPECT_FALSE(device->synchronize().ok());
  events[0].wait();
  if (later.ok()) later->front().wait();
  EXPECT_EQ(device->failure()->kind, raddle::FaultKind::illegal_address) << device->failure()->text;
  EXPECT_FALSE(graph.launch(device->default_stream()).ok());
}

TEST_F(ExecutableGraphs, WrongNodesAreNamed) {
  ExecutableGraph graph(*device);
  EXPECT_FALSE(graph.add_empty(std::array{Dependency{0}}).ok());
  EXPECT_FALSE(graph.add_launch(kernel("step"), {}, {}).ok());
  EXPECT_FALSE(graph.add_launch(kernel("nothing"), {.grid = {0}}, {}).ok());
  EXPECT_FALSE(graph.add_fill({.to = {64}, .width = 4}).ok());
  EXPECT_EQ(graph.size(), 0u);
  const raddle::DevicePtr x = word(1);
  ASSERT_TRUE(graph.add_fill({.to = x, .width = 4}).ok());
  ASSERT_TRUE(graph.launch(device->default_stream()).ok());
  ASSERT_TRUE(device->synchronize().ok());
  ASSERT_TRUE(device->free(x).ok());
  EXPECT_FALSE(graph.launch(device->default_stream()).ok());
}

TEST_F(ExecutableGraphs, CancelledOnesEnd) {
  raddle::Condition condition(*device);
  std::vector<ExecutableGraph> bodies;
  ASSERT_TRUE(bodies.emplace_back(*device).add_empty().ok());
  ExecutableGraph graph(*device);
  graph.start_with(condition, 1);
  ASSERT_TRUE(graph.add_conditional(ExecutableGraph::Choice::repeated, condition, std::move(bodies)).ok());
  ASSERT_TRUE(graph.launch(device->default_stream()).ok());
  EXPECT_FALSE(device->idle());
  EXPECT_TRUE(device->cancel(std::chrono::milliseconds(1)));
}

TEST_F(ExecutableGraphs, LaunchingAgainTakesNoMemory) {
  open({.workers = 1});
  ExecutableGraph graph(*device);
  const raddle::DevicePtr x = word(0);
  std::vector<Dependency> after;
  for (int i = 0; i < 50; ++i) after.push_back({step(graph, x, 1, 0)});
  step(graph, x, 1, 1, after);
  const auto launch = [&] {
    ASSERT_TRUE(graph.launch(device->default_stream()).ok());
    while (!device->default_stream().done()) std::this_thread::yield();  // an event would take memory
  };
  for (int run = 0; run < 8; ++run) launch();
  const auto before = allocations();
  if (!before) GTEST_SKIP() << "a sanitizer has its own operator new";
  for (int run = 0; run < 100; ++run) launch();
  EXPECT_EQ(*allocations() - *before, 0u);
  EXPECT_EQ(read(x), 108u);
}

}  // namespace
