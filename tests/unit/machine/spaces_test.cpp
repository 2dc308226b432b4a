// Address spaces on one machine: each its own memory, tasks and sticky fault.
#include <atomic>
#include <thread>
#include <vector>

#include "machine_fixture.h"

namespace raddle::machine {
namespace {

class Spaces : public MachineTest {
 protected:
  std::unique_ptr<AddressSpace> another() {
    auto space = AddressSpace::open(machine_, {});
    EXPECT_TRUE(space.ok()) << space.error().to_string();
    return std::move(*space);
  }
};

// proves: A-9d, A-9h
TEST_F(Spaces, AFaultStopsItsOwnSpaceOnly) {
  open();
  auto other = another();
  auto wrong = TestKernel::of_blocks([](exec::CtaContext& cta) {
    exec::WarpContext warp{.cta = &cta};
    cta.services->fault(&warp, exec::FaultKind::trap, 0, 0, 0);
  });
  std::atomic<int> ran{0};
  auto right = TestKernel::of_blocks([&](exec::CtaContext&) { ++ran; });
  EXPECT_EQ(run(*other, wrong, {}).kind, exec::FaultKind::trap);
  EXPECT_TRUE(other->failed());
  EXPECT_FALSE(space_->failed());
  EXPECT_EQ(run(right, {.x = 20}).kind, exec::FaultKind::none);
  EXPECT_EQ(ran, 20);
  EXPECT_EQ(run(*other, right, {}).kind, exec::FaultKind::trap) << "it is sticky";
  EXPECT_EQ(ran, 20);
  EXPECT_EQ(space_->blocks_completed(), 20u);
}

// Blocks of both wait on the machine's only SM until the others have failed.
// proves: A-5b, A-9f
TEST_F(Spaces, AFaultLeavesBlocksBesideItAlone) {
  MachineOptions options;
  for (const Level level : {Level::set, Level::gpu, Level::ugpu, Level::gpc, Level::cpc, Level::tpc})
    options.shape.open(level);
  options.shape.name = "one SM";
  options.shape.add_sms(1);
  for (const Level level : {Level::tpc, Level::cpc, Level::gpc, Level::ugpu, Level::gpu, Level::set})
    options.shape.close(level);
  open(std::move(options));
  auto other = another();
  std::atomic<unsigned> started{0}, ended{0};
  std::atomic<bool> failed{false};
  auto patient = TestKernel::of_warps([&](exec::WarpContext& warp) {
    ++started;
    while (!failed) warp.cta->services->yield(&warp);
    ++ended;
  });
  auto wrong = TestKernel::of_warps([&](exec::WarpContext& warp) {
    while (started != 4) warp.cta->services->yield(&warp);
    EXPECT_EQ(warp.cta->smid, 0u);
    warp.cta->services->fault(&warp, exec::FaultKind::trap, 0, 0, 0);
  });
  Task* const task = submit(*space_, patient, {.x = 4});
  EXPECT_EQ(run(*other, wrong, {}).kind, exec::FaultKind::trap);
  failed = true;
  task->wait();
  EXPECT_EQ(task->stop.load(), 0u);
  EXPECT_EQ(ended, 4u);
  space_->tasks().release(task);
}

TEST_F(Spaces, CancellingOneLeavesTheOthersRunning) {
  open();
  auto other = another();
  std::atomic<bool> go{false};
  auto waiting = TestKernel::of_warps([&](exec::WarpContext& warp) {
    while (!go) warp.cta->services->yield(&warp);
  });
  Task* const mine = submit(waiting, {});
  Task* const theirs = submit(*other, waiting, {});
  other->cancel();
  theirs->wait();
  EXPECT_EQ(theirs->stop.load(), static_cast<std::uint32_t>(exec::FaultKind::cancelled));
  other->tasks().release(theirs);
  other.reset();
  EXPECT_FALSE(mine->done());
  go = true;
  mine->wait();
  EXPECT_EQ(mine->stop.load(), 0u);
  space_->tasks().release(mine);
}

// On one worker, blocks of both have the same memory, but must not see each other's data.
// proves: K-10g
TEST_F(Spaces, ReadNothingThatOthersWrote) {
  MachineOptions options;
  options.workers = 1;
  for (const std::uint32_t cluster : {1u, 2u}) {
    open(options);
    auto other = another();
    constexpr std::size_t kShared = 3000, kLocal = 64;
    std::atomic<int> secrets{0};
    const auto memory = [cluster](exec::CtaContext& cta, auto use) {
      std::byte* const shared =
          cta.shared + (cluster == 1 ? 0 : std::size_t{cta.cluster_rank} * exec::kSharedWindow);
      for (std::size_t i = 0; i < kShared; ++i) use(shared[i]);
      for (std::size_t i = 0; i < kLocal * cta.thread_count; ++i) use(cta.local[i]);
    };
    auto writes = TestKernel::of_blocks(
        [&](exec::CtaContext& cta) { memory(cta, [](std::byte& byte) { byte = std::byte{0x5a}; }); });
    auto reads = TestKernel::of_blocks([&](exec::CtaContext& cta) {
      memory(cta, [&](const std::byte& byte) { secrets += byte == std::byte{0x5a}; });
    });
    const GridSize size{.x = 2, .shared = kShared, .local = kLocal, .cluster = cluster};
    EXPECT_EQ(run(writes, size).kind, exec::FaultKind::none);
    EXPECT_EQ(run(*other, reads, size).kind, exec::FaultKind::none);
    EXPECT_EQ(secrets, 0) << "clusters of " << cluster;
    EXPECT_EQ(run(*other, writes, size).kind, exec::FaultKind::none);
    EXPECT_EQ(run(*other, reads, size).kind, exec::FaultKind::none);
    EXPECT_NE(secrets, 0) << "the test sees what is there";
  }
}

// Each block sees those that ended before it, whatever is told the scheduler when; blocks that never started
// do not count.
TEST_F(Spaces, CountBlocksAsTheyEnd) {
  MachineOptions options;
  options.workers = 1;
  open(options);
  constexpr std::uint32_t kBlocks = 200;
  std::uint64_t begun = 0, wrong = 0;
  auto counting =
      TestKernel::of_blocks([&](exec::CtaContext&) { wrong += space_->blocks_completed() != begun++; });
  EXPECT_EQ(run(counting, {.x = kBlocks}).kind, exec::FaultKind::none);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(space_->blocks_completed(), kBlocks);
  auto other = another();
  auto stops = TestKernel::of_blocks([](exec::CtaContext& cta) {
    exec::WarpContext warp{.cta = &cta};
    if (cta.ctaid[0] == 3) cta.services->fault(&warp, exec::FaultKind::trap, 0, 0, 0);
  });
  EXPECT_EQ(run(*other, stops, {.x = kBlocks}).kind, exec::FaultKind::trap);
  EXPECT_EQ(other->blocks_completed(), 3u);
  EXPECT_EQ(space_->blocks_completed(), kBlocks);
}

// A space goes as soon as its last task is complete, while a worker may still be telling that.
TEST_F(Spaces, ComeAndGoWhileOthersWork) {
  open();
  std::atomic<std::uint64_t> ran{0};
  auto counting = TestKernel::of_blocks([&](exec::CtaContext&) { ++ran; });
  constexpr int kThreads = 3, kTimes = 300;
  const auto come_and_go = [&] {
    for (int i = 0; i < kTimes; ++i) {
      auto space = another();
      const std::uint64_t time_limit_ns = i % 2 == 0 ? 0 : 60'000'000'000;
      Task* const task = submit(*space, counting, {.x = 5, .time_limit_ns = time_limit_ns});
      space->tasks().release(task);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(come_and_go);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ran, 5u * kThreads * kTimes);
}

}  // namespace
}  // namespace raddle::machine
