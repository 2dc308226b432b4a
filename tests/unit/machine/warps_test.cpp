// Warps of a block: barriers in loops, named barriers, exits, deadlocks.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "machine/sm/block.h"
#include "machine_fixture.h"

namespace raddle::machine {
namespace {

using Warps = MachineTest;
using exec::WarpContext;

// proves: K-5a, K-5c
TEST_F(Warps, BarriersInALoopKeep32WarpsInStep) {
  open();
  std::array<int, 32> step{};
  bool in_step = true;
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    for (int i = 1; i <= 1000; ++i) {
      step[warp.warp_id] = i;
      warp.cta->services->barrier_sync(&warp, 0, 0, warp.live_lanes);
      for (int other : step) in_step &= other == i;
      warp.cta->services->barrier_sync(&warp, 1, 1024, warp.live_lanes);
    }
  });
  ASSERT_EQ(run(kernel, {.x = 1, .threads = 1024}).kind, exec::FaultKind::none);
  EXPECT_TRUE(in_step);
}

// A block without a cluster is a cluster of one: its threads meet, and those that exit are not waited for.
// proves: W-18c
TEST_F(Warps, TheClusterBarrierKeepsThemInStep) {
  open();
  std::array<int, 32> step{};
  bool in_step = true;
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    const exec::Services& machine = *warp.cta->services;
    for (int i = 1; i <= 600; ++i) {
      if (i == 300 && warp.warp_id % 4 == 3) {
        step[warp.warp_id] = 0;
        return;
      }
      step[warp.warp_id] = i;
      machine.cluster_arrive(&warp, 0xffff);
      machine.cluster_arrive(&warp, warp.live_lanes & ~0xffffu);
      if (warp.warp_id % 3 == 1) {
        while (machine.cluster_waiting(&warp, warp.live_lanes & warp.cluster_joined) != 0)
          machine.yield(&warp);
      } else {
        machine.cluster_wait(&warp, warp.live_lanes);
      }
      for (int other : step) in_step &= other == i || other == 0;
      machine.barrier_sync(&warp, 1, 0, warp.live_lanes);
    }
  });
  ASSERT_EQ(run(kernel, {.x = 1, .threads = 1024}).kind, exec::FaultKind::none);
  EXPECT_TRUE(in_step);
}

TEST_F(Warps, TheClusterBarrierIsArrivedAtOncePerPhase) {
  for (bool twice : {true, false}) {
    open();
    auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
      if (twice) {
        warp.cta->services->cluster_arrive(&warp, 3);
        warp.cta->services->cluster_arrive(&warp, 2);
      } else {
        warp.cta->services->cluster_wait(&warp, 4);
      }
    });
    const exec::Fault fault = run(kernel, {.x = 1, .threads = 32});
    EXPECT_EQ(fault.kind, exec::FaultKind::illegal_barrier);
    EXPECT_NE(fault.detail.find(twice ? "arrive again" : "without barrier.cluster.arrive"), std::string::npos)
        << fault.detail;
    EXPECT_EQ(fault.tid[0], twice ? 1u : 2u);
  }
}

/// Waits for a word to be something else than `value`, in the bits of `mask`.
void wait_for_word(WarpContext& warp, const std::atomic<std::uint64_t>& word, std::uint64_t mask,
                   std::uint64_t value) {
  Warp& self = *static_cast<Warp*>(warp.machine);
  const WordWait wait{&word, mask, value};
  while (!wait.is_over()) self.block->worker->wait_for_word(self, wait);
}

// Every warp waits for a bit of its own that the next one sets, but two, which wait for the same.
TEST_F(Warps, WaitForWordsThatWarpsOfTheirBlockChange) {
  open();
  std::atomic<std::uint64_t> word{0};
  std::vector<std::uint32_t> order;
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    const std::uint32_t bit = std::max(warp.warp_id, 1u);
    if (warp.warp_id != 31) wait_for_word(warp, word, 1ull << bit, 0);
    order.push_back(warp.warp_id);
    word |= 1ull << (bit - 1) | 0xff00'0000'0000'0000;  // bits that nobody waits for
  });
  ASSERT_EQ(run(kernel, {.x = 1, .threads = 1024}).kind, exec::FaultKind::none);
  ASSERT_EQ(order.size(), 32u);
  for (std::uint32_t i = 0; i < 30; ++i) EXPECT_EQ(order[i], 31 - i);
}

