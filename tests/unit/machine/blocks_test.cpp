// Running blocks: every block once, in order, on few threads; blocks that wait for one another; priorities
// and streams.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "exec/window.h"
#include "machine/shape/host.h"
#include "machine_fixture.h"
#include "wait_until.h"

namespace raddle::machine {
namespace {

using Blocks = MachineTest;

TEST_F(Blocks, AMillionTinyBlocksRunOnceEach) {
  open();
  constexpr std::uint32_t kX = 1000, kY = 100, kZ = 10;
  std::vector<std::uint8_t> seen(kX * kY * kZ);
  auto kernel = TestKernel::of_blocks(
      [&](exec::CtaContext& cta) { ++seen[(cta.ctaid[2] * kY + cta.ctaid[1]) * kX + cta.ctaid[0]]; });
  const std::uint64_t start = now_ns();
  ASSERT_EQ(run(kernel, {kX, kY, kZ}).kind, exec::FaultKind::none);
  RecordProperty("ns_per_block", std::to_string((now_ns() - start) / seen.size()));
  for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], 1) << i;
}

// proves: K-1d
TEST_F(Blocks, NeverMoreKernelThreadsThanCores) {
  open();
  std::mutex mutex;
  std::set<long> threads;
  auto kernel = TestKernel::of_blocks([&](exec::CtaContext&) {
    std::lock_guard lock(mutex);
    threads.insert(syscall(SYS_gettid));
  });
  for (int i = 0; i < 20; ++i) ASSERT_EQ(run(kernel, {64}).kind, exec::FaultKind::none);
  EXPECT_LE(threads.size(), machine_->worker_count());
  EXPECT_EQ(threads.count(syscall(SYS_gettid)), 0u);
  MachineOptions options;
  options.shape = *preset_shape("h200", 2);
  options.workers = 10000;
  EXPECT_FALSE(Machine::create(std::move(options)).ok());
}

// proves: K-1b, K-1c
TEST(Pinning, EveryWorkerHasACoreOfItsOwn) {
  const HostInfo host = host_info();
  MachineOptions options;
  options.shape = *preset_shape("h200", 2);
  auto machine = create_pinned(std::move(options));
  ASSERT_TRUE(machine.ok());
  EXPECT_EQ((*machine)->worker_count(), host.usable_cores);
  std::set<int> cpus;
  for (unsigned i = 0; i < (*machine)->worker_count(); ++i) {
    const std::atomic<int>& cpu = (*machine)->worker(i).counters().cpu;
    ASSERT_TRUE(wait_until([&] { return cpu >= 0; }));
    EXPECT_NE(std::find(host.cpus.begin(), host.cpus.end(), cpu), host.cpus.end()) << cpu;
    EXPECT_TRUE(cpus.insert(cpu).second) << "two workers on one core";
  }
}

