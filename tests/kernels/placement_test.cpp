// Deep and wide placement: kernels of three address spaces at once leave the same memory, wherever their
// blocks ran.
#include <array>
#include <map>
#include <set>

#include "kernel_test.h"

namespace {

using raddle::PlacementMode;
using Values = std::vector<int>;

constexpr const char* kWherePtx = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry where(.param .u64 out) {
  .reg .u64 %rd<3>;
  .reg .u32 %r<3>;
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %smid;
  mul.wide.u32 %rd1, %r0, 4;
  add.u64 %rd2, %rd0, %rd1;
  st.global.u32 [%rd2], %r1;
  ret;
})";

class Placement : public testing::TestWithParam<EngineChoice> {
 protected:
  /// One address space, with kernels on their way.
  struct Space {
    raddle::Device device;
    std::map<std::string, raddle::Module> modules = {};
    std::vector<raddle::Buffer<int>> buffers = {};

    raddle::Buffer<int>& buffer(const Values& values) {
      buffers.push_back(std::move(*device.buffer(values)));
      return buffers.back();
    }
    template <class... Arguments>
    void launch(const std::string& file, const char* name, const raddle::LaunchConfig& config,
                const Arguments&... arguments) {
      auto module = modules.find(file);
      if (module == modules.end())
        module = modules.emplace(file, std::move(*device.load_file(RADDLE_KERNEL_TESTS "/" + file))).first;
      auto launched = module->second.kernel(name)->launch(config, arguments...);
      EXPECT_TRUE(launched.ok()) << launched.error().to_string();
    }
  };
  static Space open(std::optional<PlacementMode> mode) {
    raddle::DeviceOptions options;
    options.placement = mode;
    options.engine = GetParam().engine;
    options.simd = GetParam().simd;
    options.tier = GetParam().tier;
    options.translation = GetParam().translation;
    options.code_cache = "off";
    auto device = raddle::Device::open(options);
    EXPECT_TRUE(device.ok()) << device.error().to_string();
    return {std::move(*device)};
  }
  static Values numbers(std::size_t count, std::size_t seed) {
    Values values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<int>((i + seed) * 7919 % 1013);
    return values;
  }
  /// All memory that the kernels of three spaces leave.
  static std::vector<Values> memory_after(std::optional<PlacementMode> mode) {
    std::array<Space, 3> spaces{open(mode), open(mode), open(mode)};
    for (std::size_t i = 0; i < 3; ++i) {
      Space& space = spaces[i];
      space.buffers.reserve(8);
      constexpr std::uint32_t kBlocks = 40, kThreads = 128;
      auto& in = space.buffer(numbers(kBlocks * kThreads, i));
      auto& sums = space.buffer(Values(kBlocks * kThreads));
      space.launch("clusters.ptx", "scan", {.grid = {kBlocks}, .block = {kThreads}, .cluster = {4, 1, 1}}, in,
                   sums);
      auto& bins = space.buffer(Values(960));
      space.launch("clusters.ptx", "histogram",
                   {.grid = {64}, .block = {64}, .shared_bytes = 480, .cluster = {8, 1, 1}}, in,
                   static_cast<int>(kBlocks * kThreads), bins, 960, 120);
      auto& steps = space.buffer(Values(6000));
      space.launch("flow.ptx", "collatz", {.grid = {100}, .block = {64}}, steps, 5000 + static_cast<int>(i));
    }
    std::vector<Values> memory;
    for (Space& space : spaces)
      for (raddle::Buffer<int>& buffer : space.buffers) {
        memory.emplace_back(buffer.size());
        EXPECT_TRUE(buffer.read(memory.back()).ok());
      }
    return memory;
  }
};
ON_EVERY_ENGINE(Placement);

// proves: A-17a
TEST_P(Placement, DeepAndWideLeaveTheSameMemory) {
  const std::vector<Values> plain = memory_after({});
  ASSERT_NE(plain[1], Values(plain[1].size()));
  ASSERT_NE(plain[1], plain[5]) << "each space has data of its own";
  for (const PlacementMode mode : {PlacementMode::wide, PlacementMode::deep, PlacementMode::automatic,
                                   PlacementMode::automatic_per_task})
    EXPECT_EQ(memory_after(mode), plain) << "mode " << static_cast<int>(mode);
}

// The choice reaches the distributor: from the device, or from the launch.
// proves: A-16a, A-16b
TEST_P(Placement, IsTheDevicesOrTheLaunchs) {
  const auto sms = [](std::optional<PlacementMode> of_device, std::optional<PlacementMode> of_launch) {
    Space space = open(of_device);
    auto& out = space.buffer(Values(8));
    auto module = std::move(*space.device.load(kWherePtx));
    EXPECT_TRUE((*module.kernel("where")->launch({.grid = {8}, .block = {32}, .placement = of_launch}, out))
                    .wait()
                    .ok());
    Values where(8);
    EXPECT_TRUE(out.read(where).ok());
    return std::set(where.begin(), where.end()).size();
  };
  EXPECT_EQ(sms({}, {}), 8u);
  EXPECT_EQ(sms(PlacementMode::deep, {}), 1u);
  EXPECT_EQ(sms(PlacementMode::deep, PlacementMode::wide), 8u);
  EXPECT_EQ(sms({}, PlacementMode::deep), 1u);
  EXPECT_EQ(sms(PlacementMode::automatic, {}), 8u) << "one space";
}

}  // namespace
