// Faults: a kernel's wild access ends the launch with a precise message and leaves the process alive.

#include "machine_fixture.h"
#include "wait_until.h"

namespace raddle::machine {
namespace {

using Faults = MachineTest;
using exec::FaultKind;
using exec::WarpContext;

// proves: K-12d, K-12e, K-12f, A-9a
TEST_F(Faults, AWriteBehindAnAllocationNamesItAndTheDistance) {
  open();
  const DevicePtr memory = *space_->memory().allocate(1 << 20);
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    warp.lane = 6;
    warp.line = 42;
    if (warp.cta->ctaid[0] == 7 && warp.warp_id == 1)
      *reinterpret_cast<volatile int*>(memory.value + (1 << 20) + 16) = 1;
  });
  const exec::Fault fault = run(kernel, {.x = 16, .threads = 64});
  EXPECT_EQ(fault.kind, FaultKind::illegal_address);
  EXPECT_EQ(fault.kernel, "kernel");
  EXPECT_EQ(fault.ctaid[0], 7u);
  EXPECT_TRUE(fault.thread_known);
  EXPECT_EQ(fault.tid[0], 32u + 5);
  EXPECT_EQ(fault.ptx_line, 42u);
  EXPECT_EQ(fault.address, memory.value + (1 << 20) + 16);
  EXPECT_NE(fault.detail.find("write, 16 bytes past the end of the allocation"), std::string::npos)
      << fault.detail;
}

// proves: K-12g, K-12h
TEST_F(Faults, TheFailureIsStickyAndTheProcessLives) {
  open();
  auto wild = TestKernel::of_blocks([](exec::CtaContext&) { *reinterpret_cast<volatile int*>(16) = 1; });
  auto good = TestKernel::of_blocks([](exec::CtaContext&) {});
  EXPECT_EQ(run(wild, {1000}).kind, FaultKind::illegal_address);
  EXPECT_TRUE(space_->failed());
  EXPECT_EQ(run(good, {1}).kind, FaultKind::illegal_address);  // the first fault
  open();                                                      // a new machine starts afresh
  EXPECT_EQ(run(good, {1}).kind, FaultKind::none);
}

// proves: K-12b
TEST_F(Faults, SharedAndLocalMemoryAreGuarded) {
  for (const bool shared : {true, false}) {
    open();
    auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
      std::byte* start = shared ? warp.cta->shared : warp.cta->local;
      *const_cast<volatile std::byte*>(start + 65536) = std::byte{1};
    });
    const exec::Fault fault = run(kernel, {.x = 1, .shared = 4096, .local = 64});
    EXPECT_EQ(fault.kind, FaultKind::illegal_address);
    EXPECT_NE(fault.detail.find(shared ? "offset 0x10000 of the block's shared memory"
                                       : "offset 0x10000 of the block's local memory"),
              std::string::npos)
        << fault.detail;
  }
}

// Warp 1 yields while warp 0 waits, so warp 0 goes on where warp 1 left off: with a state of its own.
// proves: K-12d, K-12g
TEST_F(Faults, AWarpThatAYieldResumedFaultsAsItself) {
  open();
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    const exec::Services& machine = *warp.cta->services;
    if (warp.warp_id == 0) {
      machine.barrier_sync(&warp, 1, 64, warp.live_lanes);
      *reinterpret_cast<volatile int*>(8) = 1;
    } else {
      machine.barrier_arrive(&warp, 1, 64, warp.live_lanes);
      warp.cta->running_lane = 5;  // as the engine says of an access that may fault
      warp.cta->running_line = 12;
      machine.nanosleep(&warp, 1000);
    }
  });
  const exec::Fault fault = run(kernel, {.x = 1, .threads = 64});
  EXPECT_EQ(fault.kind, FaultKind::illegal_address);
  EXPECT_EQ(fault.address, 8u);
  EXPECT_EQ(fault.detail.find("warp 0: "), 0u) << fault.detail;
  EXPECT_EQ(fault.ptx_line, 0u);
}

// proves: K-12d
TEST_F(Faults, WhatAWarpTouchesIsItsOwnAcrossAYield) {
  open();
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    warp.cta->running_lane = 5;
    warp.cta->services->nanosleep(&warp, 1000);
    if (warp.warp_id == 1) *reinterpret_cast<volatile int*>(8) = 1;
    warp.cta->running_lane = 0;
  });
  const exec::Fault fault = run(kernel, {.x = 1, .threads = 64});
  ASSERT_TRUE(fault.thread_known);
  EXPECT_EQ(fault.tid[0], 32u + 4);
}

// Compiled blocks have no warps of the machine's: the caller's context says which thread it was.
// proves: K-12d
TEST_F(Faults, CallsFromBlocksWithoutFibersNameTheThread) {
  open();
  auto kernel = TestKernel::of_blocks([](exec::CtaContext& cta) {
    exec::WarpContext warp{.cta = &cta, .warp_id = 2, .initial_lanes = ~0u, .live_lanes = ~0u};
    cta.services->fault(&warp, FaultKind::trap, 0, 7, 12);
  });
  const exec::Fault fault = run(kernel, {.x = 1, .threads = 96});
  EXPECT_EQ(fault.kind, FaultKind::trap);
  EXPECT_EQ(fault.ptx_line, 12u);
  EXPECT_TRUE(fault.thread_known);
  EXPECT_EQ(fault.tid[0], 71u);
  EXPECT_EQ(fault.detail, "");
}

