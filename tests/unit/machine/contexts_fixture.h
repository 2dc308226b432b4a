// Device contexts in tests: spaces in them by name, and kernels that wait until the test lets them go.
#pragma once

#include <algorithm>
#include <atomic>

#include "machine/context/context_switcher.h"
#include "machine_fixture.h"
#include "wait_until.h"

namespace raddle::machine {

class ContextsTest : public MachineTest {
 protected:
  /// By hand: nothing but the test ends a quantum.
  void open_by_hand(unsigned quantum = 1u << 30) {
    open({.deterministic = 0, .contexts = ContextMode::queued, .context_quantum = quantum});
  }
  std::unique_ptr<AddressSpace> in(const std::string& context,
                                   Translation translation = Translation::direct) {
    auto space = AddressSpace::open(machine_, {.translation = translation, .context = context});
    EXPECT_TRUE(space.ok()) << space.error().to_string();
    return std::move(*space);
  }
  bool has_grids(AddressSpace& space) {
    return std::ranges::any_of(machine_->activity().spaces,
                               [&](const auto& known) { return known.id == space.id(); });
  }
  void tick(unsigned times = 1) {
    while (times-- != 0) machine_->contexts().tick();
  }
  static void finish(AddressSpace& space, Task* task, exec::FaultKind expected = exec::FaultKind::none) {
    task->wait();
    EXPECT_EQ(task->stop.load(), static_cast<std::uint32_t>(expected));
    space.tasks().release(task);
  }
};

inline void poll_in_loop(exec::WarpContext& warp) {
  if (warp.cta->poll->load(std::memory_order_relaxed) != 0) warp.cta->services->poll(&warp);
}

/// Blocks that wait until the test lets them go.
struct Gate {
  std::atomic<int> began{0}, ended{0};
  std::atomic<bool> open{false};
  TestKernel kernel = TestKernel::of_warps([this](exec::WarpContext& warp) {
    ++began;
    while (!open) warp.cta->services->yield(&warp);
    if (warp.warp_id == 0) ++ended;
  });
  /// A loop that polls, as compiled ones do.
  TestKernel loop = TestKernel::of_warps([this](exec::WarpContext& warp) {
    ++began;
    while (!open) poll_in_loop(warp);
    ++ended;
  });
  bool has_begun(int blocks = 1) {
    return wait_until([&] { return began >= blocks; });
  }
};

}  // namespace raddle::machine
