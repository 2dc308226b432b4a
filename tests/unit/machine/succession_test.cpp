// Little grids of a stream, one behind the other: a worker goes on with the next one by itself
// (Worker::go_on_with_next). Order, faults, and all that is to come between two of them stay as they are.
#include <atomic>
#include <vector>

#include "base/futex.h"
#include "machine_fixture.h"
#include "wait_until.h"

namespace raddle::machine {
namespace {

constexpr std::uint32_t kBlocks = 4;
constexpr int kLearnt = 40;  // launches until the machine knows how long the code takes

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    (defined(__has_feature) && (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer)))
constexpr bool kIsQuick = false;  // blocks take so long that few grids are little
#else
constexpr bool kIsQuick = true;
#endif

class Succession : public MachineTest {
 protected:
  ~Succession() override { release(); }

  /// Code of little grids: it goes on from block to block, and ends at once.
  static TestKernel little(std::function<void(exec::CtaContext&)> body) {
    auto kernel = TestKernel::of_blocks([body](exec::CtaContext& cta) {
      for (;;) {
        body(cta);
        if (cta.following == 0 || cta.poll->load() != 0) return;
        --cta.following;
        ++cta.ctaid[0];
        cta.smid += cta.smid_step;
      }
    });
    kernel.goes_on = true;
    return kernel;
  }
  /// Makes the machine know how long the code takes.
  void learn(exec::Executable& code, const GridSize& grid = {.x = kBlocks}) {
    for (int i = 0; i < kLearnt; ++i) ASSERT_EQ(run(code, grid).kind, exec::FaultKind::none);
  }

  /// A launch that lasts until the gate is open, so that what follows is all there.
  Task* close_gate() {
    gate_.store(false);
    tasks_.push_back(submit(gate_kernel_, {}));
    return tasks_.back();
  }
  void open_gate() { gate_.store(true); }
  Task* follow(exec::Executable& code, const GridSize& grid = {.x = kBlocks}) {
    tasks_.push_back(submit(code, grid, tasks_.empty() ? nullptr : tasks_.back()));
    return tasks_.back();
  }
  /// A task that does nothing, as an event is.
  Task* mark() {
    Task* const marker = space_->tasks().acquire();
    Task* const after[] = {tasks_.back()};
    space_->tasks().submit(*marker, after);
    tasks_.push_back(marker);
    return marker;
  }
  /// How many launches took the place of the one before: they begin when that ends.
  std::size_t handed_on() const {
    std::size_t count = 0;
    const Task* before = nullptr;
    for (const Task* task : tasks_) {
      if (!task->is_grid()) continue;
      count += before != nullptr && task->started_ns.load() == before->finished_ns ? 1 : 0;
      before = task;
    }
    return count;
  }
  void release() {
    for (Task* task : tasks_) {
      task->wait();
      space_->tasks().release(task);
    }
    tasks_.clear();
  }

  std::vector<Task*> tasks_;

