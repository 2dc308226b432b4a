// Kernels that launch kernels, on every engine: recursion, order of streams and tails, arguments, errors,
// faults.
#include <algorithm>
#include <thread>

#include "kernel_test.h"

namespace {

class Children : public KernelTest {};
ON_EVERY_ENGINE(Children);

using Values = std::vector<int>;
constexpr const char* kFile = "children.ptx";

// The host waits for the first grid only: it is complete when the whole tree is.
TEST_P(Children, QuicksortLaunchesItself) {
  Values values;
  std::uint32_t seed = 5;
  for (int i = 0; i < 1500; ++i)
    values.push_back(static_cast<int>((seed = seed * 1664525u + 1013904223u) >> 12));
  auto a = buffer(values);
  run(kernel(kFile, "quicksort"), {}, a, 0, 1499, 0);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(contents(a), values);
}

// proves: A-3h, A-3i
TEST_P(Children, TailsRunLastAndInOrder) {
  for (int round = 0; round < 3; ++round) {
    auto log = buffer(Values(64, -1)), count = buffer(Values(1));
    run(kernel(kFile, "tails"), {.grid = {1}, .block = {32}}, log, count);
    Values order = contents(log);
    order.resize(static_cast<std::size_t>(contents(count)[0]));
    const auto at = [&](int who) {
      EXPECT_EQ(std::count(order.begin(), order.end(), who), 1) << who;
      return std::find(order.begin(), order.end(), who) - order.begin();
    };
    EXPECT_EQ(order.size(), 11u);
    EXPECT_LT(at(20), at(21)) << "the block's default stream is in order";
    EXPECT_LT(std::max(at(10), at(11)), at(12)) << "a child's tail follows its own children";
    const Values tail(order.end() - 5, order.end());
    EXPECT_EQ(tail[0], 100) << "after everything else, the child's own tail included";
    EXPECT_EQ(tail[3], 112);
    EXPECT_EQ(tail[4], 120);
  }
}

// With one slot for all grids a child waits in the list of its parent's priority: its parent's end comes
// first, and what the host has launched before goes after it.
// proves: A-3a
TEST_P(Children, WaitInTheListsOfTheTaskScheduler) {
  constexpr std::uint64_t kMs = 1'000'000;
  options_.distributor.task_slots = 1;
  auto log = buffer(Values(4)), count = buffer(Values(1));
  raddle::Kernel parent = kernel(kFile, "slow_parent"), note = kernel(kFile, "note");
  run(note, {.block = {32}}, log, count, 0);  // compiled: the child goes into its list at once
  auto urgent = device().stream(-1), usual = device().stream();
  const std::uint64_t before = 30 * kMs, after = 10 * kMs;
  auto first = parent.launch({.stream = &*urgent}, log, count, before, after);
  auto last = note.launch({.block = {32}, .stream = &*usual}, log, count, 3);
  ASSERT_TRUE(first.ok() && last.ok());
  ASSERT_TRUE(first->wait().ok() && last->wait().ok());
  EXPECT_EQ(contents(log), (Values{0, 1, 2, 3}));
}

TEST_P(Children, EveryLaneHasItsOwnArguments) {
  auto out = buffer(Values(4 * 32, -1));
  run(kernel(kFile, "by_lane"), {.grid = {1}, .block = {32}}, out);
  Values want(4 * 32, -1);
  for (int t = 0; t < 32; ++t)
    for (int b = 0; t % 3 != 1 && b < 2 * (t % 2 + 1); ++b)
      want[t * 4 + b] = t * 3 * (t + 1) + 1000 - 7 + t % 2 + 1;
  EXPECT_EQ(contents(out), want);
}

TEST_P(Children, ErrorsAreTheThreadsOwn) {
  auto out = buffer(Values(11)), log = buffer(Values(4000)), count = buffer(Values(1));
  run(kernel(kFile, "errors"), {}, out, log, count, 2100);
  EXPECT_EQ(contents(out),
            (Values{0, 9, 9, 0, 9, 9, 400, 1, 2100 - 2048, 'c' * 1000 + 'I', 'i' * 1000 + 'n'}));
  EXPECT_EQ(contents(count)[0], 2048);
  Values order = contents(log);
  for (int i = 0; i < 2048; ++i) ASSERT_EQ(order[i + 1], i) << "tails keep the order of their launches";
}

TEST_P(Children, CopiesEventsMemoryAndQueries) {
  auto data = buffer(Values(8)), answers = buffer(Values(19, -1));
  run(kernel(kFile, "services"), {}, data, answers);
  EXPECT_EQ(contents(data), Values(8, 0x07070707));
  const auto blocks = static_cast<int>(kernel(kFile, "note").blocks_per_sm(64));
  EXPECT_EQ(contents(answers),
            (Values{0, 0, 0, 0, 0, 0, 0, 0, 400, 1, 0, 5, 0, blocks, 0, 1, 13000, 2048, 215}));
}

TEST_P(Children, AChildsFaultIsItsParents) {
  const auto report = try_run(kernel(kFile, "parent_of_wild"), {});
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("in kernel wild"), std::string::npos) << report.error().message;
  EXPECT_FALSE(device().status().ok());
}

TEST_P(Children, CancellingAParentStopsItsChildren) {
  auto flag = buffer(Values(1));
  auto launched = kernel(kFile, "parent_of_endless").launch({}, flag);
  ASSERT_TRUE(launched.ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(launched->done()) << "a parent is not complete before its children";
  launched->cancel();
  EXPECT_FALSE(launched->wait().ok());
  EXPECT_TRUE(device().status().ok());
}

}  // namespace