// proves: K-11c, K-11d, A-9b
TEST_F(Faults, ConstantsAreReadOnly) {
  open();
  const DevicePtr constants = *space_->memory().allocate_constants(100, "table");
  auto writable = space_->memory().host(constants + 96, 4);
  ASSERT_TRUE(writable.ok()) << writable.error().to_string();
  EXPECT_FALSE(space_->memory().host(constants + 97, 4).ok());
  *reinterpret_cast<int*>(*writable) = 3;
  int read = 0;
  auto reader =
      TestKernel::of_blocks([&](exec::CtaContext&) { read = *reinterpret_cast<int*>(constants.value + 96); });
  EXPECT_EQ(run(reader, {1}).kind, FaultKind::none);
  EXPECT_EQ(read, 3);
  auto writer = TestKernel::of_blocks(
      [&](exec::CtaContext&) { *reinterpret_cast<volatile int*>(constants.value) = 4; });
  const exec::Fault fault = run(writer, {1});
  EXPECT_EQ(fault.kind, FaultKind::illegal_address);
  EXPECT_NE(fault.detail.find("variable table"), std::string::npos) << fault.detail;
  EXPECT_NE(fault.detail.find("read-only"), std::string::npos) << fault.detail;
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
/// Its one access goes through rcx.
class NonCanonicalKernel final : public exec::Executable {
 public:
  explicit NonCanonicalKernel(bool decodes) : decodes_(decodes) {}
  void run_block(exec::CtaContext&) override {
    std::uint64_t value;
    asm volatile("movq (%%rcx), %0" : "=r"(value) : "c"(0x1234567890abcdefull));
  }
  void run_warp(exec::WarpContext&) override {}
  std::optional<exec::AccessedMemory> accessed(std::uint64_t, const exec::SavedRegisters& registers,
                                               std::uint64_t faulted) const override {
    EXPECT_EQ(faulted, 0u);
    if (!decodes_) return {};
    return exec::AccessedMemory{.address = registers.general[1], .lane = 4};
  }

 private:
  const bool decodes_;
};

// proves: K-12f
TEST_F(Faults, NonCanonicalAddressesAreNamedByWhoDecodesTheInstruction) {
  open();
  NonCanonicalKernel decoding(true);
  decoding.kind = exec::BlockKind::loops;
  const exec::Fault fault = run(decoding, {1});
  EXPECT_EQ(fault.kind, FaultKind::illegal_address);
  EXPECT_EQ(fault.address, 0x1234567890abcdefull);
}
TEST_F(Faults, NonCanonicalAddressesMayStayUnknown) {
  open();
  NonCanonicalKernel kernel(false);
  kernel.kind = exec::BlockKind::loops;
  const exec::Fault fault = run(kernel, {1});
  EXPECT_EQ(fault.kind, FaultKind::illegal_address);
  EXPECT_FALSE(fault.address_known);
  EXPECT_NE(fault.to_string().find("an address that is not canonical or not aligned"), std::string::npos);
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
int __attribute__((noinline)) dig(volatile int* depth) {
  volatile char frame[1024];
  *depth = *depth + 1;
  frame[0] = static_cast<char>(*depth);
  return *depth < (1 << 30) ? dig(depth) + frame[0] : 0;
}
TEST_F(Faults, AStackOverflowIsRecognised) {
  open();
  auto kernel = TestKernel::of_warps([](WarpContext&) {
    volatile int depth = 0;
    dig(&depth);
  });
  EXPECT_EQ(run(kernel, {1}).kind, FaultKind::stack_overflow);
}
#endif

TEST_F(Faults, ATimeLimitStopsALoopAtItsPoll) {
  open();
  auto kernel = TestKernel::of_warps([](WarpContext& warp) {
    for (;;) {
      if (warp.cta->poll->load(std::memory_order_relaxed) != 0) warp.cta->services->poll(&warp);
    }
  });
  const exec::Fault fault = run(kernel, {.x = 100, .threads = 32, .time_limit_ns = 20'000'000});
  EXPECT_EQ(fault.kind, FaultKind::timeout);
  EXPECT_NE(fault.detail.find("20 ms"), std::string::npos) << fault.detail;
}

TEST_F(Faults, ACancelledTaskEndsAndOthersGoOn) {
  open();
  std::atomic<int> started{0};
  auto endless = TestKernel::of_warps([&](WarpContext& warp) {
    for (++started;;) warp.cta->services->yield(&warp);
  });
  auto good = TestKernel::of_blocks([](exec::CtaContext&) {});
  Task* task = submit(endless, {.x = 5000, .threads = 64});
  ASSERT_TRUE(wait_until([&] { return started >= 10; }));
  exec::Fault cancelled;
  cancelled.kind = FaultKind::cancelled;
  space_->stop_task(*task, cancelled);
  task->wait();
  space_->tasks().release(task);
  EXPECT_FALSE(space_->failed());
  EXPECT_EQ(run(good, {10}).kind, FaultKind::none);
}

// proves: K-10h
TEST_F(Faults, AShortageIsFoundBeforeAnyBlockStarts) {
  open();
  GridWork grid;
  grid.threads_per_block = 1024;
  grid.blocks = 1000;
  EXPECT_TRUE(space_->check(grid).ok());
  grid.local_stride = 2 << 20;
  auto result = space_->check(grid);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::out_of_memory);
  // Memory that is already allocated is not there for blocks.
  DeviceMemory& memory = space_->memory();
  constexpr std::uint64_t kLeft = 16 << 20;
  grid.local_stride = kLeft / 1024;
  EXPECT_TRUE(space_->check(grid).ok());
  const DevicePtr most = *memory.allocate(memory.capacity() - kLeft + 1);
  EXPECT_FALSE(space_->check(grid).ok());
  ASSERT_TRUE(memory.free(most).ok());
  EXPECT_TRUE(space_->check(grid).ok());
  grid.local_stride = 0;
  grid.shared_model_bytes = 300 << 10;
  EXPECT_FALSE(space_->check(grid).ok());
}

}  // namespace
}  // namespace raddle::machine
