// Device::load on every wrapping that device code arrives in, run to its end.
#include <gtest/gtest.h>

#include "base/file.h"
#include "raddle/raddle.h"
#include "unit/source_directory.h"

namespace {

using raddle::Device;
using raddle::read_file;
using raddle::Result;
using raddle::source_directory;

/// Runs scale() of a file on a shape; what it wrote into `calls` tells the architecture it was compiled for.
Result<int> run_scale(const std::string& shape, const std::string& file) {
  TRY_ASSIGN(Device device, Device::open({.shape = shape, .engine = "interp"}));
  TRY_ASSIGN(raddle::Module module,
             device.load_file(raddle::source_directory() + "/tests/data/fatbin/" + file));
  TRY_ASSIGN(raddle::Kernel kernel, module.kernel("scale"));
  const std::vector<float> values{1, 2, 3};
  TRY_ASSIGN(raddle::Buffer<float> buffer, device.buffer(values));
  TRY_ASSIGN(raddle::Launch launch, kernel.launch({.block = {32}}, buffer, 2.0f, 3));
  TRY(launch.wait());
  std::vector<float> scaled(3);
  TRY(buffer.read(scaled));
  EXPECT_EQ(scaled, (std::vector<float>{2, 4, 6}));
  TRY_ASSIGN(const raddle::Module::Variable calls, module.variable("calls"));
  int architecture = 0;
  TRY(device.read(&architecture, calls.address, sizeof architecture));
  return architecture;
}

// proves: K-18a
TEST(Wrappings, RunOnTheArchitectureThatSuitsTheDevice) {
  for (const char* file : {"zstd.fatbin", "lz4.fatbin", "stored.fatbin", "plain.o"}) {
    const Result<int> h200 = run_scale("h200", file), a100 = run_scale("a100", file);
    ASSERT_TRUE(h200.ok()) << h200.error().message;
    ASSERT_TRUE(a100.ok()) << a100.error().message;
    EXPECT_EQ(*h200, 90) << file;
    EXPECT_EQ(*a100, 75) << file;
  }
  EXPECT_EQ(run_scale("h200", "relocatable.o").value(), 90);
  EXPECT_EQ(run_scale("h200", "newer.fatbin").value(), 90);
}

TEST(Wrappings, NamesThatMeetAreListed) {
  const std::string one = read_file(raddle::source_directory() + "/tests/data/fatbin/zstd.fatbin").value();
  Device device = Device::open({.engine = "interp"}).value();
  const auto module = device.load(one + one, "app");
  ASSERT_FALSE(module.ok());
  EXPECT_NE(module.error().message.find("'scale' is defined in app.1.sm_90.ptx and in app.2.sm_90.ptx"),
            std::string::npos)
      << module.error().message;
}

constexpr const char* kHead = ".version 8.0\n.target sm_90\n.address_size 64\n";

// proves: K-18e
TEST(Wrappings, SeveralTextsAreLinked) {
  const std::string kernel = std::string(kHead) + R"(
.extern .func (.param .b32 r) twice(.param .b32 x);
.extern .global .u32 seed;
.visible .entry k(.param .u64 p)
{
  .reg .b32 %r; .reg .b64 %d;
  .param .b32 x, r;
  ld.param.u64 %d, [p];
  ld.global.u32 %r, [seed];
  st.param.b32 [x], %r;
  call (r), twice, (x);
  ld.param.b32 %r, [r];
  st.global.u32 [%d], %r;
  ret;
})";
  const std::string function = std::string(kHead) + R"(
.visible .global .u32 seed = 21;
.visible .func (.param .b32 r) twice(.param .b32 x)
{
  .reg .b32 %r;
  ld.param.u32 %r, [x];
  add.u32 %r, %r, %r;
  st.param.b32 [r], %r;
  ret;
})";
  for (const char* engine : {"interp", ""}) {
    Device device = Device::open({.engine = engine}).value();
    const raddle::Program::Image images[] = {{kernel, "kernel.ptx"}, {function, "function.ptx"}};
    const auto program = raddle::Program::read(images, 90);
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_TRUE(program->undefined_variables().empty());
    raddle::Module module = device.load(*program).value();
    raddle::Buffer<int> out = device.buffer<int>(1).value();
    ASSERT_TRUE(module.kernel("k")->launch({}, out)->wait().ok());
    std::vector<int> value(1);
    ASSERT_TRUE(out.read(value).ok());
    EXPECT_EQ(value[0], 42);
    raddle::Kernel kernel_of_module = module.kernel("k").value();
    const auto fault = kernel_of_module.launch({}, raddle::DevicePtr{16}).value().wait();
    ASSERT_FALSE(fault.ok());
    EXPECT_NE(fault.error().message.find("kernel.ptx:16"), std::string::npos) << fault.error().message;
  }
  const raddle::Program::Image alone[] = {{kernel, "kernel.ptx"}};
  const auto program = raddle::Program::read(alone, 90).value();
  EXPECT_EQ(program.undefined_variables(), std::vector<std::string>{"seed"});
  Device device = Device::open({.engine = "interp"}).value();
  EXPECT_FALSE(device.load(program).ok());
}

