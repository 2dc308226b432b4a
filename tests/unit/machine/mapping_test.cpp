// How blocks and their threads are mapped to cores: who runs what, in which order, in which memory. With one
// worker and with all, recorded, and in deterministic mode.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "machine/launch/recorder.h"
#include "machine/shape/host.h"
#include "machine_fixture.h"

namespace raddle::machine {
namespace {

using exec::CtaContext;
using exec::FaultKind;
using exec::WarpContext;

struct Mode {
  const char* name;
  unsigned workers;
  bool recorded = false;
  std::optional<std::uint64_t> seed = {};
};
constexpr Mode kModes[] = {{"OneWorker", 1},
                           {"AllWorkers", 0},
                           {"Recorded", 0, true},
                           {"Deterministic", 1, false, 0},
                           {"Seeded", 1, false, 7}};

/// Hears everything and keeps nothing: the machine goes the way that it goes when someone records.
struct MappingListener : LaunchRecorder, DecisionLog {
  void added(const Grid&, const std::uint32_t*, std::string_view, std::uint64_t) override {}
  void ended(const Grid&, std::uint64_t, std::uint32_t, const CtaTime&) override {}
  DecisionLog* decisions() override { return this; }
  void record(const Decision&) override {}
};

long this_thread() { return syscall(SYS_gettid); }

void barrier(WarpContext& warp) { warp.cta->services->barrier_sync(&warp, 0, 0, warp.live_lanes); }
void yield(WarpContext& warp) { warp.cta->services->yield(&warp); }

class Mapping : public MachineTest, public ::testing::WithParamInterface<Mode> {
 protected:
  void SetUp() override { open_with(GetParam()); }
  void TearDown() override { close(); }  // before the listener
  void open_with(const Mode& mode) {
    MachineOptions options;
    options.workers = mode.workers;
    options.deterministic = mode.seed;
    options.recorder = mode.recorded ? &listener_ : nullptr;
    close();
    open(std::move(options));
  }
  FaultKind run_well(TestKernel& kernel, const GridSize& grid) { return run(kernel, grid).kind; }

  MappingListener listener_;
  std::mutex mutex_;
};

// Every warp of a block looks at its thread before and after it waited and let others run.
// proves: K-1a, K-2a
TEST_P(Mapping, AllThreadsOfABlockRunOnOneThreadOfTheSystem) {
  constexpr std::uint32_t kBlocks = 60, kThreads = 1000;
  std::vector<std::set<long>> seen(kBlocks);
  std::vector<std::uint32_t> threads(kBlocks);
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    const auto look = [&] {
      const std::lock_guard lock(mutex_);
      seen[warp.cta->ctaid[0]].insert(this_thread());
    };
    look();
    threads[warp.cta->ctaid[0]] += static_cast<std::uint32_t>(std::popcount(warp.initial_lanes));
    for (int i = 0; i < 3; ++i) {
      barrier(warp);
      look();
      yield(warp);
      look();
    }
  });
  ASSERT_EQ(run_well(kernel, {.x = kBlocks, .threads = kThreads}), FaultKind::none);
  std::set<long> all;
  for (const auto& of_block : seen) {
    EXPECT_EQ(of_block.size(), 1u);
    all.insert(of_block.begin(), of_block.end());
  }
  EXPECT_EQ(threads, std::vector<std::uint32_t>(kBlocks, kThreads));
  EXPECT_LE(all.size(), machine_->worker_count());
  EXPECT_EQ(all.count(this_thread()), 0u);
}

// Four warps that never meet at a barrier take turns on one thread, each with a stack of its own.
// proves: K-2b
TEST_P(Mapping, WarpsTakeTurnsAsUserLevelThreads) {
  constexpr int kTurns = 5;
  std::vector<std::uint32_t> order;
  std::set<const void*> places;
  std::set<long> threads;
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    int own = 0;
    for (; own < kTurns; ++own) {
      order.push_back(warp.warp_id);
      threads.insert(this_thread());
      yield(warp);
    }
    places.insert(&own);
    EXPECT_EQ(own, kTurns);
  });
  ASSERT_EQ(run_well(kernel, {.x = 1, .threads = 100}), FaultKind::none);
  EXPECT_EQ(threads.size(), 1u);
  EXPECT_EQ(places.size(), 4u);
  ASSERT_EQ(order.size(), 4u * kTurns);
  if (GetParam().seed.value_or(0) != 0) return;  // the seed draws the order
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i % 4) << i;
}

