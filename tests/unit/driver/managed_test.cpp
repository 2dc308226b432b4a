// Managed memory: use from both sides, advice, prefetches, attachment.
#include "driver_test.h"

namespace raddle::driver {
namespace {

class Managed : public Driver {
 protected:
  CUdeviceptr managed(std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAllocManaged(&address, bytes, MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    return address;
  }
  int range(CUmem_range_attribute attribute, CUdeviceptr address, std::size_t bytes) {
    int value = 99;
    EXPECT_EQ(cuMemRangeGetAttribute(&value, sizeof value, attribute, address, bytes), CUDA_SUCCESS)
        << attribute;
    return value;
  }
};

constexpr CUmemLocation kHost{LOCATION_HOST, 0};

TEST_F(Managed, HostAndKernelsUseItAlike) {
  std::size_t before = 0, during = 0, total = 0;
  ASSERT_EQ(cuMemGetInfo_v2(&before, &total), CUDA_SUCCESS);
  const CUdeviceptr address = managed(1 << 20);
  ASSERT_EQ(cuMemGetInfo_v2(&during, &total), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(before - during, std::size_t{1} << 20);
  auto* words = reinterpret_cast<unsigned*>(address);
  words[0] = 6;
  EXPECT_EQ(launch("scale", nullptr, address, 7u, 1u), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(words[0], 42u);
  unsigned char is_managed = 0;
  unsigned type = 0;
  void* host = nullptr;
  EXPECT_EQ(cuPointerGetAttribute(&is_managed, POINTER_IS_MANAGED, address + 9), CUDA_SUCCESS);
  EXPECT_EQ(is_managed, 1);
  EXPECT_EQ(cuPointerGetAttribute(&type, POINTER_MEMORY_TYPE, address), CUDA_SUCCESS);
  EXPECT_EQ(type, MEMORYTYPE_DEVICE);
  EXPECT_EQ(cuPointerGetAttribute(&host, POINTER_HOST_POINTER, address), CUDA_SUCCESS);
  EXPECT_EQ(host, words);
  int attribute = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&attribute, 83, 0), CUDA_SUCCESS);  // MANAGED_MEMORY
  EXPECT_EQ(attribute, 1);
  EXPECT_EQ(cuMemFree_v2(address + 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr none = 7;
  EXPECT_EQ(cuMemAllocManaged(&none, 0, MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocManaged(&none, 64, MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
  SKIP_ON_HARDWARE("has the host's memory behind its own");
  EXPECT_EQ(cuMemAllocManaged(&none, total * 2, MEM_ATTACH_HOST), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(Managed, VariablesAreManagedMemory) {
  CUmodule loaded = nullptr;
  ASSERT_EQ(cuModuleLoadData(&loaded,
                             ".version 8.0\n.target sm_90\n.address_size 64\n"
                             ".visible .global .attribute(.managed) .align 4 .u32 shared_word = 5;\n"
                             ".visible .global .align 4 .u32 plain_word = 6;\n"),
            CUDA_SUCCESS);
  CUdeviceptr shared = 0, plain = 0;
  ASSERT_EQ(cuModuleGetGlobal_v2(&shared, nullptr, loaded, "shared_word"), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetGlobal_v2(&plain, nullptr, loaded, "plain_word"), CUDA_SUCCESS);
  EXPECT_EQ(*reinterpret_cast<unsigned*>(shared), 5u);
  unsigned char is_managed = 9;
  EXPECT_EQ(cuPointerGetAttribute(&is_managed, POINTER_IS_MANAGED, shared), CUDA_SUCCESS);
  EXPECT_EQ(is_managed, 1);
  EXPECT_EQ(cuPointerGetAttribute(&is_managed, POINTER_IS_MANAGED, plain), CUDA_SUCCESS);
  EXPECT_EQ(is_managed, 0);
  EXPECT_EQ(cuMemAdvise_v2(shared, 4, ADVISE_SET_READ_MOSTLY, kDevice), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAdvise_v2(plain, 4, ADVISE_SET_READ_MOSTLY, kDevice), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Managed, AdviceIsRememberedByAddress) {
  const CUdeviceptr a = managed(8192);
  EXPECT_EQ(range(RANGE_READ_MOSTLY, a, 8192), 0);
  // An H200 wants a place with every advice, of whatever kind (2026-11-26).
  EXPECT_EQ(cuMemAdvise_v2(a, 4096, ADVISE_SET_READ_MOSTLY, {}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAdvise_v2(a, 4096, ADVISE_SET_READ_MOSTLY, kDevice), CUDA_SUCCESS);
  EXPECT_EQ(range(RANGE_READ_MOSTLY, a, 4096), 1);
  EXPECT_EQ(range(RANGE_READ_MOSTLY, a, 4097), 0);
  EXPECT_EQ(cuMemAdvise(a + 4096, 4096, ADVISE_SET_READ_MOSTLY, 0), CUDA_SUCCESS);
  EXPECT_EQ(range(RANGE_READ_MOSTLY, a, 8192), 1);
  EXPECT_EQ(cuMemAdvise_v2(a, 8192, ADVISE_UNSET_READ_MOSTLY, kDevice), CUDA_SUCCESS);
  EXPECT_EQ(range(RANGE_READ_MOSTLY, a, 10), 0);

  EXPECT_EQ(range(RANGE_PREFERRED_LOCATION, a, 8192), kInvalidDevice);
  EXPECT_EQ(cuMemAdvise_v2(a, 8192, ADVISE_SET_PREFERRED_LOCATION, kDevice), CUDA_SUCCESS);
  EXPECT_EQ(range(RANGE_PREFERRED_LOCATION, a, 8192), 0);
  EXPECT_EQ(range(RANGE_PREFERRED_LOCATION_TYPE, a, 8192), LOCATION_DEVICE);
  EXPECT_EQ(cuMemAdvise(a + 100, 10, ADVISE_SET_PREFERRED_LOCATION, kCpu), CUDA_SUCCESS);
  EXPECT_EQ(range(RANGE_PREFERRED_LOCATION, a + 100, 10), kCpu);
  EXPECT_EQ(range(RANGE_PREFERRED_LOCATION_ID, a + 100, 10), kCpu);  // an H200 (2026-11-26)
  EXPECT_EQ(range(RANGE_PREFERRED_LOCATION, a, 8192), kInvalidDevice);
  EXPECT_EQ(cuMemAdvise_v2(a, 8192, ADVISE_UNSET_PREFERRED_LOCATION, kDevice), CUDA_SUCCESS);
  EXPECT_EQ(range(RANGE_PREFERRED_LOCATION_TYPE, a + 100, 10), LOCATION_INVALID);

  int by[3] = {7, 7, 7};
  EXPECT_EQ(cuMemAdvise_v2(a, 8192, ADVISE_SET_ACCESSED_BY, kDevice), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAdvise_v2(a, 8192, ADVISE_SET_ACCESSED_BY, kHost), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRangeGetAttribute(by, sizeof by, RANGE_ACCESSED_BY, a, 8192), CUDA_SUCCESS);
  EXPECT_EQ(by[0], 0);
  EXPECT_EQ(by[1], kCpu);
  EXPECT_EQ(by[2], kInvalidDevice);
  EXPECT_EQ(cuMemAdvise_v2(a, 8192, ADVISE_UNSET_ACCESSED_BY, kDevice), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRangeGetAttribute(by, sizeof by, RANGE_ACCESSED_BY, a, 8192), CUDA_SUCCESS);
  EXPECT_EQ(by[0], kCpu);

  // What comes next at the address starts without advice.
  EXPECT_EQ(cuMemAdvise_v2(a, 8192, ADVISE_SET_READ_MOSTLY, kDevice), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(a), CUDA_SUCCESS);
  const CUdeviceptr next = managed(8192);
  EXPECT_EQ(range(RANGE_READ_MOSTLY, next, 8192), 0);
}

TEST_F(Managed, PrefetchesAreRemembered) {
  const CUdeviceptr a = managed(8192);
  const CUstream s = stream();
  EXPECT_EQ(range(RANGE_LAST_PREFETCH_LOCATION, a, 8192), kInvalidDevice);
  EXPECT_EQ(cuMemPrefetchAsync_v2(a, 8192, kDevice, 0, s), CUDA_SUCCESS);
  EXPECT_EQ(range(RANGE_LAST_PREFETCH_LOCATION, a, 8192), 0);
  EXPECT_EQ(cuMemPrefetchAsync(a, 4096, kCpu, s), CUDA_SUCCESS);
  EXPECT_EQ(range(RANGE_LAST_PREFETCH_LOCATION_TYPE, a, 4096), LOCATION_HOST);
  EXPECT_EQ(range(RANGE_LAST_PREFETCH_LOCATION_ID, a, 4096), kCpu);
  EXPECT_EQ(range(RANGE_LAST_PREFETCH_LOCATION, a, 8192), kInvalidDevice);
  CUdeviceptr addresses[] = {a, a + 4096};
  std::size_t bytes[] = {4096, 4096}, first[] = {0, 1};
  CUmemLocation locations[] = {kDevice, kHost};
  EXPECT_EQ(cuMemPrefetchBatchAsync(addresses, bytes, 2, locations, first, 2, 0, s), CUDA_SUCCESS);
  EXPECT_EQ(range(RANGE_LAST_PREFETCH_LOCATION, a, 4096), 0);
  EXPECT_EQ(range(RANGE_LAST_PREFETCH_LOCATION, a + 4096, 4096), kCpu);
  EXPECT_EQ(cuMemPrefetchBatchAsync(addresses, bytes, 2, locations, first, 3, 0, s),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPrefetchAsync_v2(a, 8193, kDevice, 0, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPrefetchAsync_v2(a, 8192, {LOCATION_DEVICE, 3}, 0, s), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuMemPrefetchAsync_v2(a, 8192, kDevice, 1, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPrefetchAsync_v2(allocate(64), 64, kDevice, 0, s), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Managed, WhatIsDiscardedMayKeepItsContents) {
  const CUdeviceptr a = managed(8192);
  const CUstream s = stream();
  CUdeviceptr addresses[] = {a, a + 4096};
  std::size_t bytes[] = {4096, 4096}, first[] = {0};
  CUmemLocation place = kDevice;
  EXPECT_EQ(cuMemDiscardBatchAsync(addresses, bytes, 2, 0, s), CUDA_SUCCESS);
  EXPECT_EQ(cuMemDiscardBatchAsync(addresses, bytes, 2, 1, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(range(RANGE_LAST_PREFETCH_LOCATION, a, 8192), kInvalidDevice);
  EXPECT_EQ(cuMemDiscardAndPrefetchBatchAsync(addresses, bytes, 2, &place, first, 1, 0, s), CUDA_SUCCESS);
  EXPECT_EQ(range(RANGE_LAST_PREFETCH_LOCATION, a, 8192), 0);
  bytes[1] = 4097;
  EXPECT_EQ(cuMemDiscardBatchAsync(addresses, bytes, 2, 0, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemDiscardAndPrefetchBatchAsync(addresses, bytes, 2, &place, first, 1, 0, s),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Managed, TheHostsOwnMemoryTakesAdviceToo) {
  SKIP_ON_HARDWARE("does not reach it");
  std::vector<int> plain(100);
  const auto at = reinterpret_cast<CUdeviceptr>(plain.data());
  EXPECT_EQ(cuMemAdvise_v2(at, 400, ADVISE_SET_READ_MOSTLY, kDevice), CUDA_SUCCESS);
  int mostly = 0, device = 5;
  void* data[] = {&mostly, &device};
  std::size_t bytes[] = {4, 4};
  CUmem_range_attribute attributes[] = {RANGE_READ_MOSTLY, RANGE_PREFERRED_LOCATION};
  EXPECT_EQ(cuMemRangeGetAttributes(data, bytes, attributes, 2, at, 400), CUDA_SUCCESS);
  EXPECT_EQ(mostly, 1);
  EXPECT_EQ(device, kInvalidDevice);
  bytes[1] = 8;
  EXPECT_EQ(cuMemRangeGetAttributes(data, bytes, attributes, 2, at, 400), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemRangeGetAttribute(data[0], 3, RANGE_READ_MOSTLY, at, 400), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAdvise_v2(4096, 4096, ADVISE_SET_READ_MOSTLY, kDevice),
            CUDA_ERROR_INVALID_VALUE);  // not mapped
  EXPECT_EQ(cuMemAdvise_v2(at, 400, CUmem_advise(12), {}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAdvise_v2(at, 400, ADVISE_SET_PREFERRED_LOCATION, {LOCATION_DEVICE, 1}),
            CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuMemAdvise_v2(at, 400, ADVISE_UNSET_READ_MOSTLY, kDevice), CUDA_SUCCESS);
}

TEST_F(Managed, AttachmentIsChecked) {
  const CUdeviceptr a = managed(64);
  const CUstream s = stream();
  EXPECT_EQ(cuStreamAttachMemAsync(s, a, 0, MEM_ATTACH_SINGLE), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamAttachMemAsync(s, a, 64, MEM_ATTACH_HOST), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamAttachMemAsync(nullptr, a, 0, MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamAttachMemAsync(nullptr, a, 0, MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamAttachMemAsync(s, a, 32, MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamAttachMemAsync(s, a, 0, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamAttachMemAsync(s, allocate(64), 0, MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace raddle::driver
