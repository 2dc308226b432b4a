// Turns on a worker by address space: one with many blocks or tasks without end has no more of the worker
// than one with a single block. All is counted in polls, of which a slice has 65,536 in deterministic mode.
#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "machine_fixture.h"

namespace raddle::machine {
namespace {

using exec::BlockKind;
using exec::FaultKind;

constexpr std::uint64_t kSlice = 1 << 16;
constexpr unsigned kMany = 24;

class Turns : public MachineTest {
 protected:
  void open_one(std::optional<std::uint64_t> seed) {
    MachineOptions options;
    options.workers = 1;
    options.deterministic = seed;
    open(std::move(options));
    auto other = AddressSpace::open(machine_, {.output = [](std::string_view) {}});
    ASSERT_TRUE(other.ok()) << other.error().to_string();
    other_ = std::move(*other);
    for (auto& count : counts_) count = 0;
    stop_ = false;
  }
  void close_all() {
    other_.reset();
    close();
  }
  /// Counts its polls in a word until it is told to stop.
  void count_polls(exec::WarpContext& warp, std::atomic<std::uint64_t>& count) const {
    while (!stop_) {
      count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      if (warp.cta->poll->load(std::memory_order_relaxed) != 0) warp.cta->services->poll(&warp);
    }
  }
  /// Of the first so many counters.
  std::uint64_t sum() const { return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0}); }
  bool all_have_begun() const {
    return std::ranges::all_of(counts_, [](const auto& count) { return count != 0; });
  }
  /// Waits for the grids of many, which are told to stop.
  void end(std::vector<Task*>& tasks) {
    stop_ = true;
    for (Task* task : tasks) {
      task->wait();
      EXPECT_EQ(task->stop.load(), 0u);
      space_->tasks().release(task);
    }
  }

  std::unique_ptr<AddressSpace> other_;
  std::array<std::atomic<std::uint64_t>, kMany> counts_{};  // of the space with many blocks
  std::atomic<bool> stop_{false};
};

// proves: A-20b
TEST_F(Turns, OfASpaceAreNoMoreForManyBlocksOrTasks) {
  for (const std::uint64_t seed : {0, 7})
    for (const bool as_tasks : {false, true}) {
      open_one(seed);
      std::atomic<unsigned> next{0};
      TestKernel endless =
          TestKernel::of_warps([&](exec::WarpContext& warp) { count_polls(warp, counts_[next++]); });
      std::vector<Task*> tasks;
      for (unsigned i = 0; i < (as_tasks ? kMany : 1); ++i)
        tasks.push_back(submit(endless, {.x = as_tasks ? 1 : kMany}));
      while (!all_have_begun()) std::this_thread::yield();
      constexpr std::uint64_t kSlices = 72;
      std::uint64_t mine = 0, before = 0, after = 0;
      std::array<std::uint64_t, kMany> each{};
      TestKernel single = TestKernel::of_warps([&](exec::WarpContext& warp) {
        before = sum();
        for (unsigned i = 0; i < kMany; ++i) each[i] = counts_[i];
        for (; mine < kSlices * kSlice; ++mine) warp.cta->services->poll(&warp);
        after = sum();
        for (unsigned i = 0; i < kMany; ++i) each[i] = counts_[i] - each[i];
      });
      EXPECT_EQ(run(*other_, single, {}).kind, FaultKind::none);
      // In this time they have one slice for each of its. Within the space each has as many as the others, or
      // is as likely to have one.
      EXPECT_NEAR(static_cast<double>(after - before) / kSlice, kSlices, 2) << seed << as_tasks;
      const auto [least, most] = std::ranges::minmax(each);
      if (seed == 0) EXPECT_LE(most - least, kSlice + kSlice / 8) << as_tasks;
      EXPECT_LE(std::ranges::count(each, 0u), seed == 0 ? 0 : kMany / 3) << as_tasks;
      end(tasks);
      close_all();
    }
}

