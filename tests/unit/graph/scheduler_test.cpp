// What the command scheduler decides: overlap, feedback, memory, pieces, targets.
#include <cstdio>
#include <set>

#include "graph_test.h"
#include "random_graph.h"

namespace raddle::graph {
namespace {

Needs needs(std::initializer_list<std::pair<unsigned, float>> shares) {
  Needs result;
  for (const auto& [kind, share] : shares) result.share[kind] = share;
  return result;
}

bool overlap(const Schedule& schedule, Pass one, Pass other) {
  const Node &a = schedule.nodes[schedule.node_of(one)], &b = schedule.nodes[schedule.node_of(other)];
  return a.begin < b.end && b.begin < a.end;
}

/// Pass 1 reads R1 and writes R2; 2, 3, 4 read R2 and write R3, R4, R5; 5 reads those and writes R6 (G-18).
Graph worked_graph(float share) {
  Graph graph;
  std::vector<Resource> r{{}};
  for (unsigned i = 1; i <= 6; ++i)
    r.push_back(graph.buffer("R" + std::to_string(i), 64,
                             i == 1   ? Origin::input
                             : i == 6 ? Origin::output
                                      : Origin::transient));
  const Needs some = needs({{Needs::slots, share}});
  graph.pass("1").reads(r[1]).writes(r[2]).needs(some).takes(100);
  for (unsigned i = 2; i <= 4; ++i)
    graph.pass(std::to_string(i)).reads(r[2]).writes(r[i + 1]).needs(some).takes(100);
  graph.pass("5").reads(r[3]).reads(r[4]).reads(r[5]).writes(r[6]).needs(some).takes(100);
  return graph;
}

/// Passes that run together, as "1 | 2,3 | 4 | 5"; equal times make equal begins.
std::string shape_of(const Schedule& schedule) {
  std::map<double, std::set<std::string>> groups;
  for (std::uint32_t node = 0; node < schedule.nodes.size(); ++node)
    groups[schedule.nodes[node].begin].insert(schedule.node_name(node));
  std::string text;
  for (const auto& [begin, names] : groups) {
    text += text.empty() ? "" : " | ";
    bool is_first = true;
    for (const std::string& name : names) text += (is_first ? "" : ",") + name, is_first = false;
  }
  return text;
}

// proves: G-18a, G-18b, G-18c, G-18d, G-18e, G-10a, G-10b, G-10f
TEST(Scheduler, WorkedSchedules) {
  EXPECT_EQ(shape_of(*schedule_of(worked_graph(0.3f), {})), "1 | 2,3,4 | 5");
  EXPECT_EQ(shape_of(*schedule_of(worked_graph(0.5f), {})), "1 | 2,3 | 4 | 5");
  EXPECT_EQ(shape_of(*schedule_of(worked_graph(0.6f), {})), "1 | 2 | 3 | 4 | 5");
  EXPECT_EQ(shape_of(*schedule_of(worked_graph(0.1f), {.policy = "program_order"})), "1 | 2 | 3 | 4 | 5");
  // All there are, enumerated: 2, 3 and 4 in groups in any order; every schedule is one of them.
  const std::set<std::string> legal{
      "1 | 2,3,4 | 5",     "1 | 2,3 | 4 | 5",   "1 | 4 | 2,3 | 5",   "1 | 2,4 | 3 | 5",   "1 | 3 | 2,4 | 5",
      "1 | 3,4 | 2 | 5",   "1 | 2 | 3,4 | 5",   "1 | 2 | 3 | 4 | 5", "1 | 2 | 4 | 3 | 5", "1 | 3 | 2 | 4 | 5",
      "1 | 3 | 4 | 2 | 5", "1 | 4 | 2 | 3 | 5", "1 | 4 | 3 | 2 | 5"};
  std::set<std::string> seen;
  for (const float share : {0.3f, 0.5f, 0.6f})
    for (std::uint64_t seed = 0; seed < 200; ++seed)
      seen.insert(shape_of(
          *schedule_of(worked_graph(share), {.policy = "random_order", .seed = seed + test_seed()})));
  for (const std::string& shape : seen) EXPECT_TRUE(legal.contains(shape)) << shape;
  EXPECT_EQ(seen, legal);  // and each one is reached
}

// proves: G-10c, G-11g
TEST(Scheduler, PrefersPassesThatNeedDifferentThings) {
  Graph graph;
  const Needs computes = needs({{Needs::slots, 0.5f}}),
              moves = needs({{Needs::bandwidth, 0.6f}, {Needs::slots, 0.1f}});
  std::vector<Pass> compute, memory;
  for (unsigned i = 0; i < 2; ++i)
    compute.push_back(graph.pass("compute").writes(graph.buffer("c", 64)).needs(computes).takes(100).pass());
  for (unsigned i = 0; i < 2; ++i)
    memory.push_back(graph.pass("memory").writes(graph.buffer("m", 64)).needs(moves).takes(100).pass());
  const auto schedule = schedule_of(graph, {});
  // In the program's order both that compute would fit together; they go with one that moves bytes each.
  EXPECT_FALSE(overlap(*schedule, compute[0], compute[1]));
  EXPECT_FALSE(overlap(*schedule, memory[0], memory[1]));
  EXPECT_EQ(schedule->nanoseconds, 200);
}

// proves: G-10d
TEST(Scheduler, PrefersALightPassBesideAHeavyOne) {
  Graph graph;
  const auto add = [&](float share) {
    return graph.pass("p")
        .writes(graph.buffer("r", 64))
        .needs(needs({{Needs::slots, share}}))
        .takes(100)
        .pass();
  };
  const Pass heavy = add(0.7f), middle = add(0.3f), light = add(0.1f);
  const auto schedule = schedule_of(graph, {});
  EXPECT_EQ(schedule->nodes[0].pass, heavy.index);
  EXPECT_EQ(schedule->nodes[1].pass, light.index);  // before the middle one, which the program has first
  EXPECT_TRUE(overlap(*schedule, heavy, light));
  EXPECT_FALSE(overlap(*schedule, heavy, middle));
}

// proves: G-11f
TEST(Scheduler, LongerPassesGoFirst) {
  Graph graph;
  const auto add = [&](double time) {
    return graph.pass("p")
        .writes(graph.buffer("r", 64))
        .needs(needs({{Needs::slots, 0.5f}}))
        .takes(time)
        .pass();
  };
  add(10), add(10), add(10), add(10);
  const Pass longest = add(40);
  const auto schedule = schedule_of(graph, {});
  EXPECT_EQ(schedule->nodes[0].pass, longest.index);
  EXPECT_EQ(schedule->nanoseconds, 40);
}

// proves: G-11b, G-11d, G-11e
TEST(Scheduler, MeasurementsChangeTheSchedule) {
  History history;
  const auto build = [](Graph& graph) {
    for (unsigned i = 0; i < 3; ++i) {
      const Resource r = graph.buffer("r", 65536 << i);
      graph.pass("p").writes(r).needs(needs({{Needs::slots, 0.5f}})).command(Clear{r});
    }
  };
  Graph before, after;
  build(before), build(after);
  Scheduler scheduler(Target{}, {}, &history);
  const auto guessed = scheduler.schedule(before);
  RADDLE_ASSERT_OK(guessed);
  EXPECT_EQ((*guessed)->nodes[0].pass, 2u);  // the largest
  const PassInfo& second = before.passes()[1];
  history.record(History::key(before, second), "second", {.nanoseconds = 1e6});
  const auto learned = scheduler.schedule(after);
  RADDLE_ASSERT_OK(learned);
  EXPECT_EQ((*learned)->nodes[0].pass, 1u);
  EXPECT_EQ(scheduler.analyses(), 1u);  // only the schedule is new
  EXPECT_EQ(scheduler.schedules(), 2u);
  // Passes of one place with arguments of another shape are others.
  EXPECT_NE(History::key(before, before.passes()[0]), History::key(before, second));
  EXPECT_EQ(History::key(before, second), History::key(after, after.passes()[1]));
}

// proves: G-11a, G-11c
TEST(Scheduler, BusyUnitsAreSharedLast) {
  Graph graph;
  const auto add = [&](Needs::Kind unit, double time) {
    Needs wanted = needs({{unit, 0.5f}, {Needs::host, 1}});  // one after the other
    return graph.pass("p").writes(graph.buffer("r", 64)).needs(wanted).takes(time).pass();
  };
  const auto both = needs({{Needs::slots, 0.5f}, {Needs::bandwidth, 0.5f}});
  graph.pass("long").writes(graph.buffer("r", 64)).needs(both).takes(100);
  const Pass slots = add(Needs::slots, 10), bandwidth = add(Needs::bandwidth, 10);
  const auto second_of = [&](const History* history) {
    Scheduler scheduler(Target{}, {}, history);
    const auto schedule = scheduler.schedule(graph);
    EXPECT_TRUE(schedule.ok());
    return (*schedule)->nodes[1].pass;
  };
  EXPECT_EQ(second_of(nullptr), slots.index) << "as invoked";
  History history;
  RunScore score;
  score.busy[Needs::slots] = 0.75, score.busy[Needs::bandwidth] = 0.125;
  history.record(score);
  EXPECT_EQ(second_of(&history), bandwidth.index);
  score.busy[Needs::slots] = 0;
  for (unsigned i = 0; i < 20; ++i) history.record(score);
  EXPECT_EQ(second_of(&history), slots.index);
}

TEST(Scheduler, UnchangedGraphsCostNothingNew) {
  const Graph graph = worked_graph(0.3f);
  Scheduler scheduler{Target{}};
  const auto first = scheduler.schedule(graph), second = scheduler.schedule(graph);
  EXPECT_EQ(*first, *second);
  const Graph same = worked_graph(0.3f);
  const auto third = scheduler.schedule(same);
  EXPECT_EQ((*third)->graph.get(), &same);
  EXPECT_EQ(scheduler.analyses(), 1u);
  EXPECT_EQ(scheduler.schedules(), 1u);
  const Graph other = worked_graph(0.6f);
  EXPECT_TRUE(scheduler.schedule(other).ok());
  EXPECT_EQ(scheduler.analyses(), 1u);
  EXPECT_EQ(scheduler.schedules(), 2u);
}

// proves: G-11e
TEST(History, IsKeptInAFile) {
  History history;
  for (unsigned i = 0; i < 4; ++i) history.record(7, "seven", {100, 0.5, 2});
  history.record(7, "seven", {200, 0.5, 2});
  history.record(8, "eight \"quoted\"", {1, 0, 0});
  RunScore score;
  score.busy[Needs::bandwidth] = 0.25;
  history.record(score);
  const std::string path = testing::TempDir() + "raddle_history_test.json";
  RADDLE_ASSERT_OK(history.save(path));
  History read;
  RADDLE_ASSERT_OK(read.load(path));
  EXPECT_EQ(read.size(), 2u);
  EXPECT_EQ(read.find(7)->nanoseconds, 125);
  EXPECT_EQ(read.find(7)->runs, 5u);
  EXPECT_EQ(read.find(7)->occupancy, 0.5);
  EXPECT_EQ(read.busy(), history.busy());
  EXPECT_EQ(read.find(8)->what, "eight \"quoted\"");
  EXPECT_FALSE(read.load("/nonexistent/history").ok());
  std::remove(path.c_str());
}

/// Chains of `length` passes that hand on a resource each; invoked step by step, so that all chains are live.
Graph chains(unsigned count, unsigned length, std::uint64_t bytes) {
  Graph graph;
  std::vector<Resource> now;
  for (unsigned i = 0; i < count; ++i) {
    now.push_back(graph.buffer("r", bytes));
    graph.pass("begin").writes(now[i]).takes(10).needs(needs({{Needs::slots, 1}}));
  }
  for (unsigned step = 1; step < length; ++step)
    for (unsigned i = 0; i < count; ++i) {
      const Resource next = graph.buffer("r", bytes);
      graph.pass("step").reads(now[i]).writes(next).takes(10).needs(needs({{Needs::slots, 1}}));
      now[i] = next;
    }
  return graph;
}

// proves: G-12a, G-12f
TEST(Memory, ResourcesThatDoNotLiveTogetherShareIt) {
  const Graph graph = chains(1, 10, 1024);
  const auto schedule = schedule_of(graph, {});
  EXPECT_EQ(schedule->peak_bytes, 2048u);
  EXPECT_EQ(schedule->plain_bytes, 10240u);
  for (const Placement& placement : schedule->placements) {
    EXPECT_EQ(placement.first, placement.resource);  // its writer
    EXPECT_EQ(placement.last, std::min(placement.resource + 1, 9u));
  }
  EXPECT_EQ(schedule_of(graph, {.alias = false})->peak_bytes, 10240u);
}

// proves: G-10e, G-12d, G-12e, G-12g
TEST(Memory, LessOfItByPolicyAndByTarget) {
  const Graph graph = chains(16, 8, 1024);
  const std::uint64_t wide = schedule_of(graph, {})->peak_bytes;
  const std::uint64_t least = schedule_of(graph, {.policy = "least_memory"})->peak_bytes;
  const std::uint64_t aimed = schedule_of(graph, {.working_set = 4096})->peak_bytes;
  const std::uint64_t weighed = schedule_of(graph, {.time_weight = 0.1})->peak_bytes;
  EXPECT_EQ(wide, 17u * 1024);
  EXPECT_EQ(least, 2048u);
  EXPECT_LE(aimed, 6u * 1024);
  EXPECT_LT(weighed, wide);
  EXPECT_EQ(schedule_of(graph, {.policy = "program_order"})->peak_bytes, 17u * 1024);
}

// A large resource, whose consumers wait for others; and long passes that have nothing to do with it.
// proves: G-12c, G-12d, G-12e
TEST(Memory, ConsumersComeEarlyWhenItIsTight) {
  Graph graph;
  const Needs all = needs({{Needs::slots, 1}});
  const Resource large = graph.buffer("large", 1 << 20), x = graph.buffer("x", 64), y = graph.buffer("y", 64);
  graph.pass("write").writes(large).needs(all).takes(1000);
  for (unsigned i = 0; i < 6; ++i) graph.pass("other").writes(graph.buffer("o", 64)).needs(all).takes(500);
  graph.pass("before x").writes(x).needs(all).takes(10);
  graph.pass("before y").reads(x).writes(y).needs(all).takes(10);
  graph.pass("one").reads(large).reads(y).needs(all).takes(10);  // likely last
  graph.pass("two").reads(large).needs(all).takes(10);           // likewise
  const auto order = [&](SchedulerOptions options) {
    std::string text;
    const auto schedule = schedule_of(graph, options);
    for (std::uint32_t node = 0; node < schedule->nodes.size(); ++node)
      text += schedule->node_name(node) + " ";
    return text;
  };
  EXPECT_EQ(order({}).find("write other other other other other other "), 0u) << order({});
  const std::string tight = order({.working_set = 1 << 16});
  EXPECT_EQ(tight.find("write before x before y one two "), 0u) << tight;
}

TEST(Memory, ATightLimitIsKept) {
  const Graph graph = chains(16, 8, 1024);
  for (const std::uint64_t limit : {16384u, 8192u, 4096u, 2048u}) {
    const auto schedule = schedule_of(graph, {.memory_limit = limit});
    EXPECT_LE(schedule->peak_bytes, limit);
    const Playback play(*schedule, [](std::uint32_t) { return 10.0; });
    EXPECT_EQ(what_is_wrong(*schedule, play), "");
  }
  Scheduler scheduler(Target{}, {.memory_limit = 1024});
  const auto none = scheduler.schedule(graph);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::out_of_memory);
  EXPECT_NE(none.error().where.line, 0u);
}

// proves: G-12b
TEST(Memory, LikelyLastUsers) {
  Graph graph;
  const Resource r = graph.buffer("r", 64), s = graph.buffer("s", 64), t = graph.buffer("t", 64);
  graph.pass("write").writes(r);
  const Pass one = graph.pass("one").reads(r).writes(s).pass();
  graph.pass("between").reads(s).writes(t);
  const Pass two = graph.pass("two").reads(r).reads(t).pass();  // after `one`, by way of others
  const Pass three = graph.pass("three").reads(r).pass();
  const auto last = likely_last_users(graph, r);
  RADDLE_ASSERT_OK(last);
  EXPECT_EQ(*last, (std::vector<Pass>{two, three}));
  EXPECT_NE((*last)[0], one);
}

// proves: G-13a, G-13b
TEST(Split, DependentsWaitForThePiecesThatTheyRead) {
  Target target;
  target.sm_count = 2;
  target.threads_per_sm = 64;  // 2 blocks of 32 threads
  Graph graph;
  const std::uint64_t bytes = 64 * 32 * 4;
  const Resource in = graph.buffer("in", bytes, Origin::input),
                 out = graph.buffer("out", bytes, Origin::output);
  const Usage by_block{.bytes_per_block = 32 * 4};
  graph.pass("large")
      .reads(in, by_block)
      .writes(out, by_block)
      .dispatch(code("scale"), {.grid = {64}, .block = {32}}, out, in, 3u);
  graph.pass("first part").reads(View::range(out, 0, 128));
  graph.pass("last part").reads(View::range(out, bytes - 128, 128));
  const auto schedule = schedule_of(graph, {.most_pieces = 4}, target);
  ASSERT_EQ(schedule->splits, 1u);
  ASSERT_EQ(schedule->nodes.size(), 6u);
  const auto waits_for = [&](std::uint32_t pass) {
    std::vector<std::string> names;
    const std::uint32_t node = schedule->node_of({pass});
    for (const Edge& edge : schedule->edges_of(node))
      if (is_dependency(edge.reason)) names.push_back(schedule->node_name(edge.from));
    return names;
  };
  EXPECT_EQ(waits_for(4), (std::vector<std::string>{"large 1/4"}));
  EXPECT_EQ(waits_for(5), (std::vector<std::string>{"large 4/4"}));
  std::uint32_t blocks = 0;
  for (const PassInfo& pass : schedule->graph->passes())
    if (pass.pieces > 1) blocks += std::get<Dispatch>(pass.commands[0]).config.part->extent.x;
  EXPECT_EQ(blocks, 64u);
  EXPECT_EQ(schedule_of(graph, {.split = false}, target)->splits, 0u);
}

// proves: G-19a, G-19b, G-19c
TEST(Targets, DrawsNeedGraphics) {
  Graph graph;
  const Resource image = graph.image("image", {.width = 8, .height = 8}, Origin::output);
  const unsigned line = __LINE__ + 1;
  graph.pass("scene").writes(image, {.unit = Unit::draw}).draw("triangles", [](Recorder&) -> Result<void> {
    ADD_FAILURE() << "it has run";
    return {};
  });
  EXPECT_NE(schedule_of(graph, {}), nullptr);
  auto device = open_device();
  auto executor = Executor::open(device, {.target = Target::Kind::compute_only}).value();
  executor.provide("image", 8 * 8 * 4).value();
  const auto refused = executor.run(graph);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_EQ(refused.error().where.line, line);
  EXPECT_NE(refused.error().message.find("has no graphics"), std::string::npos) << refused.error().message;
}

TEST(Targets, Names) {
  EXPECT_EQ(*Target::parse("device"), Target::Kind::device);
  EXPECT_EQ(*Target::parse("host"), Target::Kind::host);
  EXPECT_EQ(*Target::parse("compute"), Target::Kind::compute_only);
  EXPECT_EQ(*Target::parse("gpu"), Target::Kind::gpu);
  EXPECT_EQ(Target::parse("abacus").error().code, ErrorCode::not_found);
  auto device = open_device();
  EXPECT_FALSE(Executor::open(device, {.target = Target::Kind::host}).ok());
  EXPECT_FALSE(Executor::open(device, {.target = Target::Kind::gpu}).ok());
  Scheduler unknown(Target{}, {.policy = "nicest"});
  Graph graph;
  graph.pass("p").writes(graph.buffer("r", 64));
  EXPECT_EQ(unknown.schedule(graph).error().code, ErrorCode::not_found);
}

// proves: G-15d
TEST(Why, SaysWhatAPassWaitsForAndWhy) {
  Graph graph = worked_graph(0.6f);
  const auto schedule = schedule_of(graph, {});
  EXPECT_NE(schedule->why(0).find("it waits for nothing"), std::string::npos);
  EXPECT_NE(schedule->why(1).find("it reads what '1' writes to 'R2'"), std::string::npos) << schedule->why(1);
  EXPECT_NE(schedule->why(2).find("would need more SM slots than there are"), std::string::npos)
      << schedule->why(2);
  Graph reuse;
  const Resource a = reuse.buffer("a", 1024), b = reuse.buffer("b", 1024);
  reuse.pass("one").writes(a).takes(10);
  reuse.pass("two").writes(b).takes(10);
  const auto tight = schedule_of(reuse, {.memory_limit = 1024});
  EXPECT_NE(tight->why(1).find("its memory is that of 'a', which 'one' uses last"), std::string::npos)
      << tight->why(1);
  const auto serial = schedule_of(graph, {.policy = "program_order"});
  EXPECT_NE(serial->why(3).find("the policy runs"), std::string::npos) << serial->why(3);
}

}  // namespace
}  // namespace raddle::graph