// On one worker the block that waits comes first; it is no deadlock, and the other one starts.
TEST_F(Warps, WaitForWordsThatOtherBlocksAndTheHostChange) {
  MachineOptions options;
  options.workers = 1;
  open(options);
  std::atomic<std::uint64_t> by_block{0}, by_host{7};
  std::atomic<std::uint32_t> waiting{0}, ended{0};
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    if (warp.cta->ctaid[0] == 1) {
      ++by_block;
      return;
    }
    if (warp.warp_id == 0) {
      wait_for_word(warp, by_block, ~0ull, 0);
      warp.cta->services->barrier_sync(&warp, 0, 64, warp.live_lanes);
    } else if (warp.warp_id == 1) {
      warp.cta->services->barrier_sync(&warp, 0, 64, warp.live_lanes);
    }
    ++waiting;
    wait_for_word(warp, by_host, 0xff, 7);
    ++ended;
  });
  Task* const task = submit(kernel, {.x = 2, .threads = 96});
  while (waiting != 3) std::this_thread::yield();
  EXPECT_EQ(ended, 0u);
  by_host = 0x107;  // not in the bits that are waited for
  EXPECT_FALSE(task->done());
  by_host = 8;
  task->wait();
  EXPECT_EQ(task->stop, 0u);
  EXPECT_EQ(ended, 3u);
  space_->tasks().release(task);
}

// On one worker two blocks of a cluster wait for each other, again and again: each gives its turn to the
// other. Whoever has it last is the one that ends or faults, and other grids get on meanwhile.
TEST_F(Warps, BlocksOfAClusterHandTurnsOn) {
  for (const std::uint32_t faulting : {0u, 1u, 2u}) {  // 2: none
    MachineOptions options;
    options.workers = 1;
    open(options);
    std::atomic<std::uint64_t> turn{0};
    std::atomic<bool> other_ran{false};
    std::atomic<std::uint32_t> scheduled{0};  // turns that the blocks had from the scheduler
    auto other = TestKernel::of_warps([&](WarpContext&) { other_ran = true; });
    auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
      const std::uint64_t own = warp.cta->ctaid[0];
      for (std::uint64_t i = own; i < 5000 || !other_ran; i += 2) {
        at_back_edge(warp);  // lowers the poll: while it is raised, all turns come from the scheduler
        for (std::uint64_t seen; (seen = turn) != i;) wait_for_word(warp, turn, ~0ull, seen);
        if (i == 2998 || i == 2999) scheduled += static_cast<Block*>(warp.cta->machine)->turns;
        if (i >= 3000 && own == faulting)
          warp.cta->services->fault(&warp, exec::FaultKind::assertion, 0, 0, 0);
        ++turn;
      }
    });
    Task* const task = submit(kernel, {.x = 2, .shared = 1024, .cluster = 2, .cluster_memory = true});
    if (faulting == 2) {
      EXPECT_EQ(run(other, {.x = 1}).kind, exec::FaultKind::none);
    } else {
      other_ran = true;
    }
    task->wait();
    EXPECT_EQ(task->stop.load() != 0, faulting != 2);
    if (faulting != 2) EXPECT_LT(scheduled, 1000u);
    if (faulting != 2) EXPECT_EQ(task->fault.ctaid[0], faulting);
    space_->tasks().release(task);
  }
}

// A producer warp arrives without waiting, a consumer waits: named barriers with counts.
// proves: K-5g
TEST_F(Warps, ProducersArriveAndConsumersWait) {
  open();
  int full = 0, bad = 0;
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    const exec::Services& machine = *warp.cta->services;
    for (int i = 1; i <= 100; ++i) {
      if (warp.warp_id == 0) {
        full = i;
        machine.barrier_arrive(&warp, 3, 64, warp.live_lanes);
        machine.barrier_sync(&warp, 4, 64, warp.live_lanes);
      } else {
        machine.barrier_sync(&warp, 3, 64, warp.live_lanes);
        bad += full != i;
        machine.barrier_arrive(&warp, 4, 64, warp.live_lanes);
      }
    }
  });
  ASSERT_EQ(run(kernel, {.x = 1, .threads = 64}).kind, exec::FaultKind::none);
  EXPECT_EQ(bad, 0);
}

// The second warp comes to the barriers in the other order: an arrival that waited would wait for ever.
// proves: K-5g
TEST_F(Warps, AnArrivalDoesNotWait) {
  open();
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    const exec::Services& machine = *warp.cta->services;
    for (const std::uint32_t barrier : {3u, 5u, 7u}) {
      if (warp.warp_id == 0)
        machine.barrier_arrive(&warp, barrier, 64, warp.live_lanes);
      else
        machine.barrier_sync(&warp, 10 - barrier, 64, warp.live_lanes);
    }
  });
  EXPECT_EQ(run(kernel, {.x = 1, .threads = 64}).kind, exec::FaultKind::none);
}