// A block of another space has its first turn after a slice, not after a slice of each block that is there.
// proves: A-20b
TEST_F(Turns, ABlockOfAnotherSpaceBeginsAfterASlice) {
  open_one(0);
  std::atomic<unsigned> next{0};
  TestKernel endless =
      TestKernel::of_warps([&](exec::WarpContext& warp) { count_polls(warp, counts_[next++]); });
  std::vector<Task*> tasks{submit(endless, {.x = kMany})};
  while (!all_have_begun()) std::this_thread::yield();
  std::vector<std::uint64_t> waits;
  for (int i = 0; i < 15; ++i) {
    std::uint64_t begun = 0;
    TestKernel brief = TestKernel::of_warps([&](exec::WarpContext&) { begun = sum(); });
    const std::uint64_t before = sum();
    EXPECT_EQ(run(*other_, brief, {}).kind, FaultKind::none);
    waits.push_back((begun - before) / kSlice);
  }
  std::ranges::sort(waits);  // this thread may have been away from its core in some
  EXPECT_LE(waits[waits.size() * 4 / 5], 4u) << waits.front() << " to " << waits.back();
  end(tasks);
  close_all();
}

// Of tasks that wait for their first turn, one of a space of which nothing has begun comes first.
// proves: A-20b
TEST_F(Turns, ATaskOfAnotherSpaceIsAdmittedFirst) {
  open_one(0);
  TestKernel endless = TestKernel::of_warps([&](exec::WarpContext& warp) { count_polls(warp, counts_[0]); });
  std::vector<Task*> tasks;
  std::uint64_t begun = 0;
  TestKernel brief = TestKernel::of_warps([&](exec::WarpContext&) { begun = counts_[0]; });
  for (unsigned i = 0; i < 2 * kMany; ++i) tasks.push_back(submit(endless, {}));
  const std::uint64_t before = counts_[0];
  EXPECT_EQ(run(*other_, brief, {}).kind, FaultKind::none);
  EXPECT_LE((begun - before) / kSlice, kMany) << "of " << 2 * kMany;
  end(tasks);
  close_all();
}

// Also if the turns end before their slices do.
// proves: A-20b
TEST_F(Turns, OfASpaceAreNoMoreForManyShortOnes) {
  open_one({});
  std::atomic<unsigned> next{0};
  TestKernel yielding = TestKernel::of_warps([&](exec::WarpContext& warp) {
    std::atomic<std::uint64_t>& count = counts_[next++];
    while (!stop_) {
      const auto began = now_ns();
      while (now_ns() - began < 500'000) {
      }
      count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      warp.cta->services->yield(&warp);
    }
  });
  std::vector<Task*> tasks{submit(yielding, {.x = kMany})};
  while (!all_have_begun()) std::this_thread::yield();
  // So much work of its own, in pieces: each piece is a turn.
  constexpr std::uint64_t kPieces = 40;
  std::uint64_t before = 0, after = 0;
  TestKernel single = TestKernel::of_warps([&](exec::WarpContext& warp) {
    before = sum();
    for (std::uint64_t i = 0; i < kPieces; ++i) warp.cta->services->yield(&warp);
    after = sum();
  });
  EXPECT_EQ(run(*other_, single, {}).kind, FaultKind::none);
  EXPECT_NEAR(static_cast<double>(after - before), kPieces, 2);
  end(tasks);
  close_all();
}

// A single space has all its blocks served in turns as if nobody knew of spaces.
TEST_F(Turns, WithinASpaceAreEqual) {
  open_one(0);
  std::atomic<unsigned> next{0};
  TestKernel endless =
      TestKernel::of_warps([&](exec::WarpContext& warp) { count_polls(warp, counts_[next++]); });
  std::vector<Task*> tasks{submit(endless, {.x = kMany / 2}), submit(endless, {.x = kMany / 2})};
  while (!all_have_begun()) std::this_thread::yield();
  std::array<std::uint64_t, kMany> each{};
  std::atomic<bool> is_read{false};
  TestKernel reads = TestKernel::of_warps([&](exec::WarpContext& warp) {
    for (unsigned i = 0; i < kMany; ++i) each[i] = counts_[i];
    for (std::uint64_t i = 0; i < 20 * kSlice; ++i) warp.cta->services->poll(&warp);
    for (unsigned i = 0; i < kMany; ++i) each[i] = counts_[i] - each[i];
    is_read = true;
  });
  EXPECT_EQ(run(reads, {}).kind, FaultKind::none);
  for (const std::uint64_t count : each) EXPECT_NEAR(static_cast<double>(count) / kSlice, 20, 2);
  end(tasks);
  close_all();
}

}  // namespace
}  // namespace raddle::machine