// Where each thread ran: the ten of a block on one worker, the two blocks on two, each on its core. Neither
// block ends before both have begun, and a worker that has one does not begin the other, as it does not
// yield.
// proves: K-4d
TEST(TwoCores, TwentyThreadsInBlocksOfTen) {
  if (host_info().usable_cores < 2) GTEST_SKIP() << "one core";
  struct Ran {
    Worker* worker = nullptr;
    long thread = 0;
    int cpu = -1;
  };
  std::array<Ran, 20> ran;
  std::atomic<int> begun{0}, met{0}, times{0};
  auto kernel = TestKernel::of_warps([&](exec::WarpContext& warp) {
    ++begun;
    met += wait_until([&] { return begun == 2; });
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      if ((warp.initial_lanes >> lane & 1) == 0) continue;
      ran.at(warp.cta->ctaid[0] * 10 + lane) = {current_worker(), syscall(SYS_gettid), sched_getcpu()};
      ++times;
    }
  });
  class Pinned : public MachineTest {
   public:
    void TestBody() override {}
    void open_two() {
      MachineOptions options;
      options.shape = *preset_shape("h200", 2);
      options.workers = 2;
      use(*Machine::create(std::move(options)));
    }
    using MachineTest::machine_;
    using MachineTest::run;
  } two;
  two.open_two();
  ASSERT_EQ(two.run(kernel, {.x = 2, .threads = 10}).kind, exec::FaultKind::none);
  EXPECT_EQ(met, 2);
  EXPECT_EQ(times, 20);
  for (std::size_t thread = 0; thread < 20; ++thread) {
    const Ran& first = ran[thread / 10 * 10];
    EXPECT_EQ(ran[thread].worker, first.worker);
    EXPECT_EQ(ran[thread].thread, first.thread);
    const int core = first.worker->counters().cpu;  // -1 if RADDLE_PIN=off
    if (core >= 0) EXPECT_EQ(ran[thread].cpu, core);
  }
  EXPECT_NE(ran[0].worker, ran[10].worker);
  EXPECT_NE(ran[0].thread, ran[10].thread);
  std::set<const Worker*> workers{&two.machine_->worker(0), &two.machine_->worker(1)};
  EXPECT_EQ((std::set<const Worker*>{ran[0].worker, ran[10].worker}), workers);
}

// A program that has launched goes on, on its core: a worker that is pinned there would have to wait for it.
TEST(TwoCores, ALaunchGoesToTheCoreThatItsProgramDoesNotHave) {
  if (host_info().usable_cores < 2) GTEST_SKIP() << "one core";
  std::atomic<const Worker*> ran{nullptr};
  auto kernel = TestKernel::of_warps([&](exec::WarpContext&) { ran = current_worker(); });
  class Pinned : public MachineTest {
   public:
    void TestBody() override {}
    void launch_from(int cpu, exec::Executable& kernel, const std::atomic<const Worker*>& ran) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(static_cast<unsigned>(cpu), &one);
      ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
      Task* const task = submit(kernel, {.x = 1});
      while (ran == nullptr) {
      }
      task->wait();
      space_->tasks().release(task);
    }
    using MachineTest::machine_;
    using MachineTest::use;
  } two;
  MachineOptions options;
  options.shape = *preset_shape("h200", 2);
  options.workers = 2;
  two.use(*create_pinned(std::move(options)));
  constexpr int kTries = 20;
  int elsewhere = 0;
  for (int i = 0; i < kTries; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // both sleep
    const Worker& neighbour = two.machine_->worker(static_cast<unsigned>(i) % 2);
    const std::atomic<int>& cpu = neighbour.counters().cpu;
    ASSERT_TRUE(wait_until([&] { return cpu >= 0; }));
    ran = nullptr;
    std::thread([&] { two.launch_from(cpu, kernel, ran); }).join();
    elsewhere += ran != &neighbour;
  }
  EXPECT_GT(elsewhere, kTries / 2);
}

// All blocks have begun before one ends, so each is begun by itself, in the middle of the grid.
// proves: W-14a, W-14j
TEST_F(Blocks, BlocksThatBeginInTheMiddleOfAGridKnowTheirPlace) {
  open();
  for (const std::uint32_t cluster : {1u, 4u}) {
    constexpr std::uint32_t kX = 8, kY = 5, kZ = 7, kBlocks = kX * kY * kZ;
    std::vector<std::atomic<int>> seen(kBlocks);
    std::atomic<std::uint32_t> begun{0};
    std::atomic<int> wrong{0};
    auto kernel = TestKernel::of_warps([&](exec::WarpContext& warp) {
      const exec::CtaContext& cta = *warp.cta;
      ++seen[(cta.ctaid[2] * kY + cta.ctaid[1]) * kX + cta.ctaid[0]];
      wrong += cluster != 1 && cta.cluster_rank != cta.ctaid[0] % cluster;
      ++begun;
      while (begun < kBlocks) cta.services->yield(&warp);
    });
    ASSERT_EQ(run(kernel, {.x = kX, .y = kY, .z = kZ, .shared = 1024, .cluster = cluster}).kind,
              exec::FaultKind::none);
    for (const std::atomic<int>& times : seen) EXPECT_EQ(times, 1);
    EXPECT_EQ(wrong, 0);
  }
}