// A block with one thread left is not over: later work has to wait, others get on.
// proves: K-6a
TEST_P(Mapping, ABlockEndsWithItsLastThread) {
  std::atomic<bool> waiting{false}, go{false}, followed{false};
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    if (warp.warp_id != 1) return;
    warp.cta->services->exit_lanes(&warp, ~1u);
    waiting = true;
    while (!go) yield(warp);
  });
  auto next = TestKernel::of_warps([&](WarpContext&) { followed = true; });
  auto other = TestKernel::of_warps([](WarpContext&) {});
  Task* first = submit(kernel, {.x = 1, .threads = 128});
  Task* second = submit(next, {.x = 1}, first);
  while (!waiting) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) ASSERT_EQ(run_well(other, {.x = 3}), FaultKind::none);
  EXPECT_FALSE(first->done());
  EXPECT_FALSE(followed);
  go = true;
  second->wait();
  EXPECT_TRUE(first->done());
  EXPECT_TRUE(followed);
  space_->tasks().release(first);
  space_->tasks().release(second);
}

// Warps of a block switch at barriers, but no other block of the worker begins before the last has ended.
// proves: K-7a
TEST_P(Mapping, ABlockThatDoesNotWaitEndsBeforeTheNextBegins) {
  struct OfThread {
    std::uint32_t block = ~0u, warps_left = 0;
  };
  std::map<long, OfThread> open_of;
  int wrong = 0, ended = 0;
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    const std::uint32_t block = warp.cta->ctaid[0];
    const auto at = [&](bool begins, bool ends) {
      const std::lock_guard lock(mutex_);
      OfThread& mine = open_of[this_thread()];
      if (begins && mine.warps_left == 0) mine = {block, warp.cta->warp_count};
      wrong += mine.block != block;
      if (ends && --mine.warps_left == 0) ++ended;
    };
    at(true, false);
    for (int i = 0; i < 5; ++i) {
      barrier(warp);
      at(false, false);
    }
    at(false, true);
  });
  for (int i = 0; i < 3; ++i) ASSERT_EQ(run_well(kernel, {.x = 200, .threads = 128}), FaultKind::none);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(ended, 600);
}

// The launching thread has gone when the first block ends; the other blocks still run.
// proves: K-7c
TEST_P(Mapping, WorkersGoOnWithoutWhoLaunched) {
  constexpr int kBlocks = 3000;
  std::atomic<bool> gone{false};
  std::atomic<int> ended{0};
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    while (!gone) yield(warp);
    ++ended;
  });
  Task* task = nullptr;
  std::thread([&] { task = submit(kernel, {.x = kBlocks}); }).join();
  EXPECT_EQ(ended, 0);
  gone = true;
  while (ended != kBlocks) std::this_thread::yield();  // no thread waits for the task
  task->wait();
  space_->tasks().release(task);
}

// Shared and local memory of a worker's blocks lie in one place each, launch after launch.
// proves: K-10a, K-10b, K-10c
TEST_P(Mapping, AWorkerHasOneRegionOfSharedAndOneOfLocalMemory) {
  std::map<long, std::set<const std::byte*>> shared, local;
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    const CtaContext& cta = *warp.cta;
    cta.shared[5000] = std::byte{1};
    cta.local[cta.local_stride * cta.thread_count - 1] = std::byte{1};
    barrier(warp);
    const std::lock_guard lock(mutex_);
    shared[this_thread()].insert(cta.shared);
    const std::uint64_t bytes = cta.local_stride * cta.thread_count;
    local[this_thread()].insert(cta.local + (bytes + 4095) / 4096 * 4096);  // which ends in one place
  });
  for (const std::uint64_t kib : {16, 100, 50})
    ASSERT_EQ(run_well(kernel, {.x = 300, .threads = 128, .shared = kib << 10, .local = kib}),
              FaultKind::none);
  EXPECT_LE(shared.size(), machine_->worker_count());
  for (const auto* regions : {&shared, &local})
    for (const auto& [thread, places] : *regions) EXPECT_EQ(places.size(), 1u);
}

