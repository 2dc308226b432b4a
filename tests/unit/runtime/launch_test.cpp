// The public API from end to end on the interpreter: PTX text in, results out; and every way a launch can be
// refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <numeric>

#include "raddle/raddle.h"

namespace {

constexpr const char* kVectorAdd = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry vector_add(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 pn)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [pa];
  ld.param.u64 %rd2, [pb];
  ld.param.u64 %rd3, [pc];
  ld.param.u32 %r1, [pn];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra done;
  mul.wide.s32 %rd4, %r5, 4;
  add.s64 %rd5, %rd1, %rd4;
  add.s64 %rd6, %rd2, %rd4;
  add.s64 %rd7, %rd3, %rd4;
  ld.global.f32 %f1, [%rd5];
  ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd7], %f3;
done:
  ret;
}
)";

raddle::Device open_device(raddle::DeviceOptions options = {}) {
  options.engine = "interp";
  options.pin = false;
  auto device = raddle::Device::open(options);
  EXPECT_TRUE(device.ok()) << device.error().to_string();
  return std::move(*device);
}

TEST(Launch, AddsVectors) {
  auto device = open_device();
  auto module = device.load(kVectorAdd);
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  auto kernel = module->kernel("vector_add");
  ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
  std::vector<float> a(1000), b(1000, 0.5f), c(1000);
  std::iota(a.begin(), a.end(), 0.0f);
  auto da = device.buffer(a), db = device.buffer(b), dc = device.buffer<float>(1000);
  auto launch = kernel->launch({.grid = {4}, .block = {256}}, *da, *db, *dc, 1000);
  ASSERT_TRUE(launch.ok()) << launch.error().to_string();
  auto report = launch->wait();
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->engine, "interp");
  EXPECT_GT(report->seconds, 0);
  ASSERT_TRUE(dc->read(c).ok());
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(c[i], i + 0.5f) << i;
}

/// Opens, loads, finds: the start of most tests.
struct Fixture {
  explicit Fixture(const char* ptx, const char* name, raddle::DeviceOptions options = {})
      : device(open_device(std::move(options))), module(load(device, ptx)), kernel(find(module, name)) {}
  static raddle::Module load(raddle::Device& device, const char* ptx) {
    auto module = device.load(ptx, "test.ptx");
    EXPECT_TRUE(module.ok()) << module.error().to_string();
    return std::move(*module);
  }
  static raddle::Kernel find(raddle::Module& module, const char* name) {
    auto kernel = module.kernel(name);
    EXPECT_TRUE(kernel.ok()) << kernel.error().to_string();
    return *kernel;
  }
  raddle::Device device;
  raddle::Module module;
  raddle::Kernel kernel;
};

std::string message_of(const raddle::Result<raddle::Launch>& result) {
  return result.ok() ? "launched" : result.error().message;
}

TEST(Launch, ChecksConfigurationAndArguments) {
  Fixture f(kVectorAdd, "vector_add");
  const std::uint64_t p = 0;
  const auto message = [&](raddle::LaunchConfig config) {
    return message_of(f.kernel.launch(config, p, p, p, 0));
  };
  EXPECT_NE(message({.grid = {0}}).find("empty"), std::string::npos);
  EXPECT_NE(message({.grid = {1, 65536}}).find("65535"), std::string::npos);
  EXPECT_NE(message({.block = {1025}}).find("1024"), std::string::npos);
  EXPECT_NE(message({.block = {32, 2, 65}}).find("1024 x 1024 x 64"), std::string::npos);
  EXPECT_NE(message({.shared_bytes = 227 * 1024 + 1}).find("shared"), std::string::npos);
  EXPECT_EQ(message({.grid = {1}, .block = {32}, .shared_bytes = 227 * 1024}), "launched");
  EXPECT_NE(message_of(f.kernel.launch({}, p, p)).find("2 arguments given, the kernel has 4"),
            std::string::npos);
  EXPECT_NE(
      message_of(f.kernel.launch({}, p, p, p, p)).find("argument 4 has 8 bytes, parameter pn (.u32) has 4"),
      std::string::npos);
}

