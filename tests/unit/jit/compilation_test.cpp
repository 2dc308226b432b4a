// Compilations on threads of their own, and how a kernel becomes hot.
#include "jit/compilation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "jit/executable.h"

namespace raddle::jit {
namespace {

constexpr double kAnyTime = 1e9, kNoTime = 0;

Compilation::Object object_of(const char* text) { return llvm::MemoryBuffer::getMemBufferCopy(text); }

/// Works until it is told to end, or given up.
Compilation::Object endless(Effort& effort) {
  while (!effort.is_over()) std::this_thread::yield();
  return nullptr;
}

TEST(Compilations, IsAwaited) {
  Compilations all;
  auto made = all.start([](Effort&) { return object_of("code"); }, Compilation::Urgency::awaited, kAnyTime);
  auto object = made->await(kAnyTime);
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(object->getBuffer(), "code");
}

TEST(Compilations, IsAwaitedNoLongerThanItsThreadWorks) {
  Compilations all;
  auto slow = all.start(endless, Compilation::Urgency::awaited, kAnyTime);
  EXPECT_EQ(slow->await(0.05), nullptr);
}

TEST(Compilations, IsUsedWhenItIsMade) {
  Compilations all;
  std::promise<void> go;
  std::promise<std::string> used;
  auto late = all.start([&](Effort&) { return go.get_future().wait(), object_of("late"); },
                        Compilation::Urgency::awaited, kAnyTime);
  EXPECT_EQ(late->await(kNoTime), nullptr);
  late->then([&](Compilation::Object object) { used.set_value(object->getBuffer().str()); });
  go.set_value();
  EXPECT_EQ(used.get_future().get(), "late");
}

TEST(Compilations, IsGivenUpBeyondItsBudget) {
  Compilations all;
  auto slow = all.start(endless, Compilation::Urgency::background, 0.02);
  EXPECT_EQ(slow->await(kAnyTime), nullptr);
}

TEST(Compilations, GivingUpTakesItsUseBackWithoutWaitingForIt) {
  Compilations all;
  std::promise<void> go;
  std::atomic<bool> used{false};
  auto stuck = all.start([&](Effort&) { return go.get_future().wait(), object_of("unwanted"); },
                         Compilation::Urgency::awaited, kAnyTime);
  stuck->then([&](Compilation::Object) { used = true; });
  stuck->give_up();  // while it is inside of what LLVM cannot interrupt
  go.set_value();
  stuck->await(kAnyTime);
  EXPECT_FALSE(used);
}

TEST(Compilations, TheirEndGivesUpWhatRuns) {
  Compilations all;
  for (int k = 0; k < 3; ++k) all.start(endless, Compilation::Urgency::background, kAnyTime);
}

TEST(Compilations, OneAtATimeInTheBackground) {
  Compilations all;
  std::atomic<int> at_once{0}, most{0};
  std::vector<std::shared_ptr<Compilation>> started;
  for (int k = 0; k < 8; ++k)
    started.push_back(all.start(
        [&](Effort&) {
          most = std::max(most.load(), ++at_once);
          std::this_thread::yield();
          --at_once;
          return object_of("code");
        },
        Compilation::Urgency::background, kAnyTime));
  for (auto& compilation : started) EXPECT_NE(compilation->await(kAnyTime), nullptr);
  EXPECT_EQ(most, 1);
}

int calls = 0;
void quick_code(exec::CtaContext*) { ++calls; }
void optimised_code(exec::CtaContext*) { calls += 100; }

TEST(Tiers, AKernelThatRanLongEnoughIsReportedHotOnce) {
  JitExecutable executable;
  executable.kind = exec::BlockKind::loops;
  executable.set_entry(reinterpret_cast<void*>(quick_code));
  int hot = 0;
  executable.when_hot(1e-9, [&] {
    ++hot;
    executable.set_entry(reinterpret_cast<void*>(optimised_code));
  });
  exec::CtaContext cta{};
  calls = 0;
  for (int k = 0; k < 4; ++k) executable.run_block(cta);
  EXPECT_EQ(hot, 1);
  EXPECT_EQ(calls % 100 + calls / 100, 4);
  EXPECT_GE(calls, 200) << "later blocks run the new code";
}

TEST(Tiers, ItsEndTakesTheImprovementBackFirst) {
  Compilations all;
  std::promise<void> go;
  std::atomic<bool> used{false}, released{false};
  auto improvement = all.start([&](Effort&) { return go.get_future().wait(), object_of("late"); },
                               Compilation::Urgency::background, kAnyTime);
  improvement->then([&](Compilation::Object) { used = true; });
  {
    JitExecutable executable;
    executable.add_release([&] { released = true; });
    executable.improvement = improvement;
  }
  EXPECT_TRUE(released);
  go.set_value();
  improvement->await(kAnyTime);
  EXPECT_FALSE(used);
}

}  // namespace
}  // namespace raddle::jit