 private:
  std::atomic<bool> gate_{true};
  TestKernel gate_kernel_ = TestKernel::of_blocks([this](exec::CtaContext&) {
    while (!gate_.load()) std::this_thread::yield();
  });
};

TEST_F(Succession, GoesOnWithoutTheMachineInTheOrderOfTheStream) {
  for (const unsigned workers : {1u, 2u}) {
    open({.workers = workers});
    std::atomic<std::uint64_t> begun{0}, ended{0}, early{0};
    auto code = little([&](exec::CtaContext&) {
      const std::uint64_t before = begun.fetch_add(1);
      if (ended.load() < before / kBlocks * kBlocks) ++early;
      ++ended;
    });
    learn(code);
    close_gate();
    for (int i = 0; i < 1000; ++i) follow(code);
    open_gate();
    tasks_.back()->wait();
    EXPECT_EQ(ended, (1000u + kLearnt) * kBlocks);
    EXPECT_EQ(early, 0u) << "blocks that began before those of the launch before had ended";
    if (kIsQuick) EXPECT_GT(handed_on(), 500u) << workers << " workers";
    for (const std::uint32_t ctas : machine_->activity().ctas) EXPECT_EQ(ctas, 0u);
    release();
  }
}

TEST_F(Succession, PassesMarkersAndEndsWhereGridsDiffer) {
  open({.workers = 2});
  std::atomic<std::uint64_t> blocks{0};
  auto code = little([&](exec::CtaContext&) { ++blocks; });
  learn(code);
  blocks = 0;
  close_gate();
  for (int i = 0; i < 300; ++i) {
    follow(code);
    mark();
  }
  open_gate();
  tasks_.back()->wait();
  if (kIsQuick) EXPECT_GT(handed_on(), 150u);
  EXPECT_EQ(blocks, 300u * kBlocks);
  release();

  blocks = 0;
  close_gate();
  for (std::uint32_t i = 0; i < 300; ++i)
    follow(code, {.x = kBlocks + i % 2, .threads = 32 + i / 2 % 2 * 32});
  open_gate();
  tasks_.back()->wait();
  EXPECT_EQ(handed_on(), 0u);
  EXPECT_EQ(blocks, 300u * kBlocks + 150);
  for (const std::uint32_t ctas : machine_->activity().ctas) EXPECT_EQ(ctas, 0u);
}

// Nobody looks at the clock for the others, which only the scheduler has when they end.
TEST_F(Succession, WhoeverHasALaunchKnowsWhenItRan) {
  open({.workers = 2});
  auto code = little([](exec::CtaContext&) {
    for (int i = 0; i < 4; ++i) base::spin_pause();
  });
  learn(code);
  TaskScheduler& tasks = space_->tasks();
  Task* before = close_gate();
  for (int i = 0; i < 1000; ++i) {
    Task* const task = submit(code, {.x = kBlocks}, before);
    if (i % 7 != 0)
      tasks.release(before);
    else if (i != 0)  // that one is the gate's
      tasks_.push_back(before);
    before = task;
  }
  tasks_.push_back(before);
  open_gate();
  before->wait();
  std::uint64_t ended = 0;
  for (const Task* task : tasks_) {
    EXPECT_GT(task->started_ns.load(), ended) << "others ran between the two";
    EXPECT_GE(task->finished_ns, task->started_ns.load());
    ended = task->finished_ns;
  }
}

// One worker, so that nobody else takes what comes in between.
TEST_F(Succession, LetsOthersInBetween) {
  open({.workers = 1});
  std::atomic<bool> enough{false};
  std::atomic<std::uint64_t> blocks{0};
  auto code = little([&](exec::CtaContext&) {
    if (++blocks > 200 * kBlocks)
      while (!enough.load()) std::this_thread::yield();
  });
  auto urgent = little([&](exec::CtaContext&) {});
  learn(code);
  learn(urgent, {});
  close_gate();
  for (int i = 0; i < 3000; ++i) follow(code);
  open_gate();
  while (blocks.load() <= 200 * kBlocks) std::this_thread::yield();
  Task* const between = submit(urgent, {.priority = -1});
  enough = true;
  between->wait();
  tasks_.back()->wait();
  EXPECT_LT(between->finished_ns, tasks_[1000]->finished_ns);
  space_->tasks().release(between);
}

TEST_F(Succession, AFaultStopsWhatFollows) {
  for (const unsigned workers : {1u, 2u}) {
    open({.workers = workers});
    std::atomic<std::uint64_t> blocks{0};
    auto code = little([&](exec::CtaContext& cta) {
      if (++blocks != (50 + kLearnt) * kBlocks + 3) return;
      exec::WarpContext warp{.cta = &cta, .initial_lanes = ~0u, .live_lanes = ~0u};
      cta.services->fault(&warp, exec::FaultKind::trap, 0, 0, 1);
    });
    learn(code);
    close_gate();
    for (int i = 0; i < 200; ++i) follow(code);
    open_gate();
    tasks_.back()->wait();
    EXPECT_LE(blocks, (51u + kLearnt) * kBlocks) << "of the launch that failed, and none of a later one";
    for (std::size_t i = 1; i < tasks_.size(); ++i)  // the gate was the first
      EXPECT_EQ(tasks_[i]->stop.load() != 0, i > 50) << i;
    EXPECT_EQ(tasks_[51]->fault.kind, exec::FaultKind::trap);
    release();
    EXPECT_NE(run(code, {.x = kBlocks}).kind, exec::FaultKind::none);
  }
}

TEST_F(Succession, EndsWhenTheSpaceIsGivenUpOrGoes) {
  for (int round = 0; round < 10; ++round) {
    open({.workers = 2});
    std::atomic<std::uint64_t> blocks{0};
    auto code = little([&](exec::CtaContext&) { ++blocks; });
    learn(code);
    close_gate();
    for (int i = 0; i < 300; ++i) follow(code);
    open_gate();
    if (round % 2 == 0) {
      while (blocks.load() < (150 + kLearnt) * kBlocks) std::this_thread::yield();
      space_->cancel();
    }
    tasks_.back()->wait();
    for (Task* task : tasks_) space_->tasks().release(task);
    tasks_.clear();
    if (round % 2 != 0) EXPECT_EQ(blocks, (300u + kLearnt) * kBlocks);
    close();
  }
}

// Its blocks have ended, and a grid waits for it; but it is complete only after the one that it did not wait
// for, and nobody may have its memory before.
TEST_F(Succession, WhatBeganEarlyStaysUntilTheOtherEnds) {
  open({.workers = 2});
  std::atomic<std::uint64_t> blocks{0};
  auto code = little([&](exec::CtaContext&) { ++blocks; });
  learn(code);
  blocks = 0;
  Task* const before = close_gate();
  Task* const early = grid_task(code, {.x = 1});
  const TaskScheduler::Submission one{.task = early, .after_trigger = {&before, 1}};
  space_->tasks().submit({&one, 1});
  tasks_.push_back(submit(code, {.x = 1}, early));
  space_->tasks().release(early);
  space_->tasks().trigger(*before);
  ASSERT_TRUE(wait_until([&] { return blocks == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  std::vector<Task*> others;
  for (int i = 0; i < 200; ++i) {
    others.push_back(space_->tasks().acquire());
    EXPECT_NE(others.back(), early);
  }
  for (Task* const task : others) space_->tasks().release(task);
  EXPECT_FALSE(early->done());
  open_gate();
  tasks_.back()->wait();
  EXPECT_EQ(blocks, 2u);
}

// Two spaces and several streams: whoever comes, each stream has its order.
TEST_F(Succession, OfSeveralStreamsAtOnce) {
  open({.workers = 2});
  constexpr std::size_t kStreams = 3;
  std::atomic<std::uint64_t> begun[kStreams] = {}, ended[kStreams] = {}, early{0};
  std::vector<TestKernel> codes;
  for (std::size_t k = 0; k < kStreams; ++k)
    codes.push_back(little([&, k](exec::CtaContext&) {
      const std::uint64_t before = begun[k].fetch_add(1);
      if (ended[k].load() < before / kBlocks * kBlocks) ++early;
      ++ended[k];
    }));
  std::vector<std::thread> programs;
  for (std::size_t k = 0; k < kStreams; ++k)
    programs.emplace_back([&, k] {
      Task* last = nullptr;
      for (int i = 0; i < 3000; ++i) {
        Task* const next = submit(codes[k], {.x = kBlocks, .priority = k == 2 ? -1 : 0}, last);
        if (i % 500 == 499) next->wait();
        space_->tasks().release(last);
        last = next;
      }
      last->wait();
      space_->tasks().release(last);
    });
  for (std::thread& program : programs) program.join();
  EXPECT_EQ(early, 0u);
  for (std::size_t k = 0; k < kStreams; ++k) EXPECT_EQ(ended[k], 3000u * kBlocks);
  for (const std::uint32_t ctas : machine_->activity().ctas) EXPECT_EQ(ctas, 0u);
}

}  // namespace
}  // namespace raddle::machine