constexpr const char* kBlockSizes = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry plain() { ret; }
.visible .entry required() .reqntid 16, 4 { ret; }
.visible .entry bounded() .maxntid 96 { ret; }
.visible .entry greedy()
{
  .local .align 4 .b8 own[1048576];
  .reg .b32 %r<2>;
  ld.local.u32 %r1, [own];
  ret;
}
.visible .entry modest()
{
  .local .align 4 .b8 own[200];
  .reg .b32 %r<2>;
  ld.local.u32 %r1, [own];
  ret;
}
)";

// proves: K-8f
TEST(Launch, TheSuggestedBlockSuitsKernelAndHost) {
  auto device = raddle::Device::open({.shape = "tiny", .engine = "interp"});
  auto module = device->load(kBlockSizes);
  auto suggested = [&](const char* name) {
    const raddle::Dim3 block = module->kernel(name)->suggested_block();
    return std::array{block.x, block.y, block.z};
  };
  EXPECT_EQ(suggested("plain"), (std::array{256u, 1u, 1u}));
  EXPECT_EQ(suggested("required"), (std::array{16u, 4u, 1u}));
  EXPECT_EQ(suggested("bounded"), (std::array{96u, 1u, 1u}));
  EXPECT_EQ(suggested("greedy"), (std::array{32u, 1u, 1u})) << "one warp, however much it needs";
  const long cache = sysconf(_SC_LEVEL1_DCACHE_SIZE) > 0 ? sysconf(_SC_LEVEL1_DCACHE_SIZE) : 32 << 10;
  const unsigned fits = static_cast<unsigned>(cache / 200) / 32 * 32;
  EXPECT_EQ(suggested("modest"), (std::array{std::min(256u, fits), 1u, 1u}));
}

// proves: K-8d
TEST(Launch, InfoIsThereBeforeAnyLaunch) {
  Fixture f(kVectorAdd, "vector_add");
  const raddle::KernelInfo& info = f.kernel.info();
  EXPECT_EQ(info.parameters.size(), 4u);
  EXPECT_EQ(info.parameter_bytes, 28u);
  EXPECT_EQ(info.parameters[3].type, "u32");
  auto missing = f.module.kernel("vector_sub");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("it has vector_add"), std::string::npos);
}

// proves: K-8d
TEST(Launch, EveryNeedIsTold) {
  Fixture f(R"(.version 8.0
.target sm_90
.address_size 64
.const .align 8 .b8 table[24];
.shared .align 4 .b8 cells[200];
.extern .shared .align 16 .b8 more[];
.func deep() { .local .align 8 .b8 frame[40]; ret; }
.visible .entry k(.param .u64 p, .param .f32 f) .reqntid 16, 4, 2 .explicitcluster .reqnctapercluster 2, 3, 1
{
  .local .align 8 .b8 mine[16];
  .reg .b32 %r<9>;
  mov.u32 %r1, cells; mov.u32 %r2, more; ld.const.u32 %r3, [table];
  call deep;
  bar.sync 6, 64;
  st.shared.u32 [%r1], %r2; st.shared.u32 [%r2], %r3;
  ret;
}
.visible .entry bounded() .maxntid 128, 2, 1 .maxclusterrank 4 { ret; })",
            "k");
  const auto as_array = [](raddle::Dim3 extents) { return std::array{extents.x, extents.y, extents.z}; };
  const raddle::KernelInfo& info = f.kernel.info();
  EXPECT_EQ(info.parameter_bytes, 12u);
  EXPECT_EQ(info.registers, 1u + 8);  // one loaded word, and what machine code has beside it
  EXPECT_EQ(info.barriers, 7u);
  EXPECT_EQ(info.static_shared_bytes, 200u);
  EXPECT_TRUE(info.uses_dynamic_shared);
  EXPECT_EQ(info.local_bytes_per_thread, 56u);
  EXPECT_EQ(info.constant_bytes, 24u);
  EXPECT_EQ(as_array(info.required_block), (std::array{16u, 4u, 2u}));
  EXPECT_EQ(as_array(info.required_cluster), (std::array{2u, 3u, 1u}));
  EXPECT_TRUE(info.needs_cluster);
  const auto bounded = f.module.kernel("bounded");
  EXPECT_EQ(as_array(bounded->info().largest_block), (std::array{128u, 2u, 1u}));
  EXPECT_EQ(bounded->info().largest_cluster, 4u);
  EXPECT_FALSE(bounded->info().uses_dynamic_shared);
}

