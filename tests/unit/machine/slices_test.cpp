// Time slices: warps and blocks that loop without yielding are suspended where they poll, and what is behind
// them runs, whatever the kind of the block.
#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "machine_fixture.h"

namespace raddle::machine {
namespace {

using exec::BlockKind;
using exec::FaultKind;

/// Runs its warps one after the other on one fiber, as compiled code of block kind `loops` does.
class LoopKernel final : public exec::Executable {
 public:
  explicit LoopKernel(std::function<void(exec::WarpContext&)> body) : body_(std::move(body)) {
    kind = BlockKind::loops;
  }
  void run_block(exec::CtaContext& cta) override { run_from(cta, 0); }
  void run_warp(exec::WarpContext& suspended) override {
    EXPECT_NE(suspended.handed_over, 0u);
    run_from(*suspended.cta, suspended.warp_id + 1);
  }

 private:
  void run_from(exec::CtaContext& cta, std::uint32_t first) {
    for (std::uint32_t w = first; w < cta.warp_count; ++w) {
      exec::WarpContext warp{.cta = &cta, .warp_id = w, .initial_lanes = ~0u, .live_lanes = ~0u};
      cta.running_warp = w + 1;
      body_(warp);
      EXPECT_EQ(cta.running_warp, w + 1) << "whoever ran meanwhile left it as it was";
      if (warp.handed_over != 0) return;
    }
  }
  std::function<void(exec::WarpContext&)> body_;
};

/// A back-edge.
void poll(exec::WarpContext& warp) {
  if (warp.cta->poll->load(std::memory_order_relaxed) != 0) warp.cta->services->poll(&warp);
}

class Slices : public MachineTest {
 protected:
  static constexpr std::uint64_t kLimit = 60'000'000'000;  // ns
  using Body = std::function<void(exec::WarpContext&)>;

