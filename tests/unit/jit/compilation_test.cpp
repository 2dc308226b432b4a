// Compilations on threads of their own, and how a kernel becomes hot.
#include "jit/compilation.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <vector>

#include "jit/codegen.h"
#include "jit/executable.h"

namespace raddle::jit {
namespace {

constexpr double kAnyTime = 1e9, kNoTime = 0;

Compilation::Outcome object_of(const char* text) {
  return Compilation::Object(llvm::MemoryBuffer::getMemBufferCopy(text));
}

/// Works until it is told to end, or given up.
Compilation::Outcome endless(Effort& effort) {
  while (!effort.is_over()) std::this_thread::yield();
  return Compilation::Object();
}

/// As LLVM has tables that a compilation makes when it first needs them.
struct Table {
  std::atomic<bool> is_there{true};
  ~Table() { is_there = false; }
  static Table& instance() {
    static Table table;
    return table;
  }
};

/// Ends the process while a compilation works with the table.
void end_while_a_table_is_in_use() {
  auto* all = new Compilations;
  std::promise<void> begun;
  all->start(
      [&](Effort& effort) {
        const Table& table = Table::instance();
        begun.set_value();
        while (!effort.is_over()) std::this_thread::yield();
        if (!table.is_there) _exit(1);
        return Compilation::Outcome(Compilation::Object());
      },
      Compilation::Urgency::awaited, kAnyTime);
  begun.get_future().wait();
  std::exit(0);
}

/// A child that the process forks ends though it has no thread for what its parent compiles.
void end_in_a_child() {
  auto* all = new Compilations;
  all->start(endless, Compilation::Urgency::awaited, kAnyTime);
  const pid_t child = fork();
  if (child == 0) std::exit(3);
  int status = 0;
  waitpid(child, &status, 0);
  std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

bool is_made(const Compilation::Outcome& outcome) { return outcome && *outcome != nullptr; }

TEST(Compilations, IsAwaited) {
  Compilations all;
  auto made = all.start([](Effort&) { return object_of("code"); }, Compilation::Urgency::awaited, kAnyTime);
  auto object = made->await(kAnyTime);
  ASSERT_TRUE(is_made(object));
  EXPECT_EQ((*object)->getBuffer(), "code");
}

TEST(Compilations, IsAwaitedNoLongerThanItsThreadWorks) {
  Compilations all;
  auto slow = all.start(endless, Compilation::Urgency::awaited, kAnyTime);
  EXPECT_FALSE(is_made(slow->await(0.05)));
}

TEST(Compilations, IsUsedWhenItIsMade) {
  Compilations all;
  std::promise<void> go;
  std::promise<std::string> used;
  auto late = all.start([&](Effort&) { return go.get_future().wait(), object_of("late"); },
                        Compilation::Urgency::awaited, kAnyTime);
  EXPECT_FALSE(is_made(late->await(kNoTime)));
  late->then([&](Compilation::Outcome object) { used.set_value((*object)->getBuffer().str()); });
  go.set_value();
  EXPECT_EQ(used.get_future().get(), "late");
}

TEST(Compilations, TheEndOfTheProcessWaitsBeforeLlvmGoes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_while_a_table_is_in_use(), testing::ExitedWithCode(0), "");
}

TEST(Compilations, ForkedChildrenEndWithoutWaiting) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(end_in_a_child(), testing::ExitedWithCode(3), "");
}

TEST(Compilations, IsGivenUpBeyondItsBudget) {
  Compilations all;
  auto slow = all.start(endless, Compilation::Urgency::background, 0.02);
  EXPECT_FALSE(is_made(slow->await(kAnyTime)));
}

TEST(Compilations, GivingUpTakesItsUseBackWithoutWaitingForIt) {
  Compilations all;
  std::promise<void> go;
  std::atomic<bool> used{false};
  auto stuck = all.start([&](Effort&) { return go.get_future().wait(), object_of("unwanted"); },
                         Compilation::Urgency::awaited, kAnyTime);
  stuck->then([&](Compilation::Outcome) { used = true; });
  stuck->give_up();  // while it is inside of what LLVM cannot interrupt
  go.set_value();
  EXPECT_TRUE(stuck->await(kAnyTime).ok());
  EXPECT_FALSE(used);
}

// A machine with other work may take minutes for a pass.
TEST(Compilations, TheirEndDoesNotWaitForAPass) {
  struct Pass {
    std::promise<void> begun, go, ended;
  };
  const auto pass = std::make_shared<Pass>();
  for (const auto urgency : {Compilation::Urgency::awaited, Compilation::Urgency::background}) {
    *pass = {};
    auto all = std::make_unique<Compilations>();
    std::atomic<bool> used{false};
    all->start(
           [pass](Effort&) {
             pass->begun.set_value();
             pass->go.get_future().wait();
             pass->ended.set_value();
             return object_of("unwanted");
           },
           urgency, kAnyTime)
        ->then([&](Compilation::Outcome) { used = true; });
    pass->begun.get_future().wait();
    all.reset();
    pass->go.set_value();
    pass->ended.get_future().wait();
    EXPECT_FALSE(used);
  }
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
  for (auto& compilation : started) EXPECT_TRUE(is_made(compilation->await(kAnyTime)));
  EXPECT_EQ(most, 1);
}

/// A function of the name and text `body`.
Compilation::Outcome compile(const std::string& text, Tier tier, Effort& effort) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(text, problem, context);
  if (!module) return Error::invalid("{}", problem.getMessage().str());
  const HostTarget target = host_target(SimdLevel::host);
  return generate_object(*module, target, tier, effort);
}

// Each of these ends the process where LLVM is left to itself: one in a message, one from deep within.
TEST(Compilations, WhatLlvmCannotCompileIsAnError) {
  const struct {
    const char *text, *says;
  } cases[] = {{R"(
define i64 @f(i64 %x) {
  %y = call i64 asm "mov $1, $0", "={xmm0},{k9}"(i64 %x)
  ret i64 %y
})",
                "constraint"},
               {R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define i32 @f() {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ret i32 %x
})",
                "Cannot select"}};
  Compilations all;
  for (const auto& [text, says] : cases)
    for (const Tier tier : {Tier::quick, Tier::optimised})
      for (const auto urgency : {Compilation::Urgency::awaited, Compilation::Urgency::background}) {
        auto failed =
            all.start([&](Effort& effort) { return compile(text, tier, effort); }, urgency, kAnyTime);
        const Compilation::Outcome outcome = failed->await(kAnyTime);
        ASSERT_FALSE(outcome.ok());
        EXPECT_EQ(outcome.error().code, ErrorCode::unsupported);
        EXPECT_NE(outcome.error().message.find(says), std::string::npos) << outcome.error().message;
      }
  // Others are compiled as before.
  auto made =
      all.start([](Effort& effort) { return compile("define void @f() { ret void }", Tier::quick, effort); },
                Compilation::Urgency::background, kAnyTime);
  EXPECT_TRUE(is_made(made->await(kAnyTime)));
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
  exec::LaunchContext launch{};
  exec::CtaContext cta{};
  cta.launch = &launch;
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
  improvement->then([&](Compilation::Outcome) { used = true; });
  {
    JitExecutable executable;
    executable.add_release([&] { released = true; });
    executable.improvement = improvement;
  }
  EXPECT_TRUE(released);
  go.set_value();
  EXPECT_TRUE(improvement->await(kAnyTime).ok());
  EXPECT_FALSE(used);
}

}  // namespace
}  // namespace raddle::jit