// Half a warp is counted at each of two barriers; the warp wakes whichever phase ends first.
// proves: K-5f
TEST_F(Warps, AWarpWaitsAtSeveralBarriers) {
  open();
  std::vector<int> order;
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    const exec::Services& machine = *warp.cta->services;
    exec::Barrier* barriers = warp.cta->barriers;
    if (warp.warp_id == 0) {
      const std::uint32_t one = machine.barrier_join(&warp, 1, 32, 0xffff, 0),
                          two = machine.barrier_join(&warp, 2, 32, 0xffff0000, 0);
      while (barriers[1].generation == one || barriers[2].generation == two) {
        std::uint32_t waiting =
            (barriers[1].generation == one ? 2u : 0) | (barriers[2].generation == two ? 4u : 0);
        machine.barrier_wait(&warp, waiting);
        order.push_back(barriers[1].generation == one ? 2 : 1);
      }
      return;
    }
    machine.barrier_join(&warp, 2, 32, 0xffff, 0);
    machine.yield(&warp);
    machine.barrier_join(&warp, 1, 32, 0xffff0000, 0);
  });
  ASSERT_EQ(run(kernel, {.x = 1, .threads = 64}).kind, exec::FaultKind::none);
  EXPECT_EQ(order, (std::vector<int>{2, 1}));
}

// No thread is left that could complete the phase.
TEST_F(Warps, JoinedBarriersMayDeadlock) {
  open();
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    warp.cta->services->barrier_join(&warp, 1, 64, 0xffff, 0);
    warp.cta->services->barrier_join(&warp, 2, 64, 0xffff0000, 0);
    warp.cta->services->barrier_wait(&warp, 6);
  });
  EXPECT_EQ(run(kernel, {.x = 1, .threads = 32}).kind, exec::FaultKind::deadlock);
}

// proves: K-5h
TEST_F(Warps, ReductionsReturnTheCountToAll) {
  open();
  std::array<std::uint32_t, 4> counts{}, arrived{};
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    counts[warp.warp_id] = warp.cta->services->barrier_reduce(&warp, 0, 0, warp.live_lanes, warp.warp_id + 1,
                                                              &arrived[warp.warp_id]);
  });
  ASSERT_EQ(run(kernel, {.x = 1, .threads = 100}).kind, exec::FaultKind::none);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(counts[static_cast<std::size_t>(i)], 1u + 1 + 2 + 1);  // bits of 1, 2, 3, 4
    EXPECT_EQ(arrived[static_cast<std::size_t>(i)], 100u);
  }
}

// proves: K-6b
TEST_F(Warps, ThreadsThatExitedDoNotHangTheOthers) {
  open();
  std::atomic<int> passed{0};  // blocks run on several workers
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    if (warp.warp_id % 2 == 1) return;
    warp.cta->services->exit_lanes(&warp, 0xff);
    warp.cta->services->barrier_sync(&warp, 0, 0, warp.live_lanes);
    warp.cta->services->barrier_sync(&warp, 1, 256,
                                     warp.live_lanes);  // counts the exited ones when nothing else is left
    ++passed;
  });
  for (int i = 0; i < 10; ++i) ASSERT_EQ(run(kernel, {.x = 10, .threads = 256}).kind, exec::FaultKind::none);
  EXPECT_EQ(passed, 10 * 10 * 4);
}

TEST_F(Warps, ABarrierThatCannotCompleteIsADeadlock) {
  open();
  auto kernel = TestKernel::of_warps(
      [](WarpContext& warp) { warp.cta->services->barrier_sync(&warp, warp.warp_id, 0, warp.live_lanes); });
  const exec::Fault fault = run(kernel, {.x = 3, .threads = 64});
  EXPECT_EQ(fault.kind, exec::FaultKind::deadlock);
  EXPECT_NE(fault.detail.find("64 threads wait"), std::string::npos) << fault.detail;
  EXPECT_TRUE(space_->failed());
}

TEST_F(Warps, IllegalBarriersFault) {
  open();
  auto kernel = TestKernel::of_warps(
      [](WarpContext& warp) { warp.cta->services->barrier_sync(&warp, 0, 33, warp.live_lanes); });
  EXPECT_EQ(run(kernel, {1}).kind, exec::FaultKind::illegal_barrier);
}

// A spin on another warp of the same block, with a third one at a barrier.
// proves: K-2b
TEST_F(Warps, SpinningWarpsLetTheOthersRun) {
  open();
  volatile int flag = 0;
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    if (warp.warp_id == 0) {
      while (flag != 1) warp.cta->services->yield(&warp);
    } else if (warp.warp_id == 2) {
      flag = 1;
    }
    warp.cta->services->barrier_sync(&warp, 0, 0, warp.live_lanes);
  });
  for (int i = 0; i < 100; ++i) {
    flag = 0;
    ASSERT_EQ(run(kernel, {.x = 1, .threads = 96}).kind, exec::FaultKind::none);
  }
}

}  // namespace
}  // namespace raddle::machine