// proves: K-8a
TEST_F(Blocks, ASmallGridUsesAllWorkers) {
  open();
  if (machine_->worker_count() < 2) GTEST_SKIP() << "one core";
  std::atomic<int> inside{0}, met{0};
  auto kernel = TestKernel::of_blocks([&](exec::CtaContext&) {
    ++inside;
    met += wait_until([&] { return inside == 2; });
  });
  constexpr int kTimes = 20;  // whichever worker comes first
  for (int i = 0; i < kTimes; ++i) {
    inside = 0;
    ASSERT_EQ(run(kernel, {2}).kind, exec::FaultKind::none);
    ASSERT_EQ(met, 2 * (i + 1));
  }
}

// Each block waits for the next one: all must be started although none of the first can end.
// proves: K-7f
TEST_F(Blocks, BlocksThatWaitForLaterOnesAreInterleaved) {
  open();
  constexpr std::uint32_t kBlocks = 600;
  std::vector<std::atomic<int>> flags(kBlocks + 1);
  flags[kBlocks] = 1;
  for (auto kind : {exec::BlockKind::loops, exec::BlockKind::fibers}) {
    for (std::uint32_t i = 0; i < kBlocks; ++i) flags[i] = 0;
    auto wait = [&](exec::CtaContext& cta, exec::WarpContext* warp) {
      while (flags[cta.ctaid[0] + 1] == 0) cta.services->yield(warp);
      flags[cta.ctaid[0]] = 1;
    };
    auto kernel = kind == exec::BlockKind::loops
                      ? TestKernel::of_blocks([&](exec::CtaContext& cta) {
                          exec::WarpContext warp{};
                          warp.cta = &cta;
                          wait(cta, &warp);
                        })
                      : TestKernel::of_warps([&](exec::WarpContext& warp) { wait(*warp.cta, &warp); });
    ASSERT_EQ(run(kernel, {kBlocks}).kind, exec::FaultKind::none);
    EXPECT_EQ(flags[0], 1);
  }
}

/// How many lines of a data cache fall on its fullest set; the addresses are of lines of 64 bytes.
unsigned fullest_set(const std::set<std::uint64_t>& lines, unsigned sets) {
  std::vector<unsigned> filled(sets);
  for (const std::uint64_t line : lines) ++filled[line / 64 % sets];
  return *std::max_element(filled.begin(), filled.end());
}

// All blocks that a worker runs, one after the other, touch so few lines that none drives out another: 16 KiB
// of shared and 8 KiB of local memory and a page of constants in an L1 of 32 KiB and 8 ways, as any host has
// at least.
// proves: K-11a
TEST_F(Blocks, SharedLocalAndConstantMemoryFitTheFirstCacheTogether) {
  constexpr std::uint64_t kShared = 16384, kThreads = 128, kLocal = 64, kConstants = 4096;
  constexpr unsigned kSets = 64, kWays = 8;
  open();
  const DevicePtr constants = *space_->memory().allocate_constants(kConstants, "table");
  std::mutex mutex;
  std::map<pid_t, std::set<std::uint64_t>> lines_of;  // by worker thread
  auto kernel = TestKernel::of_blocks([&](exec::CtaContext& cta) {
    std::lock_guard lock(mutex);
    auto& lines = lines_of[static_cast<pid_t>(syscall(SYS_gettid))];
    const auto add = [&](std::uint64_t start, std::uint64_t bytes) {
      for (std::uint64_t at = start / 64 * 64; at < start + bytes; at += 64) lines.insert(at);
    };
    for (std::uint64_t at = 0; at < kShared; at += 64) cta.shared[at] = std::byte{1};
    add(reinterpret_cast<std::uint64_t>(cta.shared), kShared);
    for (std::uint64_t t = 0; t < kThreads; ++t) {
      cta.local[t * cta.local_stride] = std::byte{1};
      add(reinterpret_cast<std::uint64_t>(cta.local) + t * cta.local_stride, kLocal);
    }
    add(constants.value, kConstants);
    // Caches see shared and local memory 64 KiB apart, shared addresses reach only the former.
    const auto local = reinterpret_cast<std::uint64_t>(cta.local),
               shared = reinterpret_cast<std::uint64_t>(cta.shared);
    EXPECT_EQ((shared - local) % (256 << 20), kThreads * kLocal + (64 << 10));
    EXPECT_LT(local + kThreads * kLocal, shared - exec::kSharedReach);
  });
  ASSERT_EQ(run(kernel, {.x = 200, .threads = kThreads, .shared = kShared, .local = kLocal}).kind,
            exec::FaultKind::none);
  ASSERT_FALSE(lines_of.empty());
  for (const auto& [worker, lines] : lines_of) {
    EXPECT_EQ(lines.size(), (kShared + kThreads * kLocal + kConstants) / 64);
    EXPECT_LE(fullest_set(lines, kSets), kWays);
  }
}

