// Every schedule of every graph: order, memory and needs hold whatever time passes take; and on a device the
// results are those of the program's order.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "graph_test.h"
#include "random_graph.h"

namespace raddle::graph {
namespace {

constexpr const char* kPolicies[] = {"fastest", "least_memory", "program_order", "random_order"};

SchedulerOptions some_options(std::mt19937_64& random, const char* policy) {
  SchedulerOptions options{.policy = policy, .seed = random()};
  if (random() % 3 == 0) options.working_set = 512 * (1 + random() % 4);
  if (random() % 3 == 0) options.time_weight = 0.5;
  if (random() % 5 == 0) options.alias = false;
  return options;
}

std::string describe(const Graph& graph) {
  std::string text;
  for (const PassInfo& pass : graph.passes()) {
    text += pass.name + ":";
    for (const Access& access : pass.accesses)
      text += fmt::format(" {}{}{}r{}[{},+{})", access.reads ? "R" : "", access.writes ? "W" : "",
                          access.unordered ? "u" : "", access.view.resource.index, access.view.begin,
                          access.view.bytes);
    text += "\n";
  }
  return text;
}

// proves: G-8a, G-8b, G-8c, G-8e, G-8g, G-8h, G-10b, G-12f
RC_GTEST_PROP(Schedules, HoldForAnyTimes, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>() + test_seed());
  const RandomGraph made(random(), *rc::gen::inRange(1u, 24u));
  for (const char* policy : kPolicies) {
    Scheduler scheduler(Target{}, some_options(random, policy));
    const auto schedule = scheduler.schedule(made.graph);
    RC_ASSERT(schedule.ok());
    RC_ASSERT((*schedule)->nodes.size() == made.graph.passes().size());
    for (unsigned times = 0; times < 4; ++times) {
      const Playback play(**schedule, [&](std::uint32_t node) {
        return times == 0 ? (*schedule)->nodes[node].end - (*schedule)->nodes[node].begin
                          : static_cast<double>(1 + random() % 100);
      });
      const std::string wrong = what_is_wrong(**schedule, play);
      if (!wrong.empty()) RC_FAIL(std::string(policy) + ": " + wrong + "\n" + describe(made.graph));
    }
  }
}

/// What all bound resources of a graph hold at the end.
std::vector<std::vector<std::uint32_t>> results(Device& device, const RandomGraph& made,
                                                const SchedulerOptions& how) {
  ExecutorOptions options;
  options.scheduler = how;
  auto executor = Executor::open(device, options).value();
  std::vector<std::vector<std::uint32_t>> all;
  for (const Resource resource : made.resources) {
    const ResourceInfo& info = made.graph.info(resource);
    if (info.origin == Origin::transient) continue;
    const DevicePtr memory = executor.provide(info.name, info.bytes).value();
    EXPECT_TRUE(device.fill(memory, static_cast<std::uint8_t>(resource.index + 1), info.bytes).ok());
  }
  const auto report = executor.run(made.graph);
  EXPECT_TRUE(report.ok()) << report.error().to_string();
  if (!report.ok()) return all;
  EXPECT_EQ(what_is_wrong(*report->schedule, Playback(report->times)), "") << how.policy;
  for (const Resource resource : made.resources) {
    const ResourceInfo& info = made.graph.info(resource);
    if (info.origin == Origin::transient) continue;
    std::vector<std::uint32_t> words(info.bytes / 4);
    EXPECT_TRUE(executor.read(info.name, 0, words.data(), info.bytes).ok());
    all.push_back(std::move(words));
  }
  return all;
}

// proves: G-8f, G-10f, G-7e
TEST(Schedules, GiveTheResultsOfTheProgramsOrder) {
  auto device = open_device();
  std::mt19937_64 random(test_seed());
  for (unsigned round = 0; round < 30; ++round) {
    const RandomGraph made(random(), 16, true);
    const auto wanted = results(device, made, {.policy = "program_order", .alias = false, .split = false});
    for (const char* policy : kPolicies)
      ASSERT_EQ(results(device, made, some_options(random, policy)), wanted) << policy << " round " << round;
  }
}

}  // namespace
}  // namespace raddle::graph
