// Hand-written executables: kernels as C++ functions, to test the machine without PTX or an engine.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "machine/address_space.h"

namespace raddle::machine {

/// A kernel whose body is a C++ function of one block or one warp.
class TestKernel : public exec::Executable {
 public:
  static TestKernel of_blocks(std::function<void(exec::CtaContext&)> body,
                              exec::BlockKind kind = exec::BlockKind::loops) {
    TestKernel kernel;
    kernel.kind = kind;
    kernel.block_ = std::move(body);
    return kernel;
  }
  static TestKernel of_warps(std::function<void(exec::WarpContext&)> body) {
    TestKernel kernel;
    kernel.kind = exec::BlockKind::fibers;
    kernel.warp_ = std::move(body);
    return kernel;
  }
  void run_block(exec::CtaContext& cta) override { block_(cta); }
  /// Of a body of blocks: it begins all its warps itself.
  void run_warp(exec::WarpContext& warp) override {
    if (warp_) warp_(warp);
  }

 private:
  std::function<void(exec::CtaContext&)> block_;
  std::function<void(exec::WarpContext&)> warp_;
};

/// A back-edge.
inline void at_back_edge(exec::WarpContext& warp) {
  if (warp.cta->poll->load(std::memory_order_relaxed) != 0) warp.cta->services->poll(&warp);
}

struct GridSize {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint32_t threads = 32;
  std::uint64_t shared = 0, local = 0;
  std::uint64_t time_limit_ns = 0;
  std::uint32_t cluster = 1;     ///< blocks along x of a cluster that a GPC confines
  std::uint32_t cap_per_sm = 0;  ///< as in GridWork
  bool cluster_memory = false;
  int priority = 0;
  bool cooperative = false;
  std::optional<PlacementMode> placement = {};
  std::uint32_t work_kind = 0;
};

/// A machine whose workers are pinned, although ./test tells its suites not to pin.
inline Result<std::shared_ptr<Machine>> create_pinned(MachineOptions options) {
  const char* before = std::getenv("RADDLE_PIN");
  const std::string saved = before == nullptr ? "" : before;
  unsetenv("RADDLE_PIN");
  auto machine = Machine::create(std::move(options));
  if (!saved.empty()) setenv("RADDLE_PIN", saved.c_str(), 1);
  return machine;
}

class MachineTest : public ::testing::Test {
 protected:
  void open(MachineOptions options = {}) {
    if (options.shape.name.empty()) options.shape = *preset_shape("h200", 2);
    options.pin = false;
    auto machine = Machine::create(std::move(options));
    ASSERT_TRUE(machine.ok()) << machine.error().to_string();
    close();
    use(std::move(*machine));
  }
  void use(std::shared_ptr<Machine> machine) {
    machine_ = std::move(machine);
    auto space =
        AddressSpace::open(machine_, {.output = [this](std::string_view text) { printed_ += text; }});
    ASSERT_TRUE(space.ok()) << space.error().to_string();
    space_ = std::move(*space);
  }
  void close() {
    space_.reset();
    machine_.reset();
  }

  /// Submits a grid after `after`; the caller releases the task.
  Task* submit(exec::Executable& code, const GridSize& grid, Task* after = nullptr) {
    return submit(*space_, code, grid, after);
  }
  static Task* submit(AddressSpace& space, exec::Executable& code, const GridSize& grid,
                      Task* after = nullptr) {
    Task* const task = grid_task(space, code, grid);
    Task* const list[] = {after};
    space.tasks().submit(*task, list);
    return task;
  }
  /// A grid that is not submitted yet.
  Task* grid_task(exec::Executable& code, const GridSize& grid) { return grid_task(*space_, code, grid); }
  static Task* grid_task(AddressSpace& space, exec::Executable& code, const GridSize& grid) {
    static const std::string name = "kernel";
    Task* task = space.tasks().acquire();
    GridWork& work = task->work.emplace<GridWork>();
    task->priority = grid.priority;
    task->set_parameters({});
    work.executable = &code;
    work.name = &name;
    work.threads_per_block = grid.threads;
    work.blocks = std::uint64_t{grid.x} * grid.y * grid.z;
    work.shared_bytes = work.shared_model_bytes = grid.shared;
    work.local_stride = grid.local;
    work.time_limit_ns = grid.time_limit_ns;
    work.context.ntid[0] = grid.threads;
    work.context.ntid[1] = work.context.ntid[2] = 1;
    work.context.nctaid[0] = grid.x;
    work.context.nctaid[1] = grid.y;
    work.context.nctaid[2] = grid.z;
    work.cap_per_sm = grid.cap_per_sm;
    work.cluster_memory = grid.cluster_memory;
    work.placement = grid.placement;
    work.cooperative = grid.cooperative;
    work.work_kind = grid.work_kind;
    if (grid.cluster != 1) {
      work.kind.depth = 1;
      work.kind.levels[0].extent[0] = work.context.cluster_shape[0] = grid.cluster;
    }
    const auto fits = space.check(work);
    EXPECT_TRUE(fits.ok()) << fits.error().to_string();
    return task;
  }

  /// Runs a grid to its end. @returns the fault, `none` if it ended well
  exec::Fault run(exec::Executable& code, const GridSize& grid) { return run(*space_, code, grid); }
  static exec::Fault run(AddressSpace& space, exec::Executable& code, const GridSize& grid) {
    Task* task = submit(space, code, grid);
    task->wait();
    exec::Fault fault;
    if (task->stop.load() != 0) fault = task->fault;
    space.tasks().release(task);
    return fault;
  }

  std::shared_ptr<Machine> machine_;
  std::unique_ptr<AddressSpace> space_;
  std::string printed_;
};

}  // namespace raddle::machine
