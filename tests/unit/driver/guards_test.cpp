// Around whatever memory kernels have an address of lies nothing, for half a gigabyte at least: a wild access
// is the kernel's fault, and the host's data are out of reach.
#include "driver_test.h"

namespace raddle::driver::guards {
namespace {

constexpr std::size_t kBytes = 2 << 20;

CUdeviceptr plain() {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc_v2(&address, kBytes), CUDA_SUCCESS);
  return address;
}
CUdeviceptr managed() {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAllocManaged(&address, kBytes, MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  return address;
}
CUdeviceptr pinned() {
  void* address = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&address, kBytes, 0), CUDA_SUCCESS);
  return reinterpret_cast<CUdeviceptr>(address);
}
CUdeviceptr mapped() {
  constexpr CUmemLocation kDevice{LOCATION_DEVICE, 0};
  constexpr CUmemAllocationProp kProps{ALLOCATION_PINNED, HANDLE_TYPE_NONE, kDevice};
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cuMemAddressReserve(&address, kBytes, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemCreate(&handle, kBytes, &kProps, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(address, kBytes, 0, handle, 0), CUDA_SUCCESS);
  const CUmemAccessDesc access{kDevice, ACCESS_READ_WRITE};
  EXPECT_EQ(cuMemSetAccess(address, kBytes, &access, 1), CUDA_SUCCESS);
  return address;
}
CUdeviceptr asynchronous() {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAllocAsync(&address, kBytes, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  return address;
}

struct Case {
  const char* name;
  CUdeviceptr (*allocate)();
};

class Guards : public Driver, public testing::WithParamInterface<Case> {};
INSTANTIATE_TEST_SUITE_P(Memory, Guards,
                         testing::Values(Case{"plain", plain}, Case{"managed", managed},
                                         Case{"pinned", pinned}, Case{"mapped", mapped},
                                         Case{"asynchronous", asynchronous}),
                         [](const auto& info) { return std::string(info.param.name); });

// proves: K-12g
TEST_P(Guards, ThereIsNothingAround) {
  SKIP_ON_HARDWARE("has memory beside memory, in units of 2 MiB");
#if defined(__has_feature) && __has_feature(thread_sanitizer)
  constexpr long long kFar = 1ll << 19;  // the sanitizer refuses the reservation that keeps more apart
#else
  constexpr long long kFar = 1ll << 29;
#endif
  constexpr long long kSize = kBytes;
  for (const long long offset : {-4ll, -8192ll, -kFar, kSize, kSize + 8192, kSize + kFar}) {
    CUcontext own = nullptr;
    CUmodule code = nullptr;
    CUfunction fault = nullptr;
    ASSERT_EQ(cuCtxCreate_v2(&own, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleLoadData(&code, kKernels), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&fault, code, "fault"), CUDA_SUCCESS);
    CUdeviceptr at = GetParam().allocate();
    const auto write = [&] {
      void* parameters[] = {&at, nullptr};
      EXPECT_EQ(cuLaunchKernel(fault, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
      return cuCtxSynchronize();
    };
    EXPECT_EQ(write(), CUDA_SUCCESS);
    at += kBytes - 4;
    EXPECT_EQ(write(), CUDA_SUCCESS);
    at += static_cast<CUdeviceptr>(offset) - (kBytes - 4);
    EXPECT_EQ(write(), CUDA_ERROR_ILLEGAL_ADDRESS) << offset;
    EXPECT_EQ(cuCtxDestroy_v2(own), CUDA_SUCCESS);
  }
}

}  // namespace
}  // namespace raddle::driver::guards