// proves: K-10a, K-10b
TEST_F(Blocks, BlocksThatDoNotWaitShareOneRegionPerWorker) {
  open();
  std::mutex mutex;
  std::set<std::byte*> regions;
  auto kernel = TestKernel::of_warps([&](exec::WarpContext& warp) {
    warp.cta->shared[5000] = std::byte{1};
    warp.cta->local[warp.cta->local_stride * (warp.cta->thread_count - 1)] = std::byte{1};
    warp.cta->services->barrier_sync(&warp, 0, 0, warp.live_lanes);
    std::lock_guard lock(mutex);
    regions.insert(warp.cta->shared);
  });
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(run(kernel, {.x = 500, .threads = 128, .shared = 100000, .local = 64}).kind,
              exec::FaultKind::none);
  EXPECT_LE(regions.size(), machine_->worker_count());
  for (auto* region : regions) EXPECT_EQ(reinterpret_cast<std::uint64_t>(region) % (256u << 20), 0u);
  for (unsigned i = 0; i < machine_->worker_count(); ++i)
    EXPECT_LE(machine_->worker(i).counters().peak_started, 1u);
}

TEST_F(Blocks, ATaskStartsAfterThoseItWaitsFor) {
  open();
  std::atomic<int> order{0};
  int first = 0, second = 0;
  auto a = TestKernel::of_blocks([&](exec::CtaContext& cta) {
    if (cta.ctaid[0] == 0) give_others_a_chance();
    first = ++order;
  });
  auto b = TestKernel::of_blocks([&](exec::CtaContext&) { second = ++order; });
  machine_->shape();
  Task* one = submit(a, {1});
  Task* two = submit(b, {1}, one);
  two->wait();
  EXPECT_TRUE(one->done());
  EXPECT_LT(first, second);
  space_->tasks().release(one);
  space_->tasks().release(two);
}

// Two tasks without a dependency run at once: the first waits for the second.
TEST_F(Blocks, IndependentTasksOverlap) {
  open();
  std::atomic<bool> flag{false};
  auto waiter = TestKernel::of_warps([&](exec::WarpContext& warp) {
    while (!flag) warp.cta->services->yield(&warp);
  });
  auto setter = TestKernel::of_blocks([&](exec::CtaContext&) { flag = true; });
  Task* one = submit(waiter, {.x = 4, .threads = 64});
  Task* two = submit(setter, {1});
  one->wait();
  two->wait();
  space_->tasks().release(one);
  space_->tasks().release(two);
  EXPECT_TRUE(flag);
}

