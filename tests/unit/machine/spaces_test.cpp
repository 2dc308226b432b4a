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
  /// Runs a grid in another space than space_.
  exec::Fault run_in(std::unique_ptr<AddressSpace>& space, exec::Executable& code, const GridSize& grid) {
    space_.swap(space);
    const exec::Fault fault = run(code, grid);
    space_.swap(space);
    return fault;
  }
};

TEST_F(Spaces, AFaultStopsItsOwnSpaceOnly) {
  open();
  auto other = another();
  auto wrong = TestKernel::of_blocks([](exec::CtaContext& cta) {
    exec::WarpContext warp{.cta = &cta};
    cta.services->fault(&warp, exec::FaultKind::trap, 0, 0, 0);
  });
  std::atomic<int> ran{0};
  auto right = TestKernel::of_blocks([&](exec::CtaContext&) { ++ran; });
  EXPECT_EQ(run_in(other, wrong, {}).kind, exec::FaultKind::trap);
  EXPECT_TRUE(other->failed());
  EXPECT_FALSE(space_->failed());
  EXPECT_EQ(run(right, {.x = 20}).kind, exec::FaultKind::none);
  EXPECT_EQ(ran, 20);
  EXPECT_EQ(run_in(other, right, {}).kind, exec::FaultKind::trap) << "it is sticky";
  EXPECT_EQ(ran, 20);
  EXPECT_EQ(space_->blocks_completed(), 20u);
}

TEST_F(Spaces, CancellingOneLeavesTheOthersRunning) {
  open();
  auto other = another();
  std::atomic<bool> go{false};
  auto waiting = TestKernel::of_warps([&](exec::WarpContext& warp) {
    while (!go) warp.cta->services->yield(&warp);
  });
  Task* const mine = submit(waiting, {});
  space_.swap(other);
  Task* const theirs = submit(waiting, {});
  space_.swap(other);
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

// On one worker blocks of both have the same memory: what one wrote the other must not see.
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
    EXPECT_EQ(run_in(other, reads, size).kind, exec::FaultKind::none);
    EXPECT_EQ(secrets, 0) << "clusters of " << cluster;
    EXPECT_EQ(run_in(other, writes, size).kind, exec::FaultKind::none);
    EXPECT_EQ(run_in(other, reads, size).kind, exec::FaultKind::none);
    EXPECT_NE(secrets, 0) << "the test sees what is there";
  }
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
      Task* const task = space->tasks().acquire();
      static const std::string name = "kernel";
      task->kind = TaskKind::grid;
      task->set_parameters({});
      task->grid = {};
      task->grid.executable = &counting;
      task->grid.name = &name;
      task->grid.threads_per_block = 32;
      task->grid.blocks = 5;
      task->grid.time_limit_ns = i % 2 == 0 ? 0 : 60'000'000'000;
      task->grid.context.ntid[0] = 32, task->grid.context.ntid[1] = task->grid.context.ntid[2] = 1;
      task->grid.context.nctaid[0] = 5, task->grid.context.nctaid[1] = task->grid.context.nctaid[2] = 1;
      space->tasks().submit(*task, {});
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