class OneWorker : public MachineTest {
 protected:
  void SetUp() override {
    MachineOptions options;
    options.workers = 1;
    options.deterministic = 0;  // so that no time slice ends because this machine is busy
    open(std::move(options));
  }
};

/// Bytes from `start` on that the process may write without a gap.
std::uint64_t writable_from(const std::byte* start) {
  std::ifstream maps("/proc/self/maps");
  std::uint64_t at = reinterpret_cast<std::uint64_t>(start);
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0, end = 0;
    char access[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access) != 3) continue;
    if (begin <= at && at < end && access[1] == 'w') at = end;
  }
  return at - reinterpret_cast<std::uint64_t>(start);
}

// proves: K-10b, K-10c
TEST_P(Mapping, ARegionHasTheBytesOfOneBlock) {
  std::map<const std::byte*, std::uint64_t> shared, local;  // by start: bytes
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    const std::lock_guard lock(mutex_);
    shared.emplace(warp.cta->shared, 0);
    local.emplace(warp.cta->local, 0);
  });
  constexpr std::uint64_t kPage = 4096;
  ASSERT_EQ(run_well(kernel, {.x = 100, .threads = 64, .shared = 10 * kPage, .local = 3 * kPage}),
            FaultKind::none);
  for (const auto& [start, unused] : shared) EXPECT_EQ(writable_from(start), 10 * kPage);
  for (const auto& [start, unused] : local) EXPECT_EQ(writable_from(start), 64 * 3 * kPage);
}

// Only blocks that have started and wait need more regions, and the next such grid has the same ones.
// proves: K-10b
TEST_F(OneWorker, BlocksThatWaitForEachOtherHaveRegionsOfTheirOwn) {
  constexpr std::uint32_t kBlocks = 7;
  std::set<const std::byte*> first, second;
  std::set<const std::byte*>* regions = &first;
  std::uint32_t come = 0;
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    regions->insert(warp.cta->shared);
    ++come;
    while (come < kBlocks) yield(warp);
  });
  ASSERT_EQ(run(kernel, {.x = kBlocks, .shared = 4096}).kind, FaultKind::none);
  regions = &second;
  come = 0;
  ASSERT_EQ(run(kernel, {.x = kBlocks, .shared = 4096}).kind, FaultKind::none);
  EXPECT_EQ(first.size(), kBlocks);
  EXPECT_EQ(second, first);
}

// What a block left in its region is there for the next one: nobody cleared it in between.
// proves: K-10e
TEST_P(Mapping, ARegionIsUsedAgainByOverwriting) {
  constexpr std::uint64_t kShared = 8192, kLocal = 512;
  constexpr std::uint64_t kPlaces[] = {0, 1024, 4097, kShared - 1};
  int fresh = 0, kept = 0, other = 0;
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    const std::lock_guard lock(mutex_);
    const auto use = [&](std::byte& byte) {
      (byte == std::byte{0} ? fresh : byte == std::byte{0x5a} ? kept : other) += 1;
      byte = std::byte{0x5a};
    };
    for (const std::uint64_t place : kPlaces) use(warp.cta->shared[place]);
    use(warp.cta->local[kLocal * warp.cta->thread_count - 1]);
  });
  for (int i = 0; i < 4; ++i)
    ASSERT_EQ(run_well(kernel, {.x = 100, .threads = 32, .shared = kShared, .local = kLocal}),
              FaultKind::none);
  EXPECT_EQ(other, 0);
  EXPECT_LE(fresh, 5 * static_cast<int>(machine_->worker_count()));
  EXPECT_EQ(fresh + kept, 5 * 400);
}