// Figures, not checks: time does not gate.
TEST_F(Blocks, NullLaunchTime) {
  open();
  auto kernel = TestKernel::of_blocks([](exec::CtaContext&) {});
  for (int i = 0; i < 100; ++i) run(kernel, {1});
  std::vector<std::uint64_t> times;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t start = now_ns();
    run(kernel, {1});
    times.push_back(now_ns() - start);
  }
  std::sort(times.begin(), times.end());
  Task* last = nullptr;
  const std::uint64_t start = now_ns();
  constexpr int kLaunches = 10000;
  for (int i = 0; i < kLaunches; ++i) {
    Task* task = submit(kernel, {1}, last);
    space_->tasks().release(last);
    last = task;
  }
  const std::uint64_t enqueued = now_ns();
  last->wait();
  const std::uint64_t end = now_ns();
  space_->tasks().release(last);
  std::printf("null launch: round trip %llu ns (median), enqueue %llu ns, back to back %llu ns\n",
              (unsigned long long)times[500], (unsigned long long)((enqueued - start) / kLaunches),
              (unsigned long long)((end - start) / kLaunches));
}

TEST_F(Blocks, DeterministicModeRepeatsItsOrder) {
  const auto order_of = [&](std::uint64_t seed) {
    MachineOptions options;
    options.deterministic = seed;
    open(std::move(options));
    EXPECT_EQ(machine_->worker_count(), 1u);
    std::vector<std::uint32_t> order;
    auto kernel = TestKernel::of_warps([&](exec::WarpContext& warp) {
      for (int i = 0; i < 3; ++i) {
        order.push_back(warp.cta->ctaid[0] * 32 + warp.warp_id);
        warp.cta->services->yield(&warp);
      }
    });
    EXPECT_EQ(run(kernel, {.x = 6, .threads = 256}).kind, exec::FaultKind::none);
    close();
    return order;
  };
  const auto first = order_of(1);
  EXPECT_EQ(first.size(), 6u * 8 * 3);
  EXPECT_EQ(first, order_of(1));
  EXPECT_NE(first, order_of(2));
}

// Passing barriers is no sign that a block gets on: it may do so while it waits for a block that is not
// started.
// proves: K-7f
TEST_F(Blocks, ABlockThatWaitsWithBarriersLetsOthersStart) {
  MachineOptions options;
  options.workers = 1;
  open(std::move(options));
  constexpr std::uint32_t kBlocks = 20;
  std::atomic<std::uint32_t> arrived{0};
  auto kernel = TestKernel::of_warps([&](exec::WarpContext& warp) {
    const exec::Services& machine = *warp.cta->services;
    if (warp.warp_id == 0) ++arrived;
    while (arrived < kBlocks) {
      machine.barrier_sync(&warp, 0, 0, ~0u);
      if (*warp.cta->poll != 0) machine.poll(&warp);
      machine.barrier_sync(&warp, 1, 0, ~0u);
    }
  });
  const exec::Fault fault = run(kernel, {.x = kBlocks, .threads = 64, .time_limit_ns = 20'000'000'000});
  EXPECT_EQ(fault.kind, exec::FaultKind::none) << fault.to_string();
}

// More tasks are stopped at once than one look at the distributor reports.
TEST_F(Blocks, AnyNumberOfTasksCanBeCancelled) {
  MachineOptions options;
  options.workers = 1;
  open(std::move(options));
  std::atomic<bool> running{false};
  auto endless = TestKernel::of_warps([&](exec::WarpContext& warp) {
    running = true;
    for (;;)
      if (*warp.cta->poll != 0) warp.cta->services->poll(&warp);
  });
  std::vector<Task*> tasks{submit(endless, {1})};
  ASSERT_TRUE(wait_until([&] { return running.load(); }));
  for (int i = 0; i < 200; ++i) tasks.push_back(submit(endless, {1}));
  exec::Fault fault;
  fault.kind = exec::FaultKind::cancelled;
  for (std::size_t i = tasks.size(); i-- > 0;) space_->stop_task(*tasks[i], fault);
  for (Task* task : tasks) {
    task->wait();
    space_->tasks().release(task);
  }
  EXPECT_FALSE(space_->failed());
}

}  // namespace
}  // namespace raddle::machine