// proves: K-12d, K-12e, K-12f, K-12h
TEST(Launch, AFaultNamesTheThreadAndIsSticky) {
  Fixture f(kVectorAdd, "vector_add");
  constexpr int kCount =
      1 << 15;  // 128 KiB: between guard pages; the last threads of the grid run over the end
  auto a = f.device.buffer<float>(kCount + 64), c = f.device.buffer<float>(kCount);
  auto launch = f.kernel.launch({.grid = {kCount / 256 + 1}, .block = {256}}, *a, *a, *c, kCount + 64);
  ASSERT_TRUE(launch.ok());
  auto report = launch->wait();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, raddle::ErrorCode::kernel_fault);
  EXPECT_NE(report.error().message.find("illegal address"), std::string::npos) << report.error().message;
  EXPECT_NE(report.error().message.find("in kernel vector_add, block ("), std::string::npos)
      << report.error().message;
  EXPECT_NE(report.error().message.find("PTX line 28"), std::string::npos) << report.error().message;
  EXPECT_NE(report.error().message.find("write, 0 bytes past the end of the allocation"), std::string::npos)
      << report.error().message;
  EXPECT_NE(report.error().message.find("block (128,0,0), thread (0,0,0)"), std::string::npos)
      << report.error().message;
  EXPECT_EQ(message_of(f.kernel.launch({}, *a, *a, *c, 1)).find("illegal address"), 0u);
  EXPECT_FALSE(f.device.synchronize().ok());
}

constexpr const char* kVariables = R"(
.version 8.0
.target sm_90
.address_size 64
.const .align 4 .b32 table[4] = {10, 20, 30, 40};
.global .align 4 .u32 counter;
.global .align 8 .u64 pointer = generic(counter);
.extern .shared .align 16 .b8 dynamic[];
.visible .entry count(.param .u64 out)
{
  .shared .align 4 .b32 fixed[64];
  .reg .b32 %r<10>;
  .reg .b64 %rd<10>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [out];
  ld.global.u64 %rd2, [pointer];
  mov.u32 %r1, %tid.x;
  atom.add.u32 %r2, [%rd2], 1;
  and.b32 %r3, %r1, 3;
  mul.wide.u32 %rd3, %r3, 4;
  mov.u64 %rd4, table;
  add.s64 %rd4, %rd4, %rd3;
  ld.const.u32 %r4, [%rd4];
  shl.b32 %r5, %r1, 2;
  mov.u32 %r6, fixed;
  add.s32 %r6, %r6, %r5;
  st.shared.u32 [%r6], %r4;
  mov.u32 %r7, dynamic;
  add.s32 %r7, %r7, %r5;
  st.shared.u32 [%r7], %r1;
  bar.sync 0;
  xor.b32 %r5, %r5, 4;
  mov.u32 %r6, fixed;
  add.s32 %r6, %r6, %r5;
  ld.shared.u32 %r4, [%r6];
  mov.u32 %r7, dynamic;
  add.s32 %r7, %r7, %r5;
  ld.shared.u32 %r8, [%r7];
  add.s32 %r4, %r4, %r8;
  mul.wide.u32 %rd5, %r1, 4;
  add.s64 %rd6, %rd1, %rd5;
  st.global.u32 [%rd6], %r4;
  ret;
}
)";

