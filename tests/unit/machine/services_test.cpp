// Device services: printf, assert, malloc, sleep, clocks.
#include <cstring>

#include "machine/services/print.h"
#include "machine_fixture.h"

namespace raddle::machine {
namespace {

using Services = MachineTest;
using exec::WarpContext;

std::uint64_t address(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

/// Packs arguments as nvcc does: each at its natural alignment.
struct Packed {
  alignas(16) std::byte bytes[256]{};
  std::size_t size = 0;
  template <class T>
  Packed& add(T value) {
    size = (size + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    std::memcpy(bytes + size, &value, sizeof value);
    size += sizeof value;
    return *this;
  }
};

std::string format(const char* text, const Packed& arguments = {}) {
  FormattedText out;
  const exec::LaunchContext launch{};
  exec::CtaContext cta{};
  cta.launch = &launch;
  format_device_text(out, cta, address(text), address(arguments.bytes));
  return {out.data(), out.size()};
}

TEST(Print, FollowsTheFormatRules) {
  EXPECT_EQ(format("100%% plain\n"), "100% plain\n");
  EXPECT_EQ(format("%d|%5u|%-4d|%04x|%+d", Packed().add(-3).add(7u).add(8).add(0xabu).add(5)),
            "-3|    7|8   |00ab|+5");
  EXPECT_EQ(format("%d %f %d", Packed().add(1).add(2.5).add(3)), "1 2.500000 3");
  EXPECT_EQ(format("%lld %llu %lx", Packed().add(-5000000000ll).add(~0ull).add(0x123456789abull)),
            "-5000000000 18446744073709551615 123456789ab");
  EXPECT_EQ(format("%*d|%.*f", Packed().add(6).add(42).add(2).add(3.14159)), "    42|3.14");
  EXPECT_EQ(format("%s|%8s|%.2s|%c", Packed().add("abc").add("def").add("ghi").add(int{'z'})),
            "abc|     def|gh|z");
  EXPECT_EQ(format("%e %g %a", Packed().add(1.5).add(1e-10).add(1.0)), "1.500000e+00 1e-10 0x1p+0");
  EXPECT_EQ(format("%p", Packed().add(std::uint64_t{0x7f00})), "0x7f00");
  EXPECT_EQ(format("%hhd %hu", Packed().add(257).add(65537u)), "1 1");
  EXPECT_EQ(format("%y", Packed()), "%y");
}

// proves: K-20a
TEST_F(Services, PrintfIsBufferedUntilItIsFlushed) {
  open();
  static const char text[] = "block %d\n";
  auto kernel = TestKernel::of_warps([](WarpContext& warp) {
    Packed arguments;
    arguments.add(static_cast<int>(warp.cta->ctaid[0]));
    warp.cta->services->vprintf(&warp, 0, address(text), address(arguments.bytes));
  });
  MachineOptions options;
  options.deterministic = 0;
  open(std::move(options));
  ASSERT_EQ(run(kernel, {3}).kind, exec::FaultKind::none);
  EXPECT_EQ(printed_, "");
  space_->output().flush();
  EXPECT_EQ(printed_, "block 0\nblock 1\nblock 2\n");
}

// proves: K-20a
TEST(Output, ALimitedBufferKeepsTheNewestMessages) {
  std::string seen;
  Output output([&](std::string_view text) { seen += text; }, 100);
  std::string all;
  for (int i = 100; i < 200; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";  // 9 bytes: 11 fit
    output.append(line);
    if (i >= 189) all += line;
  }
  EXPECT_EQ(seen, "");
  output.flush();
  EXPECT_EQ(seen, all);
  seen.clear();
  output.append(std::string(101, 'x'));  // does not fit at all
  output.append("short\n");
  output.flush();
  EXPECT_EQ(seen, "short\n");
}

TEST(Output, WithoutALimitNothingIsLost) {
  std::size_t seen = 0;
  Output output([&](std::string_view text) { seen += text.size(); }, 0);
  const std::string line(1000, 'x');
  for (int i = 0; i < 3000; ++i) output.append(line);
  EXPECT_GT(seen, 0u);  // long output is not kept until the end
  output.flush();
  EXPECT_EQ(seen, 3000000u);
}

TEST_F(Services, AWildFormatIsAFaultOfTheKernel) {
  open();
  auto kernel =
      TestKernel::of_warps([](WarpContext& warp) { warp.cta->services->vprintf(&warp, 3, 64, 64); });
  const exec::Fault fault = run(kernel, {1});
  EXPECT_EQ(fault.kind, exec::FaultKind::illegal_address);
  EXPECT_TRUE(fault.thread_known);
  EXPECT_EQ(fault.tid[0], 3u);
}

// proves: K-20b
TEST_F(Services, AssertionsPrintAsCudaDoes) {
  open();
  auto kernel = TestKernel::of_warps([](WarpContext& warp) {
    warp.cta->services->assert_fail(&warp, 2, address("x > 0"), address("a.cu"), 12, address("void f(int)"));
  });
  const exec::Fault fault = run(kernel, {.x = 1, .threads = 64});
  EXPECT_EQ(fault.kind, exec::FaultKind::assertion);
  space_->output().flush();
  EXPECT_EQ(printed_, "a.cu:12: void f(int): block: [0,0,0], thread: [2,0,0] Assertion `x > 0` failed.\n");
}

// proves: K-20d, K-20e, K-20f
TEST_F(Services, MallocSleepAndClocks) {
  open();
  bool ok = true;
  auto kernel = TestKernel::of_warps([&](WarpContext& warp) {
    const exec::Services& machine = *warp.cta->services;
    const std::uint64_t memory = machine.malloc(&warp, 100);
    ok &= memory != 0 && memory % 16 == 0;
    std::memset(reinterpret_cast<void*>(memory), 1, 100);
    machine.free(&warp, memory);
    const std::uint64_t time = machine.globaltimer(&warp), cycles = machine.clock(&warp);
    machine.nanosleep(&warp, 20000);
    ok &= machine.globaltimer(&warp) >= time + 20000 && machine.clock(&warp) > cycles;
  });
  ASSERT_EQ(run(kernel, {1}).kind, exec::FaultKind::none);
  EXPECT_TRUE(ok);
}

// proves: K-16b
TEST_F(Services, CallbacksRunAfterWhatTheyWaitFor) {
  open();
  std::atomic<int> blocks{0};
  int seen = -1;
  auto kernel = TestKernel::of_blocks([&](exec::CtaContext&) { ++blocks; });
  Task* launch = submit(kernel, {100});
  Task* callback = space_->tasks().acquire();
  callback->work = CallWork{[&] { seen = blocks; }};
  Task* const after[] = {launch};
  space_->tasks().submit(*callback, after);
  callback->wait();
  EXPECT_EQ(seen, 100);
  space_->tasks().release(launch);
  space_->tasks().release(callback);
}

}  // namespace
}  // namespace raddle::machine
