// Grids of several kinds of work on a machine that sets GPCs aside for them.
#include <array>
#include <atomic>
#include <vector>

#include "machine/shape/even_shape.h"
#include "machine_fixture.h"
#include "wait_until.h"

namespace raddle::machine {
namespace {

class WorkKinds : public MachineTest {
 protected:
  static MachineShape gpcs_of_four_sms(std::uint32_t gpcs) {
    MachineShape shape = machine_of(gpcs, 1, 2, 2);
    shape.name = "gpcs of four";
    return shape;
  }
};

// proves: A-21c
TEST_F(WorkKinds, HaveGpcsOfTheirOwn) {
  for (const std::optional<std::uint64_t> seed : {std::optional<std::uint64_t>{}, {0}}) {
    MachineOptions options{.shape = gpcs_of_four_sms(2), .distributor = {.work_kinds = 2}};
    options.deterministic = seed;
    open(std::move(options));
    std::atomic<bool> go{false};
    std::atomic<int> began{0};
    auto much = TestKernel::of_warps([&](exec::WarpContext& warp) {
      ++began;
      while (!go) warp.cta->services->yield(&warp);
    });
    std::array<std::atomic<int>, 8> on{};
    auto little = TestKernel::of_blocks([&](exec::CtaContext& cta) { ++on.at(cta.smid); });
    Task* const first = submit(much, {.x = 50000});
    ASSERT_TRUE(wait_until([&] { return began != 0; }));
    Task* const second = submit(little, {.x = 8, .work_kind = 1});
    go = true;
    for (Task* const task : {second, first}) {
      task->wait();
      EXPECT_EQ(task->stop.load(), 0u) << task->fault.to_string();
      space_->tasks().release(task);
    }
    EXPECT_EQ(on[4] + on[5] + on[6] + on[7], 8)
        << "the other kind keeps its first GPC; blocks by SM: "
        << ::testing::PrintToString(std::vector<int>(on.begin(), on.end()));
  }
}

TEST_F(WorkKinds, AllEndWhateverTheyAre) {
  open({.shape = gpcs_of_four_sms(4), .distributor = {.work_kinds = 3, .share_every = 32}});
  std::atomic<std::uint32_t> ran{0};
  auto count = TestKernel::of_blocks([&](exec::CtaContext&) { ++ran; });
  std::vector<Task*> tasks;
  for (std::uint32_t i = 0; i < 30; ++i)
    tasks.push_back(submit(count, {.x = 64 * (1 + i % 7),
                                   .threads = 256,
                                   .cluster = i % 4 == 0 ? 4u : 1u,
                                   .priority = static_cast<int>(i % 2),
                                   .work_kind = i % 5}));
  std::uint32_t expected = 0;
  for (std::uint32_t i = 0; i < 30; ++i) expected += 64 * (1 + i % 7);
  for (Task* const task : tasks) {
    task->wait();
    space_->tasks().release(task);
  }
  EXPECT_EQ(ran, expected);
}

}  // namespace
}  // namespace raddle::machine
