// What programs find behind an allocation, in each way of translating addresses.
#include "devices/several_devices.h"

namespace raddle::driver {
namespace {

/// Adds to a word behind an allocation of 100,000 bytes. @returns what the kernel's end answers
CUresult add_behind(std::uint64_t distance) {
  constexpr std::size_t kBytes = 100'000;
  const On device(0);
  device.use();
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc_v2(&memory, kBytes), CUDA_SUCCESS);
  return device.run("add", memory + kBytes + distance, 3u);
}

TEST(Bounds, AreAGpusUnlessExactOnesAreWanted) {
  for (const char* translation : {"direct", "windowed", "modelled"})
    for (const std::string& engine : engines()) {
      Environment environment{
          {"RADDLE_DEVICE", "tiny"}, {"RADDLE_MMU", translation}, {"RADDLE_ENGINE", engine}};
      in_process(environment, [] { EXPECT_EQ(add_behind(512), CUDA_SUCCESS); });
      in_process(environment, [] { EXPECT_EQ(add_behind(2 << 20), CUDA_ERROR_ILLEGAL_ADDRESS); });
      environment["RADDLE_BOUNDS"] = "exact";
      in_process(environment, [] { EXPECT_EQ(add_behind(512), CUDA_ERROR_ILLEGAL_ADDRESS); });
    }
}

}  // namespace
}  // namespace raddle::driver