TEST(Wrappings, FunctionsMayBeDeclaredWithResultsThatTheyHaveNot) {
  const std::string kernel = std::string(kHead) + R"(
.extern .func (.param .b64 r) add_five(.param .b64 x);
.extern .func add_seven(.param .b64 x);
.visible .entry k(.param .u64 p)
{
  .reg .b64 %d;
  .param .b64 x, r;
  ld.param.u64 %d, [p];
  st.param.b64 [x], %d;
  call (r), add_five, (x);
  call add_seven, (x);
  ret;
})";
  const std::string functions = std::string(kHead) + R"(
.visible .func add_five(.param .b64 x)
{
  .reg .b64 %d;
  ld.param.u64 %d, [x];
  red.global.add.u32 [%d], 5;
  ret;
}
.visible .func (.param .b32 r) add_seven(.param .b64 x)
{
  .reg .b64 %d;
  ld.param.u64 %d, [x];
  red.global.add.u32 [%d], 7;
  st.param.b32 [r], 1;
  ret;
})";
  const raddle::Program::Image images[] = {{kernel, "kernel.ptx"}, {functions, "functions.ptx"}};
  const auto program = raddle::Program::read(images, 90);
  ASSERT_TRUE(program.ok()) << program.error().message;
  for (const char* engine : {"interp", ""}) {
    Device device = Device::open({.engine = engine}).value();
    raddle::Module module = device.load(*program).value();
    raddle::Buffer<int> out = device.buffer(std::vector<int>(1)).value();
    const auto report = module.kernel("k")->launch({.grid = {3}, .block = {32}}, out)->wait();
    ASSERT_TRUE(report.ok()) << report.error().message;
    std::vector<int> value(1);
    ASSERT_TRUE(out.read(value).ok());
    EXPECT_EQ(value[0], 3 * 32 * 12);
  }
}

// NVIDIA's device runtime comes so: PTX for a newer device, names that the machine has.
TEST(Wrappings, CodeForNewerDevicesIsTriedOnlyWhereThereIsNoOther) {
  const std::string newer = read_file(raddle::source_directory() + "/tests/data/fatbin/newer.fatbin").value();
  const std::string kernel = std::string(kHead) + ".visible .entry k() { ret; }";
  const raddle::Program::Image both[] = {{newer, "newer"}, {kernel, "kernel.ptx"}},
                               alone[] = {{newer, "newer"}};
  EXPECT_EQ(raddle::Program::read(both, 90)->kernels(), std::vector<std::string>{"k"});
  EXPECT_EQ(raddle::Program::read(alone, 90)->kernels(), std::vector<std::string>{"scale"});
}

}  // namespace
