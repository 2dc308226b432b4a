// Pools of GPCs on a machine: a grid whose blocks all wait for another grid makes room for a third one.
#include <atomic>

#include "machine_fixture.h"
#include "wait_until.h"

namespace raddle::machine {
namespace {

struct PoolsWay {
  exec::BlockKind kind;
  unsigned workers;
};

class PoolsOfGpcs : public MachineTest, public testing::WithParamInterface<PoolsWay> {
 protected:
  TestKernel kernel(std::function<void(exec::WarpContext&)> body) {
    if (GetParam().kind == exec::BlockKind::fibers) return TestKernel::of_warps(std::move(body));
    return TestKernel::of_blocks([body](exec::CtaContext& cta) {
      exec::WarpContext warp{.cta = &cta, .initial_lanes = ~0u, .live_lanes = ~0u};
      cta.running_warp = 1;
      body(warp);
    });
  }
  Task* grid_task(exec::Executable& code, std::uint32_t blocks) {
    static const std::string name = "kernel";
    Task* task = space_->tasks().acquire();
    GridWork& work = task->work.emplace<GridWork>();
    task->set_parameters({});
    work.executable = &code;
    work.name = &name;
    work.threads_per_block = work.context.ntid[0] = 32;
    work.blocks = work.context.nctaid[0] = blocks;
    work.context.ntid[1] = work.context.ntid[2] = work.context.nctaid[1] = work.context.nctaid[2] = 1;
    work.cap_per_sm = 1;
    EXPECT_TRUE(space_->check(work).ok());
    return task;
  }
};

// The dependent grid has more blocks than it may have resident, so it stays active; but they can only wait.
// proves: A-4j
TEST_P(PoolsOfGpcs, AGridWhoseBlocksWaitForAnotherMakesRoom) {
  MachineOptions options;
  options.shape = *preset_shape("tiny", 1);
  options.workers = GetParam().workers;
  options.distributor.active_pool = 1;
  open(std::move(options));
  std::atomic<bool> go{false}, third_ran{false};
  std::atomic<unsigned> waiting{0}, ended{0};
  TestKernel first = kernel([&](exec::WarpContext& warp) {
    while (!go)
      if (warp.cta->poll->load(std::memory_order_relaxed) != 0) warp.cta->services->poll(&warp);
  });
  TestKernel dependent = kernel([&](exec::WarpContext& warp) {
    ++waiting;
    warp.cta->services->grid_wait(&warp, ~0u);
    EXPECT_TRUE(go);
    ++ended;
  });
  TestKernel third = kernel([&](exec::WarpContext&) { third_ran = true; });

  Task *before = grid_task(first, 1), *after = grid_task(dependent, 7), *other = grid_task(third, 1);
  before->grid().counts_triggers = before->grid().triggers_at_start = true;
  Task* const list[] = {before};
  const TaskScheduler::Submission batch[] = {{.task = before}, {.task = after, .after_trigger = list}};
  space_->tasks().submit(batch);
  ASSERT_TRUE(wait_until([&] { return waiting == 2; }));
  space_->tasks().submit(*other, {});
  EXPECT_TRUE(wait_until([&] { return third_ran.load(); })) << "it waits for those that only wait";
  EXPECT_EQ(ended, 0u);
  EXPECT_EQ(waiting, 2u);
  go = true;
  for (Task* task : {before, after, other}) {
    task->wait();
    EXPECT_EQ(task->stop.load(), 0u);
    space_->tasks().release(task);
  }
  EXPECT_EQ(ended, 7u);
}

INSTANTIATE_TEST_SUITE_P(Ways, PoolsOfGpcs,
                         testing::Values(PoolsWay{exec::BlockKind::loops, 1},
                                         PoolsWay{exec::BlockKind::loops, 2},
                                         PoolsWay{exec::BlockKind::fibers, 1},
                                         PoolsWay{exec::BlockKind::fibers, 2}));

}  // namespace
}  // namespace raddle::machine