// Constants, initialised globals with addresses, static and dynamic shared memory, a barrier.
// proves: K-9a
TEST(Launch, AllMemorySpacesWork) {
  Fixture f(kVariables, "count");
  auto out = f.device.buffer<std::uint32_t>(64);
  auto launch = f.kernel.launch({.grid = {10}, .block = {64}, .shared_bytes = 256}, *out);
  ASSERT_TRUE(launch.ok()) << launch.error().to_string();
  auto report = launch->wait();
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  std::vector<std::uint32_t> values(64);
  ASSERT_TRUE(out->read(values).ok());
  for (std::uint32_t i = 0; i < 64; ++i) ASSERT_EQ(values[i], ((i ^ 1) & 3) * 10 + 10 + (i ^ 1)) << i;
  auto counter = f.module.variable("counter");
  ASSERT_TRUE(counter.ok());
  std::uint32_t count = 0;
  ASSERT_TRUE(f.device.read(&count, counter->address, 4).ok());
  EXPECT_EQ(count, 640u);
  EXPECT_FALSE(f.module.variable("nothing").ok());
}

constexpr const char* kSpin = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry wait_for(.param .u64 flag)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [flag];
again:
  ld.volatile.global.u32 %r1, [%rd1];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra again;
  ret;
}
.visible .entry set(.param .u64 flag)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [flag];
  mov.u32 %r1, 1;
  st.volatile.global.u32 [%rd1], %r1;
  ret;
}
)";

TEST(Launch, StreamsOverlapAndEventsOrder) {
  Fixture f(kSpin, "wait_for");
  auto set = f.module.kernel("set");
  ASSERT_TRUE(set.ok());
  auto flag = f.device.buffer(std::vector<std::uint32_t>{0});
  auto one = f.device.stream(), two = f.device.stream();
  auto waiting = f.kernel.launch({.grid = {3}, .block = {64}, .stream = &*one}, *flag);
  ASSERT_TRUE(waiting.ok());
  const raddle::Event before = two->record();
  EXPECT_FALSE(waiting->done());
  ASSERT_TRUE(set->launch({.stream = &*two}, *flag).ok());
  const raddle::Event after = two->record();
  raddle::Stream& third = f.device.default_stream();
  third.wait(after);
  third.wait(one->record());
  EXPECT_TRUE(third.synchronize().ok());
  EXPECT_TRUE(waiting->done());
  EXPECT_TRUE(after.done());
  EXPECT_GE(after.elapsed_ms(before), 0);
  EXPECT_TRUE(f.device.synchronize().ok());
}

// proves: K-16b, K-16c, K-16d
TEST(Launch, CompletionIsSignalled) {
  Fixture f(kSpin, "wait_for");
  auto flag = f.device.buffer(std::vector<std::uint32_t>{0});
  auto launch = f.kernel.launch({}, *flag);
  ASSERT_TRUE(launch.ok());
  std::atomic<int> calls{0};
  launch->then([&](raddle::Result<raddle::LaunchReport> report) { calls += report.ok() ? 1 : 100; });
  auto future = launch->future();
  EXPECT_FALSE(launch->done());
  EXPECT_EQ(calls, 0);
  auto set = f.module.kernel("set");
  auto other = f.device.stream();
  ASSERT_TRUE(set->launch({.stream = &*other}, *flag).ok());
  EXPECT_TRUE(future.get().ok());
  EXPECT_EQ(calls, 1);  // callbacks run in order on one thread
  EXPECT_TRUE(launch->done());
}

