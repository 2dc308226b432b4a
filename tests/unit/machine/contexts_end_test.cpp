// Device contexts whose work is stopped, fails, grows or is copied while others are selected.
#include <thread>
#include <vector>

#include "contexts_fixture.h"
#include "machine/tasks/task_queue.h"

namespace raddle::machine {
namespace {

using exec::FaultKind;
using ContextsEnd = ContextsTest;

// The one that waited goes away; the other one is not to wait for it.
TEST_F(ContextsEnd, WhoWasToLeaveStaysIfNobodyWaits) {
  open_by_hand(1);
  auto first = in("first"), second = in("second");
  Gate gate;
  Task* const large = submit(*first, gate.kernel, {.x = 5000, .threads = 1024});
  ASSERT_TRUE(gate.has_begun());
  auto nothing = TestKernel::of_blocks([](exec::CtaContext&) {});
  Task* const never = submit(*second, nothing, {});
  tick();
  EXPECT_FALSE(first->context().is_done());
  second->cancel();
  finish(*second, never, FaultKind::cancelled);
  second.reset();
  EXPECT_TRUE(first->context().is_done());
  gate.open = true;
  finish(*first, large);
  EXPECT_EQ(gate.ended, 5000);
}

TEST_F(ContextsEnd, WhatIsCancelledWhileItWaitsNeverRuns) {
  open_by_hand();
  auto first = in("first"), second = in("second"), third = in("third");
  Gate gate;
  Task* const runs = submit(*first, gate.kernel, {});
  ASSERT_TRUE(gate.has_begun());
  std::atomic<int> ran{0};
  auto count = TestKernel::of_blocks([&](exec::CtaContext&) { ++ran; });
  std::vector<Task*> never;
  for (int i = 0; i < 3; ++i) never.push_back(submit(*second, count, {}, i == 2 ? never[0] : nullptr));
  Task* const waits = submit(*third, count, {});
  exec::Fault fault;
  fault.kind = FaultKind::cancelled;
  second->stop_task(*never[1], std::move(fault));
  finish(*second, never[1], FaultKind::cancelled);
  second->cancel();
  finish(*second, never[0], FaultKind::cancelled);
  finish(*second, never[2], FaultKind::cancelled);
  second.reset();
  gate.open = true;
  finish(*first, runs), finish(*third, waits);
  EXPECT_EQ(ran, 1);
}

// Whoever closes a space waits for its work, which waits for its turn.
TEST_F(ContextsEnd, ASpaceThatIsClosedWhileItWaitsRunsFirst) {
  open_by_hand();
  auto first = in("first"), second = in("second");
  Gate gate;
  Task* const runs = submit(*first, gate.kernel, {});
  ASSERT_TRUE(gate.has_begun());
  std::atomic<int> ran{0};
  auto count = TestKernel::of_blocks([&](exec::CtaContext&) { ++ran; });
  Task* const waits = submit(*second, count, {});
  second->tasks().release(waits);
  std::thread closes([&] { second.reset(); });
  give_others_a_chance();
  EXPECT_EQ(ran, 0);
  gate.open = true;
  closes.join();
  EXPECT_EQ(ran, 1);
  finish(*first, runs);
}

// proves: A-9g, A-9i
TEST_F(ContextsEnd, AFaultIsItsSpacesAlone) {
  open_by_hand();
  auto first = in("first"), fellow = in("first"), second = in("second");
  Gate gate;
  auto wrong = TestKernel::of_warps([&](exec::WarpContext& warp) {
    while (!gate.open) warp.cta->services->yield(&warp);
    warp.cta->services->fault(&warp, FaultKind::trap, 0, 0, 0);
  });
  std::atomic<int> ran{0};
  auto count = TestKernel::of_blocks([&](exec::CtaContext&) { ++ran; });
  Task* const fails = submit(*first, wrong, {});
  Task* const behind = submit(*first, count, {}, fails);
  Task* const beside = submit(*fellow, gate.kernel, {});
  ASSERT_TRUE(gate.has_begun());
  Task* const waits = submit(*second, count, {.x = 5});
  gate.open = true;
  finish(*first, fails, FaultKind::trap);
  finish(*first, behind, FaultKind::cancelled);
  finish(*fellow, beside);
  finish(*second, waits);
  EXPECT_EQ(run(*fellow, count, {}).kind, FaultKind::none) << "of the same context";
  EXPECT_EQ(ran, 6);
}

// Entries come to a queue of a context that is not selected.
TEST_F(ContextsEnd, AQueueThatGrowsIsSelectedAgain) {
  for (const std::optional<std::uint64_t> seed : {std::optional<std::uint64_t>(0), {}}) {
    open({.deterministic = seed, .contexts = ContextMode::queued});
    auto first = in("first"), second = in("second");
    std::atomic<int> entries{0}, ran{0};
    auto take = TestKernel::of_blocks([&](exec::CtaContext&) { ++entries; });
    auto count = TestKernel::of_blocks([&](exec::CtaContext&) { ++ran; });
    TaskRecord record;
    record.make_queue(4, 8, QueueEnding::closed);
    std::vector<std::uint64_t> slots(record.queue_bytes() / 8);
    Task* const task = first->tasks().acquire();
    GridWork& work = task->work.emplace<GridWork>();
    static const std::string name = "queue";
    task->set_parameters({});
    work.executable = &take;
    work.name = &name;
    work.threads_per_block = 32;
    work.context.ntid[0] = 32;
    work.context.ntid[1] = work.context.ntid[2] = 1;
    work.context.nctaid[0] = 4;
    work.context.nctaid[1] = work.context.nctaid[2] = 1;
    work.record = reinterpret_cast<std::uint64_t>(&record);
    work.queue =
        std::make_shared<TaskQueue>(TaskQueue::Spec{.record = work.record,
                                                    .progress = &record,
                                                    .slots = reinterpret_cast<std::byte*>(slots.data()),
                                                    .capacity = 4,
                                                    .entry_bytes = 8,
                                                    .ready = 0,
                                                    .ending = QueueEnding::closed});
    first->tasks().submit(*task, {});
    const std::uint64_t entry = 5;
    for (int i = 1; i <= 10; ++i) {
      EXPECT_EQ(run(*second, count, {}).kind, FaultKind::none);
      while (first->append(*task, reinterpret_cast<const std::byte*>(&entry), 0) == Append::full)
        std::this_thread::yield();
      ASSERT_TRUE(wait_until([&] { return entries == i; }));
    }
    first->close_queue(*task);
    finish(*first, task);
    EXPECT_EQ(ran, 10);
  }
}

// Copy engines serve all contexts at any time, also between two of them.
TEST_F(ContextsEnd, CopiesDoNotWaitForASelection) {
  open_by_hand();
  auto first = in("first", Translation::modelled), second = in("second", Translation::modelled);
  auto third = in("third");
  Gate gate;
  Task* const runs = submit(*third, gate.kernel, {});
  ASSERT_TRUE(gate.has_begun());
  constexpr std::uint64_t kAt = 0x5'0000'0000, kBytes = 4096;
  PhysicalMemory& memory = (*machine_->mmu())->memory();
  const FrameRun from = *memory.take(kBytes, kBytes), to = *memory.take(kBytes, kBytes);
  EXPECT_TRUE(first->pages()->enter(kAt, from, {}).ok());
  EXPECT_TRUE(second->pages()->enter(kAt, to, {}).ok());
  std::fill_n(memory.host(from.start), kBytes, std::byte{7});
  Task* const copy = first->tasks().acquire();
  copy->work = CopyWork{{second.get(), kAt}, {first.get(), kAt}, kBytes};
  first->tasks().submit(*copy, {});
  finish(*first, copy);
  EXPECT_EQ(std::count(memory.host(to.start), memory.host(to.start) + kBytes, std::byte{7}), 4096);
  EXPECT_EQ(first->pages()->counts().copy_engine_tlbs.misses, 1u);
  EXPECT_EQ(second->pages()->counts().copy_engine_tlbs.misses, 1u);
  EXPECT_EQ(first->context().selections(), 0u);
  gate.open = true;
  finish(*third, runs);
}

// Threads open spaces in contexts that come and go, and cancel or close them whatever their kernels do.
#if __has_feature(thread_sanitizer)  // under which a selection is so slow that others hardly get its lock
constexpr int kComings = 3;
#else
constexpr int kComings = 25;
#endif

TEST_F(ContextsEnd, ComeAndGoWhileOthersWork) {
  for (const ContextMode mode : {ContextMode::queued, ContextMode::concurrent}) {
    open({.workers = 2, .contexts = mode, .context_quantum = 1});
    std::atomic<int> ran{0}, expected{0};
    auto count = TestKernel::of_blocks([&](exec::CtaContext&) { ++ran; });
    auto endless = TestKernel::of_warps([](exec::WarpContext& warp) {
      for (;;) poll_in_loop(warp);
    });
    auto wrong = TestKernel::of_blocks([](exec::CtaContext& cta) {
      exec::WarpContext warp{.cta = &cta};
      cta.services->fault(&warp, FaultKind::trap, 0, 0, 0);
    });
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < kComings; ++i) {
          auto space =
              in(std::to_string((t + i) % 3), i % 2 == 0 ? Translation::modelled : Translation::direct);
          EXPECT_EQ(run(*space, count, {.x = 50}).kind, FaultKind::none);
          expected += 50;
          if (i % 5 == 1) EXPECT_EQ(run(*space, wrong, {.x = 3}).kind, FaultKind::trap);
          if (i % 5 != 2) continue;
          Task* const runs = submit(*space, endless, {.x = 10});
          space->cancel();
          finish(*space, runs, FaultKind::cancelled);
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ran, expected);
  }
}

}  // namespace
}  // namespace raddle::machine