INSTANTIATE_TEST_SUITE_P(Modes, Mapping, ::testing::ValuesIn(kModes),
                         [](const auto& info) { return std::string(info.param.name); });

// Blocks that wait are resumed in the order in which they have started, round after round.
// proves: K-7b
TEST_F(OneWorker, StartedBlocksAreResumedOldestFirst) {
  constexpr std::uint32_t kBlocks = 6;
  std::vector<std::uint32_t> order;
  std::uint32_t come = 0;
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    ++come;
    for (int left = 3; left != 0 || come < kBlocks; left -= left != 0) {
      order.push_back(warp.cta->ctaid[0]);
      yield(warp);
    }
  });
  ASSERT_EQ(run(kernel, {.x = kBlocks}).kind, FaultKind::none);
  std::size_t rounds = 0;
  for (std::size_t i = 1; i < order.size(); ++i) {
    rounds += order[i] <= order[i - 1];
    EXPECT_TRUE(order[i] > order[i - 1] || order[i] == *std::min_element(order.begin() + i, order.end()))
        << "block " << order[i] << " after " << order[i - 1] << ", which has an older one to come";
  }
  EXPECT_GE(rounds, 3u);
}

// A grid that came first begins first, and its blocks in their order.
// proves: K-7b
TEST_F(OneWorker, OlderGridsBeginFirst) {
  constexpr std::uint32_t kBlocks = 40;
  std::atomic<bool> go{false};
  std::vector<std::pair<int, std::uint32_t>> begun;
  auto gate = TestKernel::of_warps([&](WarpContext&) {
    while (!go) std::this_thread::yield();  // keeps the worker
  });
  std::vector<TestKernel> kernels;
  for (int grid = 0; grid < 3; ++grid)
    kernels.push_back(TestKernel::of_warps(
        [&begun, grid](WarpContext& warp) { begun.emplace_back(grid, warp.cta->ctaid[0]); }));
  std::vector<Task*> tasks{submit(gate, {.x = 1})};
  for (TestKernel& kernel : kernels) tasks.push_back(submit(kernel, {.x = kBlocks}));
  go = true;
  for (Task* task : tasks) {
    task->wait();
    space_->tasks().release(task);
  }
  ASSERT_EQ(begun.size(), 3 * kBlocks);
  EXPECT_TRUE(std::is_sorted(begun.begin(), begun.end()));
}

// As many threads as there are cores run blocks, each on one core that no other has.
// proves: K-1b, K-1c, K-1d
TEST(Cores, EachRunsBlocksOnAThreadOfItsOwn) {
  struct Pinned : MachineTest {
    void TestBody() override {}
    using MachineTest::run;
    using MachineTest::use;
  } test;
  MachineOptions options;
  options.shape = *preset_shape("h200", 2);
  test.use(*create_pinned(std::move(options)));
  const std::size_t cores = std::min<std::size_t>(host_info().usable_cores, 132);
  std::mutex mutex;
  std::map<long, std::vector<int>> cpus_of;
  std::atomic<std::size_t> seen{0};
  const std::uint64_t limit = now_ns() + 60'000'000'000;
  auto kernel = TestKernel::of_warps([&](WarpContext&) {
    {
      const std::lock_guard lock(mutex);
      std::vector<int>& cpus = cpus_of[this_thread()];
      cpus.clear();
      cpu_set_t set;
      if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
          if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
      seen = cpus_of.size();
    }
    // Until all have come. The worker keeps its block: one that went on to others would have started all of
    // them before a core that others use too comes.
    while (seen < cores && now_ns() < limit) std::this_thread::yield();
  });
  for (int i = 0; i < 10; ++i) ASSERT_EQ(test.run(kernel, {.x = 500}).kind, FaultKind::none);
  EXPECT_EQ(cpus_of.size(), cores);
  std::set<int> taken;
  for (const auto& [thread, cpus] : cpus_of) {
    ASSERT_EQ(cpus.size(), 1u);
    EXPECT_TRUE(taken.insert(cpus[0]).second) << "two on core " << cpus[0];
  }
}

}  // namespace
}  // namespace raddle::machine
