// What must come before what, what is inserted, and what is an error.
#include "graph_test.h"

namespace raddle::graph {
namespace {

Error error_of(const Graph& graph) {
  Scheduler scheduler{Target{}};
  const auto schedule = scheduler.schedule(graph);
  EXPECT_FALSE(schedule.ok());
  return schedule.ok() ? Error{} : schedule.error();
}

/// Whether a pass comes after another one in all schedules, also by way of others.
bool depends(const Schedule& schedule, Pass later, Pass earlier) {
  std::vector<bool> after(schedule.nodes.size());
  const std::uint32_t from = schedule.node_of(earlier), to = schedule.node_of(later);
  after[from] = true;
  for (std::uint32_t node = from + 1; node <= to && to < after.size(); ++node)
    for (const Edge& edge : schedule.edges_of(node))
      if (is_dependency(edge.reason) && after[edge.from]) after[node] = true;
  return from < to && after[to];
}

const Edge* edge_between(const Schedule& schedule, Pass later, Pass earlier) {
  for (const Edge& edge : schedule.edges_of(schedule.node_of(later)))
    if (edge.from == schedule.node_of(earlier)) return &edge;
  return nullptr;
}

unsigned count(const Schedule& schedule, NodeKind kind) {
  unsigned number = 0;
  for (const Node& node : schedule.nodes) number += node.kind == kind;
  return number;
}

// proves: G-1a, G-1c, G-1e, G-8a, G-8b, G-8c, G-8e, G-8f
TEST(Analysis, ReadsAndWritesOfTheSameBytes) {
  Graph graph;
  const Resource a = graph.buffer("a", 64), b = graph.buffer("b", 64), c = graph.buffer("c", 64);
  const Pass write = graph.pass("write").writes(a).pass();
  const Pass read = graph.pass("read").reads(a).writes(b).pass();
  const Pass again = graph.pass("again").writes(a).pass();         // after the read, and the first write
  const Pass update = graph.pass("update").read_writes(a).pass();  // no cycle: a new version
  const Pass other = graph.pass("other").writes(c).pass();
  const Pass last = graph.pass("last").writes(b).pass();
  const auto schedule = schedule_of(graph);
  EXPECT_EQ(edge_between(*schedule, read, write)->reason, Reason::read_after_write);
  EXPECT_EQ(edge_between(*schedule, again, read)->reason, Reason::write_after_read);
  EXPECT_EQ(edge_between(*schedule, last, read)->reason, Reason::write_after_write);
  EXPECT_EQ(edge_between(*schedule, update, again)->reason, Reason::read_after_write);
  EXPECT_TRUE(depends(*schedule, update, write));  // by way of others
  for (const Pass pass : {write, read, again, update, last}) {
    EXPECT_FALSE(depends(*schedule, other, pass));
    EXPECT_FALSE(depends(*schedule, pass, other));
  }
}

// proves: G-8d
TEST(Analysis, PartsOfResourcesAreApart) {
  Graph graph;
  const Resource a = graph.buffer("a", 256);
  const Resource image = graph.image("image", {.width = 8, .height = 8, .layers = 3, .mips = 3});
  const Pass left = graph.pass("left").writes(View::range(a, 0, 128)).pass();
  const Pass right = graph.pass("right").writes(View::range(a, 128, 128)).pass();
  const Pass reads_left = graph.pass("reads left").reads(View::range(a, 0, 64)).pass();
  const Pass reads_both = graph.pass("reads both").reads(View::range(a, 127, 2)).pass();
  const Pass top = graph.pass("top").writes(View::levels(image, 0).of_layers(0, 3)).pass();
  const Pass middle = graph.pass("middle").writes(View::levels(image, 1).of_layers(1)).pass();
  const Pass reads_layer = graph.pass("reads layer").reads(View::levels(image, 0).of_layers(2)).pass();
  const Pass writes_layer = graph.pass("writes layer").writes(View(image).of_layers(1)).pass();
  const auto schedule = schedule_of(graph);
  EXPECT_FALSE(depends(*schedule, right, left));
  EXPECT_TRUE(depends(*schedule, reads_left, left));
  EXPECT_FALSE(depends(*schedule, reads_left, right));
  EXPECT_TRUE(depends(*schedule, reads_both, left) && depends(*schedule, reads_both, right));
  EXPECT_FALSE(depends(*schedule, middle, top));
  EXPECT_TRUE(depends(*schedule, reads_layer, top));
  EXPECT_FALSE(depends(*schedule, reads_layer, middle));
  EXPECT_TRUE(depends(*schedule, writes_layer, top) && depends(*schedule, writes_layer, middle));
  EXPECT_FALSE(depends(*schedule, writes_layer, reads_layer));
}

// proves: G-8h
TEST(Analysis, UnorderedWritesAreAGroup) {
  Graph graph;
  const Resource a = graph.buffer("a", 64);
  const Usage unordered{.unordered = true};
  const Pass first = graph.pass("first").writes(a).pass();
  const Pass one = graph.pass("one").read_writes(a, unordered).pass();
  const Pass other = graph.pass("other").writes(a, unordered).pass();
  const Pass ordered = graph.pass("ordered").writes(a).pass();
  const auto schedule = schedule_of(graph);
  EXPECT_FALSE(depends(*schedule, other, one));
  for (const Pass each : {one, other}) {
    EXPECT_TRUE(depends(*schedule, each, first));
    EXPECT_TRUE(depends(*schedule, ordered, each));
  }
}

// proves: G-2e
TEST(Analysis, SynchronisationOrdersWhatDoesNotDepend) {
  Graph graph;
  const Resource a = graph.buffer("a", 64), b = graph.buffer("b", 64), c = graph.buffer("c", 64);
  const Pass one = graph.pass("one").writes(a).pass(), two = graph.pass("two").writes(b).pass();
  const Pass point = graph.synchronise();
  const Pass three = graph.pass("three").writes(c).pass();
  const auto schedule = schedule_of(graph);
  for (const Pass before : {one, two}) {
    EXPECT_TRUE(depends(*schedule, point, before));
    EXPECT_TRUE(depends(*schedule, three, before));
  }
  EXPECT_TRUE(depends(*schedule, three, point));
  Graph pair;
  const Resource x = pair.buffer("x", 64), y = pair.buffer("y", 64);
  const Pass early = pair.pass("early").writes(x).pass(), late = pair.pass("late").writes(y).pass();
  pair.order(early, late);
  EXPECT_TRUE(depends(*schedule_of(pair), late, early));
}

// proves: G-9a, G-9b, G-9c
TEST(Analysis, ActionsAreInserted) {
  Graph graph;
  const Resource image = graph.image("image", {.width = 8, .height = 8});
  const Pass draw = graph.pass("draw").writes(image, {.unit = Unit::draw}).pass();
  const Pass sample = graph.pass("sample").reads(image, {.unit = Unit::texture}).pass();
  const Pass again = graph.pass("again").reads(image, {.unit = Unit::texture}).pass();
  const auto schedule = schedule_of(graph);
  EXPECT_EQ(count(*schedule, NodeKind::cache_action), 1u);  // both readers share it
  EXPECT_EQ(count(*schedule, NodeKind::layout_change), 1u);
  EXPECT_TRUE(depends(*schedule, sample, draw) && depends(*schedule, again, draw));
  EXPECT_FALSE(depends(*schedule, again, sample));
  for (const Node& node : schedule->nodes) {
    if (node.kind == NodeKind::layout_change)
      EXPECT_TRUE(node.was == Layout::target && node.layout == Layout::sampled);
    if (node.kind == NodeKind::cache_action)
      EXPECT_TRUE(node.action == CacheAction::Kind::flush && node.unit == Unit::draw);
  }
  // Its readers have ended before an image gets another layout.
  const Pass copy = graph.pass("copy").reads(image, {.unit = Unit::copy}).pass();
  const auto longer = schedule_of(graph);
  EXPECT_TRUE(depends(*longer, copy, sample) && depends(*longer, copy, again));
  // Two passes that wait for the same ones have one barrier.
  const std::vector<Barrier> barriers = schedule->barriers();
  bool is_shared = false;
  for (const Barrier& barrier : barriers)
    is_shared = is_shared || barrier.before == std::vector<std::uint32_t>{schedule->node_of(sample),
                                                                          schedule->node_of(again)};
  EXPECT_TRUE(is_shared);
}

// proves: G-9d, G-2d
TEST(Analysis, ActionsOfTheProgramsOwnNeedNoOthers) {
  Graph graph;
  const Resource image = graph.image("image", {.width = 8, .height = 8});
  graph.pass("write").writes(image);
  graph.pass("to sampled").change_layout(image, Layout::sampled);
  graph.pass("invalidate").cache(image, CacheAction::Kind::invalidate, Unit::texture);
  const Pass sample = graph.pass("sample").reads(image, {.unit = Unit::texture}).pass();
  const auto schedule = schedule_of(graph);
  EXPECT_EQ(schedule->nodes.size(), 4u);
  EXPECT_TRUE(depends(*schedule, sample, {0}));
  Graph without;
  const Resource other = without.image("image", {.width = 8, .height = 8});
  without.pass("write").writes(other);
  without.pass("sample").reads(other, {.unit = Unit::texture});
  EXPECT_EQ(schedule_of(without)->nodes.size(), 4u);  // the same, inserted
}

// proves: G-14a, G-14e
TEST(AnalysisErrors, CycleOfNodes) {
  Graph graph(Graph::Order::none);
  const Resource a = graph.buffer("a", 64), b = graph.buffer("b", 64);
  const unsigned line = __LINE__ + 1;
  graph.pass("one").reads(b).writes(a);
  graph.pass("two").reads(a).writes(b);
  const Error error = error_of(graph);
  EXPECT_TRUE(error.where.line == line || error.where.line == line + 1) << error.to_string();
  EXPECT_NE(error.message.find("a cycle: "), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("'one'"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("'two'"), std::string::npos) << error.message;
  Graph backwards;
  const Resource c = backwards.buffer("c", 64);
  const Pass first = backwards.pass("first").writes(c).pass(),
             second = backwards.pass("second").reads(c).pass();
  backwards.order(second, first);
  EXPECT_NE(error_of(backwards).message.find("a cycle"), std::string::npos);
}

// proves: G-14b, G-14e, G-1g
TEST(AnalysisErrors, ReadOfWhatNobodyWrites) {
  for (const Origin origin : {Origin::transient, Origin::output, Origin::input, Origin::in_out}) {
    Graph graph;
    const Resource a = graph.buffer("a", 64, origin);
    graph.pass("part").writes(View::range(a, 0, 32));
    const unsigned line = __LINE__ + 1;
    graph.pass("all").reads(a);
    const bool is_bound_in = origin == Origin::input || origin == Origin::in_out;
    Scheduler scheduler{Target{}};
    ASSERT_EQ(scheduler.schedule(graph).ok(), is_bound_in);
    if (is_bound_in) continue;
    const Error error = error_of(graph);
    EXPECT_EQ(error.where.line, line);
    EXPECT_NE(error.message.find("pass 'all' reads bytes 32 to 64 of 'a'"), std::string::npos)
        << error.message;
  }
}

// proves: G-14c, G-14e
TEST(AnalysisErrors, WritesThatNoOrderSettles) {
  Graph graph(Graph::Order::none);
  const Resource a = graph.buffer("a", 64);
  const Pass one = graph.pass("one").writes(View::range(a, 0, 48)).pass();
  const unsigned line = __LINE__ + 1;
  const Pass two = graph.pass("two").writes(View::range(a, 32, 32)).pass();
  const Error error = error_of(graph);
  EXPECT_EQ(error.where.line, line);
  EXPECT_NE(error.message.find("nothing says which comes first"), std::string::npos) << error.message;
  graph.order(two, one);  // now something does
  const auto schedule = schedule_of(graph);
  EXPECT_TRUE(depends(*schedule, one, two));
  Graph apart(Graph::Order::none);
  const Resource b = apart.buffer("b", 64);
  apart.pass("one").writes(View::range(b, 0, 32));
  apart.pass("two").writes(View::range(b, 32, 32));
  EXPECT_NE(schedule_of(apart), nullptr);
  Graph unordered(Graph::Order::none);
  const Resource c = unordered.buffer("c", 64);
  unordered.pass("one").writes(c, {.unordered = true});
  unordered.pass("two").writes(c, {.unordered = true});
  EXPECT_NE(schedule_of(unordered), nullptr);
}

TEST(Analysis, NodesInAnyOrder) {
  Graph graph(Graph::Order::none);
  const Resource a = graph.buffer("a", 64), b = graph.buffer("b", 64);
  const Pass last = graph.pass("last").reads(b).pass();
  const Pass middle = graph.pass("middle").reads(a).writes(b).pass();
  const Pass first = graph.pass("first").writes(a).pass();
  const auto schedule = schedule_of(graph);
  EXPECT_TRUE(depends(*schedule, middle, first) && depends(*schedule, last, middle));
}

// proves: G-14d, G-14e
TEST(AnalysisErrors, Sizes) {
  static const SourceLine kHere("program", 42);
  const auto wrong = [](const std::function<void(Graph&)>& build, const char* text) {
    Graph graph;
    build(graph);
    const Error error = error_of(graph);
    EXPECT_EQ(error.where.line, 42u);
    EXPECT_EQ(error.where.file, "program");
    EXPECT_NE(error.message.find(text), std::string::npos) << error.message;
  };
  const LaunchConfig config{.grid = {1}, .block = {4}};
  wrong(
      [](Graph& graph) {
        const Resource a = graph.buffer("a", 64, Origin::in_out);
        graph.pass("beyond", kHere).reads(View::range(a, 32, 64));
      },
      "bytes 32 to 96 of 'a', which has 64");
  wrong(
      [](Graph& graph) {
        const Resource a = graph.buffer("a", 64, Origin::in_out), b = graph.buffer("b", 32);
        graph.pass("copy", kHere).copy(b, a);
      },
      "a copy of 64 bytes (a) to 32 bytes (b)");
  wrong(
      [&](Graph& graph) {
        const Resource a = graph.buffer("a", 64, Origin::in_out);
        graph.pass("few", kHere).read_writes(a).dispatch(code("scale"), config, a, a);
      },
      "kernel scale has 3 parameters, 2 are given");
  wrong(
      [&](Graph& graph) {
        const Resource a = graph.buffer("a", 64, Origin::in_out);
        graph.pass("wide", kHere).read_writes(a).dispatch(code("scale"), config, a, a, 1ull);
      },
      "parameter 2 (pf) of kernel scale has 4 bytes, 8 are given");
  wrong(
      [&](Graph& graph) {
        const Resource a = graph.buffer("a", 64, Origin::in_out), b = graph.buffer("b", 64, Origin::in_out);
        graph.pass("unnamed", kHere).read_writes(a).dispatch(code("scale"), config, a, b, 1u);
      },
      "'b' is not among the resources of the pass");
  wrong(
      [](Graph& graph) {
        const Resource a = graph.buffer("a", 62, Origin::in_out);
        graph.pass("words", kHere).fill(a, 1, 4);
      },
      "not made of words of 4 bytes");
  wrong(
      [](Graph& graph) {
        const Resource a =
            graph.image("a", {.format = {ChannelType::unorm8, 4}, .width = 8, .height = 2}, Origin::in_out);
        const Resource b = graph.image("b", {.format = {ChannelType::float32, 1}, .width = 8, .height = 2});
        graph.pass("formats", kHere).copy(b, a);
      },
      "different formats");
  wrong(
      [](Graph& graph) {
        const Resource a = graph.image("a", {.width = 8, .height = 8, .mips = 2}, Origin::in_out);
        graph.pass("levels", kHere).reads(View::levels(a, 1, 2));
      },
      "levels 1 to 3 of 'a', which has 2");
}

}  // namespace
}  // namespace raddle::graph
