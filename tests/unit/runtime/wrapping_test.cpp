// Device::load on every wrapping that device code arrives in, run to its end.
#include <gtest/gtest.h>

#include "base/file.h"
#include "raddle/raddle.h"

namespace {

using raddle::Device;
using raddle::read_file;
using raddle::Result;

/// Runs scale() of a file on a shape; what it wrote into `calls` tells the architecture it was compiled for.
Result<int> run_scale(const std::string& shape, const std::string& file) {
  TRY_ASSIGN(Device device, Device::open({.shape = shape, .engine = "interp"}));
  TRY_ASSIGN(raddle::Module module, device.load_file(RADDLE_SOURCE_DIR "/tests/data/fatbin/" + file));
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

// proves: K-18
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

TEST(Wrappings, SeveralModulesHaveToBeChosenFrom) {
  const std::string one = read_file(RADDLE_SOURCE_DIR "/tests/data/fatbin/zstd.fatbin").value();
  Device device = Device::open({.engine = "interp"}).value();
  const auto module = device.load(one + one, "app");
  ASSERT_FALSE(module.ok());
  EXPECT_NE(module.error().message.find("app holds 2 modules of PTX"), std::string::npos);
}

}  // namespace