TEST(Launch, TimeLimitAndCancel) {
  raddle::DeviceOptions options;
  options.time_limit = std::chrono::milliseconds(20);
  Fixture f(kSpin, "wait_for", options);
  auto flag = f.device.buffer(std::vector<std::uint32_t>{0});
  auto launch = f.kernel.launch({}, *flag);
  ASSERT_TRUE(launch.ok());
  auto report = launch->wait();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, raddle::ErrorCode::timeout);

  Fixture g(kSpin, "wait_for");
  auto flag2 = g.device.buffer(std::vector<std::uint32_t>{0});
  auto endless = g.kernel.launch({}, *flag2);
  ASSERT_TRUE(endless.ok());
  endless->cancel();
  EXPECT_FALSE(endless->wait().ok());
  EXPECT_TRUE(g.device.synchronize().ok());  // not sticky
}

// proves: K-17g, K-17h
TEST(Launch, AnUnknownInstructionKeepsOnlyItsKernelsFromRunning) {
  auto device = open_device();
  auto module = device.load(R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry good(.param .u64 p)
{
  .reg .b64 %d;
  ld.param.u64 %d, [p];
  st.global.u32 [%d], 7;
  ret;
}
.visible .entry bad() { fluffy.u32 %a; add.sat.u64 %b, %b, %b; add.sat.u64 %c, %b, %b; ret; }
.func helper() { cvt.f32.bananas %a, %b; ret; }
.visible .entry calls() { call helper, (); ret; }
)");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  const auto error_of = [&](const char* name) {
    auto kernel = module->kernel(name);
    EXPECT_FALSE(kernel.ok()) << name;
    EXPECT_EQ(kernel.error().code, raddle::ErrorCode::unsupported);
    return kernel.error().message;
  };
  const std::string bad = error_of("bad"), calls = error_of("calls");
  EXPECT_NE(bad.find("kernel 'bad' cannot run"), bad.npos) << bad;
  EXPECT_NE(bad.find("fluffy.u32 (1 time)"), bad.npos) << bad;
  EXPECT_NE(bad.find("add.sat.u64 (2 times)"), bad.npos) << bad;
  EXPECT_NE(calls.find("cvt.f32.bananas (1 time)"), calls.npos) << calls;
  auto out = device.buffer<int>(1);
  auto kernel = module->kernel("good");
  ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
  ASSERT_TRUE(kernel->launch({.block = {1}}, *out)->wait().ok());
  std::vector<int> values(1);
  ASSERT_TRUE(out->read(values).ok());
  EXPECT_EQ(values[0], 7);
}

TEST(Device, CopiesFillsAndChecksRanges) {
  auto device = open_device();
  auto a = device.buffer<std::uint8_t>(1000), b = device.buffer<std::uint8_t>(1000);
  ASSERT_TRUE(device.fill(a->address(), 7, 1000).ok());
  ASSERT_TRUE(device.copy(b->address() + 10, a->address(), 100).ok());
  std::vector<std::uint8_t> host(110);
  ASSERT_TRUE(b->read(host).ok());
  EXPECT_EQ(host[10], 7);
  EXPECT_EQ(host[109], 7);
  EXPECT_FALSE(device.fill(a->address(), 7, 1001).ok());
  EXPECT_FALSE(device.write({64}, host.data(), 4).ok());
  EXPECT_FALSE(device.allocate(1ull << 60).ok());
  EXPECT_FALSE(a->write(std::vector<std::uint8_t>(1001)).ok());
}

TEST(Device, RefusesWhatIsNotThere) {
  raddle::DeviceOptions options;
  options.shape = "b300";
  EXPECT_FALSE(raddle::Device::open(options).ok());
  options = {};
  options.engine = "quantum";
  EXPECT_FALSE(raddle::Device::open(options).ok());
  auto device = open_device();
  EXPECT_EQ(device.load_file("/nonexistent.ptx").error().code, raddle::ErrorCode::io);
  EXPECT_FALSE(device.load("not ptx").ok());
}

}  // namespace
