// Kernels that wait for their children inside of the CTA, in machines that the parents alone would fill: the
// children run nevertheless.
#include <algorithm>
#include <thread>

#include "kernel_test.h"

namespace {

using Values = std::vector<int>;
constexpr const char* kParentsFile = "waiting_parents.ptx";

/// An engine, and how the machine runs its code.
struct ParentWay {
  EngineChoice engine;
  unsigned workers;
  std::uint32_t task_slots;
  bool deterministic = false, late = false, preemptive = false;
};

/// Of each engine some: what differs is the machine's.
std::vector<ParentWay> parent_ways() {
  std::vector<ParentWay> all;
  for (const EngineChoice& engine : kEngines) {
    if (*engine.simd != '\0') continue;
    all.push_back({engine, 1, 128});
    if (takes_turns(engine) || *engine.tier != '\0') continue;
    all.push_back({engine, 2, 1});
    all.push_back({engine, 2, 128});
    all.push_back({engine, 1, 2, true});
    all.push_back({engine, 1, 128, true, true});
    for (const bool deterministic : {false, true})
      all.push_back({.engine = engine,
                     .workers = 2,
                     .task_slots = 1,
                     .deterministic = deterministic,
                     .preemptive = true});
  }
  return all;
}

std::string parent_way_name(const testing::TestParamInfo<ParentWay>& info) {
  const ParentWay& way = info.param;
  return engine_name({way.engine, 0}) + "_" + std::to_string(way.workers) + "_workers_" +
         std::to_string(way.task_slots) + "_slots" +
         (way.late            ? "_late"
          : way.deterministic ? "_deterministic"
                              : "") +
         (way.preemptive ? "_preemptive" : "");
}

class WaitingParents : public KernelTestBase, public testing::WithParamInterface<ParentWay> {
 protected:
  WaitingParents() : KernelTestBase(GetParam().engine) {
    options_.shape = "tiny";
    options_.time_limit = std::chrono::seconds(30);  // what would wait forever fails
    options_.workers = GetParam().workers;
    options_.distributor.task_slots = GetParam().task_slots;
    options_.distributor.preemptive = GetParam().preemptive;
    if (GetParam().deterministic) options_.deterministic = 7;
    if (GetParam().late) options_.asynchrony = {raddle::Asynchrony::Mode::random, 5};
  }
  /// CTAs that the two SMs hold, a few times.
  static constexpr unsigned kMany = 300;
};
INSTANTIATE_TEST_SUITE_P(Ways, WaitingParents, testing::ValuesIn(parent_ways()), parent_way_name);

// proves: A-3e, A-3g
TEST_P(WaitingParents, AreResumedWhenTheirChildrenAreComplete) {
  constexpr int kDepth = 24;  // CUDA's deepest
  auto values = buffer(Values(kDepth + 1));
  run(kernel(kParentsFile, "nest"), {}, values, kDepth);
  Values want(kDepth + 1);
  for (int i = 0; i <= kDepth; ++i) want[i] = kDepth + 1 - i;
  EXPECT_EQ(contents(values), want);
}

// proves: A-3f
TEST_P(WaitingParents, FillTheMachineAndTheirChildrenRun) {
  constexpr unsigned kThreads = 64;
  auto values = buffer(Values(2 * kMany)), results = buffer(Values(kMany * kThreads));
  run(kernel(kParentsFile, "parents"), {.grid = {kMany}, .block = {kThreads}}, values, results);
  const Values found = contents(results);
  for (int block = 0; block < static_cast<int>(kMany); ++block)
    for (int thread = 0; thread < static_cast<int>(kThreads); ++thread)
      ASSERT_EQ(found[block * kThreads + thread],
                3 * (thread + 1) + block * 8 + thread + (thread == 0 ? 100 * block : 0))
          << block << " " << thread;
}

// proves: A-3f
TEST_P(WaitingParents, WaitForParentsThatWait) {
  constexpr int kNodes = 600;
  auto sums = buffer(Values(kNodes));
  run(kernel(kParentsFile, "tree"), {}, sums, 0, kNodes);
  Values want(kNodes);
  for (int node = kNodes - 1; node >= 0; --node) {
    want[node] += node;
    if (node != 0) want[(node - 1) / 2] += want[node];
  }
  EXPECT_EQ(contents(sums), want);
}

TEST_P(WaitingParents, AreSetAsideWithTheWarpsThatLoop) {
  auto values = buffer(Values(2 * kMany));
  run(kernel(kParentsFile, "one_warp_waits"), {.grid = {kMany}, .block = {64}}, values);
  EXPECT_EQ(contents(values), Values(2 * kMany, 5));
}

TEST_P(WaitingParents, MayBeAllThreads) {
  constexpr unsigned kBlocks = 3, kThreads = 96;
  auto values = buffer(Values(kBlocks * kThreads)), results = buffer(Values(kBlocks * kThreads));
  run(kernel(kParentsFile, "all_threads_wait"), {.grid = {kBlocks}, .block = {kThreads}}, values, results);
  Values want(kBlocks * kThreads);
  for (unsigned i = 0; i < want.size(); ++i) want[i] = i % 3 != 1 ? static_cast<int>(i + 1) : 0;
  EXPECT_EQ(contents(results), want);
}

TEST_P(WaitingParents, WaitForWhatTheirBlockHasLaunched) {
  auto values = buffer(Values(8 * 4));
  run(kernel(kParentsFile, "what_is_waited_for"), {.grid = {4}}, values);
  Values want;
  for (int block = 0; block < 4; ++block)
    for (const int value : {0, 9, 1, 2, 0x01010101, 0, 121, 0}) want.push_back(value);
  EXPECT_EQ(contents(values), want);
}

TEST_P(WaitingParents, AreNoClusters) {
  constexpr int kNotSupported = 801;
  auto errors = buffer(Values(2, -1));
  run(kernel(kParentsFile, "wait_for_nobody"), {.grid = {2}, .cluster = {2}}, errors);
  EXPECT_EQ(contents(errors), Values(2, kNotSupported));
  run(kernel(kParentsFile, "wait_for_nobody"), {.grid = {2}}, errors);
  EXPECT_EQ(contents(errors), Values(2, 0));
}

/// More urgent parents take the only slot again and again, where the machine says so in the middle of blocks.
TEST_P(WaitingParents, MayBeMoreUrgentThanOthers) {
  constexpr unsigned kThreads = 64, kUrgent = 20;
  auto values = buffer(Values(2 * kMany)), results = buffer(Values(kMany * kThreads));
  raddle::Stream urgent = device().stream(-5).value(), other = device().stream().value();
  auto slow = kernel(kParentsFile, "parents")
                  .launch({.grid = {kMany}, .block = {kThreads}, .stream = &other}, values, results);
  ASSERT_TRUE(slow.ok());
  for (unsigned i = 0; i < kUrgent; ++i) {
    auto nested = buffer(Values(4));
    ASSERT_TRUE(kernel(kParentsFile, "nest").launch({.stream = &urgent}, nested, 3).value().wait().ok());
    EXPECT_EQ(contents(nested), (Values{4, 3, 2, 1}));
  }
  ASSERT_TRUE(slow->wait().ok());
  const Values found = contents(results);
  for (int block = 0; block < static_cast<int>(kMany); ++block)
    ASSERT_EQ(found[block * kThreads], 3 + block * 8 + 100 * block) << block;
}

TEST_P(WaitingParents, EndWithAChildThatFails) {
  auto flag = buffer(Values(1));
  const auto report = try_run(kernel(kParentsFile, "parents_of_trapping"), {.grid = {kMany}}, flag);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("trap in kernel trapping"), std::string::npos)
      << report.error().message;
}

TEST_P(WaitingParents, EndWhenTheyAreCancelled) {
  auto flag = buffer(Values(1));
  auto launched = kernel(kParentsFile, "parents_of_forever").launch({.grid = {kMany}}, flag);
  ASSERT_TRUE(launched.ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  launched->cancel();
  EXPECT_FALSE(launched->wait().ok());
  EXPECT_EQ(contents(flag), Values(1));
  auto values = buffer(Values(2));  // and give back what they had
  run(kernel(kParentsFile, "nest"), {}, values, 1);
  EXPECT_EQ(contents(values), (Values{2, 1}));
}

}  // namespace
