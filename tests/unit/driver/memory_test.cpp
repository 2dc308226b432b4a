// Allocations, addresses, copies in all directions, fills.
#include "driver_test.h"

namespace raddle::driver {
namespace {

using Values = std::vector<unsigned>;

TEST_F(Driver, AllocatesAndFrees) {
  std::size_t before = 0, during = 0, total = 0;
  EXPECT_EQ(cuMemGetInfo_v2(&before, &total), CUDA_SUCCESS);
  const CUdeviceptr address = allocate(1 << 20);
  EXPECT_EQ(cuMemGetInfo_v2(&during, &total), CUDA_SUCCESS);
  EXPECT_GE(before - during, std::size_t{1} << 20);
  EXPECT_GE(total, before);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(cuMemGetAddressRange_v2(&base, &bytes, address + 100), CUDA_SUCCESS);
  EXPECT_EQ(base, address);
  EXPECT_EQ(bytes, std::size_t{1} << 20);
  EXPECT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemGetAddressRange_v2(&base, &bytes, address), CUDA_ERROR_NOT_FOUND);
  CUdeviceptr none = 7;
  EXPECT_EQ(cuMemAlloc_v2(&none, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(none, 0u);  // an H200 clears it (2026-11-26)
  none = 7;
  EXPECT_EQ(cuMemAlloc_v2(&none, ~std::size_t{0} >> 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(none, 0u);
}

TEST_F(Driver, PitchedRowsAreAligned) {
  CUdeviceptr address = 0;
  std::size_t pitch = 0, bytes = 0;
  EXPECT_EQ(cuMemAllocPitch_v2(&address, &pitch, 1000, 3, 4), CUDA_SUCCESS);
  EXPECT_EQ(pitch, 1024u);
  EXPECT_EQ(cuMemGetAddressRange_v2(nullptr, &bytes, address), CUDA_SUCCESS);
  EXPECT_GE(bytes, 3 * pitch);
  EXPECT_EQ(cuMemAllocPitch_v2(&address, &pitch, 1000, 3, 5), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocPitch_v2(&address, &pitch, ~std::size_t{0} >> 1, 4, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocPitch_v2(&address, &pitch, std::size_t{1} << 30, std::size_t{1} << 20, 4),
            CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(Driver, CopiesInEveryDirection) {
  const Values one{1, 2, 3}, two{4, 5, 6};
  const CUdeviceptr a = upload(one), b = upload(two);
  EXPECT_EQ(download(a, 3), one);
  EXPECT_EQ(cuMemcpyDtoD_v2(b, a, 8), CUDA_SUCCESS);
  EXPECT_EQ(download(b, 3), (Values{1, 2, 6}));
  Values host{7, 8, 9};
  const auto at = reinterpret_cast<CUdeviceptr>(host.data());
  EXPECT_EQ(cuMemcpy(a, at, 12), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 3), host);
  EXPECT_EQ(cuMemcpy(at, b, 12), CUDA_SUCCESS);
  EXPECT_EQ(host, (Values{1, 2, 6}));
}

TEST_F(Driver, CopiesInStreamsKeepTheirOrder) {
  const CUstream s = stream();
  const CUdeviceptr a = upload({1, 2, 3}), b = allocate(12), c = allocate(12);
  const Values host{10, 20, 30};
  Values back(3), again(3);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(a, host.data(), 12, s), CUDA_SUCCESS);
  EXPECT_EQ(launch("scale", s, a, 2u, 1u), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(b, a, 12, s), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAsync(c, b, 12, s), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(back.data(), b, 12, s), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(again.data()), c, 12, s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(back, (Values{20, 20, 30}));
  EXPECT_EQ(again, back);
}

TEST_F(Driver, BadCopiesAreRefused) {
  const CUdeviceptr a = upload({1, 2, 3});
  Values host(100);
  EXPECT_EQ(cuMemcpyDtoH_v2(host.data(), a, 400), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD_v2(reinterpret_cast<CUdeviceptr>(host.data()), host.data(), 4),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD_v2(0, host.data(), 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD_v2(a, nullptr, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host.data(), a, 400, nullptr), CUDA_ERROR_INVALID_VALUE);
  if (!on_hardware())
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(a, host.data(), 4, reinterpret_cast<CUstream>(0x12345678)),
              CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(download(a, 3), (Values{1, 2, 3}));
}

TEST_F(Driver, FillsWordsOfEachSize) {
  const CUdeviceptr a = upload({1, 1, 1, 1});
  EXPECT_EQ(cuMemsetD8_v2(a, 0xab, 3), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD16_v2(a + 4, 0x1234, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32_v2(a + 8, 0x89abcdef, 1), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 4), (Values{0xababab, 0x1234, 0x89abcdef, 1}));
  const CUstream s = stream();
  EXPECT_EQ(cuMemsetD8Async(a, 1, 4, s), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD16Async(a + 4, 2, 2, s), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(a + 8, 3, 2, s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 4), (Values{0x01010101, 0x00020002, 3, 3}));
  EXPECT_EQ(cuMemsetD32_v2(a + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD32_v2(a, 0, 5000), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, PinnedMemoryIsSeenByKernels) {
  void* memory = nullptr;
  CUdeviceptr address = 0;
  unsigned type = 0;
  ASSERT_EQ(cuMemAllocHost_v2(&memory, 64), CUDA_SUCCESS);
  auto* words = static_cast<unsigned*>(memory);
  EXPECT_EQ(cuMemHostGetDevicePointer_v2(&address, memory, 0), CUDA_SUCCESS);
  words[0] = 21;
  EXPECT_EQ(launch("scale", nullptr, address, 2u, 1u), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(words[0], 42u);
  EXPECT_EQ(cuMemsetD32_v2(address, 9, 2), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(words[1], 9u);
  EXPECT_EQ(cuPointerGetAttribute(&type, POINTER_MEMORY_TYPE, address), CUDA_SUCCESS);
  EXPECT_EQ(type, static_cast<unsigned>(MEMORYTYPE_HOST));
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostAlloc(&memory, 64, 2), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostAlloc(&memory, 64, 0x100), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, AddressesSayWhatTheyAre) {
  const CUdeviceptr a = allocate(100);
  CUcontext owner = nullptr;
  unsigned type = 0;
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  int ordinal = 7;
  EXPECT_EQ(cuPointerGetAttribute(&owner, POINTER_CONTEXT, a), CUDA_SUCCESS);
  EXPECT_EQ(owner, context);
  EXPECT_EQ(cuPointerGetAttribute(&type, POINTER_MEMORY_TYPE, a), CUDA_SUCCESS);
  EXPECT_EQ(type, static_cast<unsigned>(MEMORYTYPE_DEVICE));
  EXPECT_EQ(cuPointerGetAttribute(&start, POINTER_RANGE_START_ADDR, a + 10), CUDA_SUCCESS);
  EXPECT_EQ(start, a);
  EXPECT_EQ(cuPointerGetAttribute(&bytes, POINTER_RANGE_SIZE, a + 10), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 100u);
  EXPECT_EQ(cuPointerGetAttribute(&ordinal, POINTER_DEVICE_ORDINAL, a), CUDA_SUCCESS);
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(cuPointerGetAttribute(&type, POINTER_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&type)),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace raddle::driver