  void open_one(std::optional<std::uint64_t> seed = {}) {
    MachineOptions options;
    options.workers = 1;
    options.deterministic = seed;
    open(std::move(options));
  }
  /// As block kinds loops and fibers.
  void on_both_kinds(const Body& body, const std::function<void(exec::Executable&)>& test) {
    LoopKernel loops(body);
    TestKernel fibers = TestKernel::of_warps(body);
    test(loops);
    test(fibers);
  }
};

// proves: K-7f
TEST_F(Slices, WarpsThatWaitForLaterOnesWithoutYieldingAreSuspended) {
  for (const std::optional<std::uint64_t> seed : {std::optional<std::uint64_t>(), {0}, {1}}) {
    open_one(seed);
    constexpr std::uint32_t kWarps = 12;
    std::array<std::atomic<int>, kWarps + 1> flags;
    const Body wait = [&](exec::WarpContext& warp) {
      while (flags[warp.warp_id + 1] == 0) poll(warp);
      flags[warp.warp_id] = 1;
    };
    on_both_kinds(wait, [&](exec::Executable& code) {
      for (std::uint32_t i = 0; i <= kWarps; ++i) flags[i] = i == kWarps;
      const exec::Fault fault = run(code, {.threads = kWarps * 32, .time_limit_ns = kLimit});
      EXPECT_EQ(fault.kind, FaultKind::none) << fault.to_string();
      EXPECT_EQ(flags[0], 1);
    });
  }
}

// proves: K-7f
TEST_F(Slices, BlocksThatWaitForLaterOnesWithoutYieldingAreInterleaved) {
  open_one();
  constexpr std::uint32_t kBlocks = 5;
  std::array<std::atomic<int>, kBlocks + 1> flags;
  const Body wait = [&](exec::WarpContext& warp) {
    const std::uint32_t block = warp.cta->ctaid[0];
    while (flags[block + 1] == 0) poll(warp);
    flags[block] = 1;
  };
  on_both_kinds(wait, [&](exec::Executable& code) {
    for (std::uint32_t i = 0; i <= kBlocks; ++i) flags[i] = i == kBlocks;
    const exec::Fault fault = run(code, {.x = kBlocks, .threads = 64, .time_limit_ns = kLimit});
    EXPECT_EQ(fault.kind, FaultKind::none) << fault.to_string();
  });
}

// The second fiber of a block of kind loops runs kernel code like the first.
TEST_F(Slices, AFaultBehindASuspendedWarpIsTheKernels) {
  std::atomic<bool> begun{false};
  const Body body = [&](exec::WarpContext& warp) {
    while (warp.warp_id == 0) poll(warp);
    begun = true;
    if (warp.warp_id == 1) *reinterpret_cast<volatile int*>(8) = 1;
  };
  on_both_kinds(body, [&](exec::Executable& code) {
    open_one();
    const exec::Fault fault = run(code, {.threads = 96, .time_limit_ns = kLimit});
    EXPECT_EQ(fault.kind, FaultKind::illegal_address) << fault.to_string();
    EXPECT_NE(fault.detail.find("warp 1"), std::string::npos) << fault.detail;
    close();
  });
}

TEST_F(Slices, AStopReachesABlockWithManySuspendedWarps) {
  std::atomic<unsigned> begun{0};
  const Body endless = [&](exec::WarpContext& warp) {
    ++begun;
    for (;;) poll(warp);
  };
  on_both_kinds(endless, [&](exec::Executable& code) {
    open_one();
    begun = 0;
    Task* task = submit(code, {.x = 2, .threads = 256});
    while (begun < 16) std::this_thread::yield();
    exec::Fault cancelled;
    cancelled.kind = FaultKind::cancelled;
    space_->stop_task(*task, cancelled);
    task->wait();
    space_->tasks().release(task);
    // The same fibers serve the next kernel.
    std::atomic<unsigned> ended{0};
    LoopKernel next([&](exec::WarpContext&) { ++ended; });
    EXPECT_EQ(run(next, {.x = 5, .threads = 256}).kind, FaultKind::none);
    EXPECT_EQ(ended, 40u);
    close();
  });
}

TEST_F(Slices, DeterministicSlicesRepeat) {
  const auto order_of = [&](std::uint64_t seed) {
    open_one(seed);
    std::vector<std::uint32_t> order;
    LoopKernel code([&](exec::WarpContext& warp) {
      for (int i = 0; i < 200'000; ++i) {
        if (i % 20'000 == 0) order.push_back(warp.cta->ctaid[0] * 32 + warp.warp_id);
        poll(warp);
      }
    });
    EXPECT_EQ(run(code, {.x = 3, .threads = 128}).kind, FaultKind::none);
    close();
    return order;
  };
  const auto first = order_of(0);
  EXPECT_EQ(first, order_of(0));
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end())) << "no slice has ended";
  EXPECT_EQ(order_of(3), order_of(3));
}

/// Waits for tasks and releases them; each has ended well.
void finish(AddressSpace& space, const std::vector<Task*>& tasks) {
  for (Task* task : tasks) {
    task->wait();
    EXPECT_EQ(task->stop.load(), 0u) << task->fault.to_string();
    space.tasks().release(task);
  }
}

// One worker, and kernels in streams of their own: each answers the other, so both must go on all the time.
// proves: K-7f
TEST_F(Slices, KernelsOfSeveralStreamsTakeTurns) {
  for (const std::optional<std::uint64_t> seed : {std::optional<std::uint64_t>(), {0}, {5}}) {
    for (const int priority : {0, 3, -3}) {
      open_one(seed);
      constexpr int kRounds = 20;
      std::atomic<int> ball{0};
      const auto player = [&](int mine) {
        return LoopKernel([&ball, mine](exec::WarpContext& warp) {
          for (int round = mine; round < kRounds; round += 2) {
            while (ball != round) poll(warp);
            ++ball;
          }
        });
      };
      LoopKernel even = player(0), odd = player(1);
      const GridSize one{.time_limit_ns = kLimit};
      Task* first = submit(even, one);
      Task* second = submit(odd, {.time_limit_ns = kLimit, .priority = priority});
      finish(*space_, {first, second});
      EXPECT_EQ(ball, kRounds);
      close();
    }
  }
}

// The more urgent kernel comes later, and ends first: blocks that have started lose the worker to it at the
// end of their slice.
TEST_F(Slices, TheMoreUrgentStreamGetsTheWorker) {
  open_one(0);
  constexpr int kPolls = 1'000'000;  // several slices
  std::atomic<bool> started{false}, go{false};
  std::vector<char> ended;
  const auto work = [&](char name) {
    return LoopKernel([&, name](exec::WarpContext& warp) {
      started = true;
      while (!go) poll(warp);
      for (int i = 0; i < kPolls; ++i) poll(warp);
      ended.push_back(name);
    });
  };
  LoopKernel low = work('l'), high = work('h');
  Task* first = submit(low, {.x = 4, .priority = 5});
  while (!started) std::this_thread::yield();
  Task* second = submit(high, {.x = 4, .priority = -5});
  go = true;
  finish(*space_, {first, second});
  EXPECT_EQ(std::string(ended.begin(), ended.end()), "hhhhllll");
}

// A small kernel of another stream need not wait for the end of a long one that has all workers.
TEST_F(Slices, ALongKernelDoesNotKeepOthersOut) {
  open();
  std::atomic<bool> stop{false};
  LoopKernel endless([&](exec::WarpContext& warp) {
    while (!stop) poll(warp);
  });
  LoopKernel quick([](exec::WarpContext&) {});
  Task* task = submit(endless, {.x = 8 * machine_->worker_count(), .time_limit_ns = kLimit});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run(quick, {.x = 100}).kind, FaultKind::none);
  EXPECT_FALSE(task->done());
  stop = true;
  finish(*space_, {task});
}

// Blocks that end by themselves still run one after the other.
// proves: K-7a
TEST_F(Slices, ShortBlocksAreNotInterleaved) {
  open_one();
  std::vector<std::uint32_t> order;
  LoopKernel kernel([&](exec::WarpContext& warp) {
    if (warp.warp_id == 0) order.push_back(warp.cta->ctaid[0]);
    for (int i = 0; i < 100; ++i) poll(warp);
    if (warp.warp_id == 3) order.push_back(warp.cta->ctaid[0]);
  });
  EXPECT_EQ(run(kernel, {.x = 200, .threads = 128}).kind, FaultKind::none);
  ASSERT_EQ(order.size(), 400u);
  for (std::uint32_t i = 0; i < 400; i += 2) EXPECT_EQ(order[i], order[i + 1]) << i;
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

}  // namespace
}  // namespace raddle::machine
