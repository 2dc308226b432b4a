// Tiers: the background thread, and how a kernel becomes hot.
#include "jit/tiers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "jit/executable.h"

namespace raddle::jit {
namespace {

TEST(TierThread, RunsJobsInOrder) {
  TierThread thread;
  std::vector<int> order;
  std::promise<void> done;
  for (int k = 0; k < 3; ++k) thread.push(&thread, [&order, k] { order.push_back(k); });
  thread.push(&thread, [&] { done.set_value(); });
  done.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST(TierThread, CancelTakesJobsBackAndWaitsForTheOneThatRuns) {
  TierThread thread;
  int owner = 0, other = 0;
  std::promise<void> started, go;
  std::atomic<bool> finished{false}, second{false}, others{false};
  thread.push(&owner, [&] {
    started.set_value();
    go.get_future().wait();
    finished = true;
  });
  auto token = std::make_shared<int>();
  std::weak_ptr<int> taken_back = token;
  thread.push(&owner, [&, token = std::move(token)] { second = true; });
  std::promise<void> last;
  thread.push(&other, [&] {
    others = true;
    last.set_value();
  });
  started.get_future().wait();
  auto release = std::async(std::launch::async, [&] {
    while (!taken_back.expired()) std::this_thread::yield();
    go.set_value();
  });
  thread.cancel(&owner);
  EXPECT_TRUE(finished);
  last.get_future().wait();
  EXPECT_FALSE(second);
  EXPECT_TRUE(others);
}

int calls = 0;
void quick_code(exec::CtaContext*) { ++calls; }
void optimised_code(exec::CtaContext*) { calls += 100; }

TEST(Tiers, AKernelThatRanLongEnoughIsReportedHotOnce) {
  JitExecutable executable;
  executable.kind = exec::BlockKind::loops;
  executable.set_entry(reinterpret_cast<void*>(quick_code));
  int hot = 0, stopped = 0;
  {
    executable.when_hot(
        1e-9,
        [&] {
          ++hot;
          executable.set_entry(reinterpret_cast<void*>(optimised_code));
        },
        [&] { ++stopped; });
    exec::CtaContext cta{};
    calls = 0;
    for (int k = 0; k < 4; ++k) executable.run_block(cta);
  }
  EXPECT_EQ(hot, 1);
  EXPECT_EQ(calls % 100 + calls / 100, 4);
  EXPECT_GE(calls, 200) << "later blocks run the new code";
}

TEST(Tiers, ItsEndStopsTheBackgroundFirst) {
  std::vector<int> order;
  {
    JitExecutable executable;
    executable.add_release([&] { order.push_back(2); });
    executable.when_hot(1, [] {}, [&] { order.push_back(1); });
  }
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace raddle::jit
