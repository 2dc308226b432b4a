// Many contexts on the one machine of the process.
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "driver_test.h"
#include "sanitized.h"

namespace raddle::driver {
namespace {

std::size_t entries_of(const char* directory) {
  std::size_t count = 0;
  DIR* const list = opendir(directory);
  while (readdir(list) != nullptr) ++count;
  closedir(list);
  return count;
}
std::size_t threads() { return entries_of("/proc/self/task"); }
/// Threads once those that end have gone, or those there are if there stay more: the system lists one for a
/// moment after it was joined.
std::size_t threads_at_most(std::size_t expected) {
  for (int i = 0; i < 1000 && threads() > expected; ++i) usleep(10'000);
  return threads();
}
std::size_t descriptors() { return entries_of("/proc/self/fd"); }

/// Of address space that has memory, in bytes.
std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * 4096;
}

/// A context with the kernels of driver_test.h and a word of memory that holds 7; current.
struct Opened {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUdeviceptr word = 0;

  Opened() {
    const unsigned seven = 7;
    EXPECT_EQ(cuCtxCreate_v4(&context, nullptr, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleLoadData(&module, kKernels), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc_v2(&word, 4), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyHtoD_v2(word, &seven, 4), CUDA_SUCCESS);
  }
  void launch(const char* name, std::vector<void*> arguments) const {
    CUfunction function = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&function, module, name), CUDA_SUCCESS);
    EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments.data(), nullptr),
              CUDA_SUCCESS);
  }
};

// proves: K-1d
TEST(Contexts, AHundredShareTheWorkers) {
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  SKIP_ON_HARDWARE("contexts take turns");
  std::vector<Opened> all(1);
  unsigned factor = 3, count = 1;
  all[0].launch("scale", {&all[0].word, &factor, &count});
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  const std::size_t before = threads();
  all.resize(100);
  for (std::size_t i = 1; i < all.size(); ++i) {
    ASSERT_EQ(cuCtxSetCurrent(all[i].context), CUDA_SUCCESS);
    all[i].launch("scale", {&all[i].word, &factor, &count});
  }
  EXPECT_LE(threads_at_most(before), before);
  for (const Opened& each : all) {
    ASSERT_EQ(cuCtxSetCurrent(each.context), CUDA_SUCCESS);
    unsigned value = 0;
    EXPECT_EQ(cuMemcpyDtoH_v2(&value, each.word, 4), CUDA_SUCCESS);
    EXPECT_EQ(value, 21u);
  }
  // One that faults, while kernels of others wait for one another, takes none of them along.
  constexpr std::size_t kBad = 40, kWaits = 41;
  ASSERT_EQ(cuCtxSetCurrent(all[kWaits].context), CUDA_SUCCESS);
  CUdeviceptr answer = 0, zero = 0;
  ASSERT_EQ(cuMemAlloc_v2(&answer, 4), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAlloc_v2(&zero, 4), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD8_v2(zero, 0, 4), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD8_v2(answer, 0, 4), CUDA_SUCCESS);
  all[kWaits].launch("wait", {&zero, &answer});
  ASSERT_EQ(cuCtxSetCurrent(all[kBad].context), CUDA_SUCCESS);
  CUdeviceptr nowhere = 8;
  all[kBad].launch("fault", {&nowhere});
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == kBad || i == kWaits) continue;
    ASSERT_EQ(cuCtxSetCurrent(all[i].context), CUDA_SUCCESS);
    all[i].launch("scale", {&all[i].word, &factor, &count});
    unsigned value = 0;
    EXPECT_EQ(cuMemcpyDtoH_v2(&value, all[i].word, 4), CUDA_SUCCESS);
    EXPECT_EQ(value, 63u) << i;
  }
  ASSERT_EQ(cuCtxSetCurrent(all[kWaits].context), CUDA_SUCCESS);
  CUstream other = nullptr;
  ASSERT_EQ(cuStreamCreate(&other, STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWriteValue32_v2(other, zero, 5, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  unsigned value = 0;
  EXPECT_EQ(cuMemcpyDtoH_v2(&value, answer, 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 5u);
  for (const Opened& each : all) EXPECT_EQ(cuCtxDestroy_v2(each.context), CUDA_SUCCESS);
  // Destroyed contexts stay on the thread's stack below the top; the next test begins with an empty stack.
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
}

constexpr bool kCountsMemory = !kSanitized;  // sanitizers keep what was freed, and notes of it

TEST(Contexts, TenThousandLeaveNothingBehind) {
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  SKIP_ON_HARDWARE("contexts take turns");
  const Opened stays;  // so that the machine does
  unsigned factor = 2, count = 1;
  const auto open_and_destroy = [&](int times) {
    for (int i = 0; i < times; ++i) {
      Opened opened;
      if (i % 10 == 0) {
        opened.launch("scale", {&opened.word, &factor, &count});
        ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
      }
      ASSERT_EQ(cuCtxDestroy_v2(opened.context), CUDA_SUCCESS);
    }
  };
  open_and_destroy(500);
  const std::size_t threads_before = threads(), descriptors_before = descriptors(), bytes = resident_bytes();
  open_and_destroy(kSanitized ? 1'500 : 9'500);
  EXPECT_LE(threads_at_most(threads_before), threads_before);
  EXPECT_EQ(descriptors(), descriptors_before);
  if (kCountsMemory) {
    EXPECT_LT(resident_bytes(), bytes + (16u << 20));
  }
  EXPECT_EQ(cuCtxDestroy_v2(stays.context), CUDA_SUCCESS);
}

}  // namespace
}  // namespace raddle::driver
