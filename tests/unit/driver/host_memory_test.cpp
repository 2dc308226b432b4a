// Pinned and registered host memory, unified addresses, what CUDA says of an address.
#include <sys/mman.h>

#include "driver_test.h"

namespace raddle::driver {
namespace {

using Values = std::vector<unsigned>;

CUdeviceptr number(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

template <class T>
T attribute(CUpointer_attribute which, CUdeviceptr address, CUresult wanted = CUDA_SUCCESS) {
  T value{};
  EXPECT_EQ(cuPointerGetAttribute(&value, which, address), wanted) << which;
  return value;
}

// proves: A-11a, A-12b, A-12d
TEST_F(Driver, APointerOfTheHostMeansTheSameInKernels) {
  SKIP_ON_HARDWARE("has memory of its own");
  // Memory that the driver has never heard of: a global, the stack, the heap.
  static unsigned global;
  global = 3;
  unsigned local = 4;
  const auto heap = std::make_unique<unsigned>(5);
  for (unsigned* each : {&global, &local, heap.get()}) {
    EXPECT_EQ(launch("scale", nullptr, number(each), 10u, 1u), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }
  EXPECT_EQ(global, 30u);
  EXPECT_EQ(local, 40u);
  EXPECT_EQ(*heap, 50u);
  // And device memory in the host: a pointer stored by the one is followed by the other.
  const CUdeviceptr a = upload({6});
  EXPECT_EQ(*reinterpret_cast<unsigned*>(a), 6u);
  *reinterpret_cast<unsigned*>(a) = 7;
  EXPECT_EQ(download(a, 1), Values{7});
}

TEST_F(Driver, HostMemoryIsRegisteredOnce) {
  Values values(5000, 1);
  const auto at = number(values.data());
  EXPECT_EQ(cuMemsetD32_v2(at, 2, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostUnregister(values.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_EQ(cuMemHostRegister_v2(values.data(), 16000, MEMHOSTREGISTER_DEVICEMAP), CUDA_SUCCESS);
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemHostGetDevicePointer_v2(&address, values.data() + 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(address, at + 4);
  EXPECT_EQ(cuMemsetD32_v2(at, 2, 1), CUDA_SUCCESS);
  EXPECT_EQ(launch("scale", nullptr, address, 7u, 1u), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(values[0], 2u);
  EXPECT_EQ(values[1], 7u);
  EXPECT_EQ(attribute<unsigned>(POINTER_MEMORY_TYPE, at), MEMORYTYPE_HOST);
  EXPECT_EQ(cuMemHostRegister_v2(values.data() + 10, 4, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(cuMemHostRegister_v2(values.data() + 3999, 100, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(cuMemHostUnregister(values.data() + 1), CUDA_ERROR_INVALID_VALUE);  // as an H200 answers
  EXPECT_EQ(cuMemFreeHost(values.data()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostUnregister(values.data()), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32_v2(at, 2, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostGetDevicePointer_v2(&address, values.data(), 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, DeviceMemoryMayComeWhereRegisteredMemoryWas) {
  SKIP_ON_HARDWARE("its addresses are not the host's");
  constexpr std::size_t kBytes = 1 << 20;
  const CUdeviceptr before = allocate(kBytes);  // where the next of its size will be, too
  ASSERT_EQ(cuMemFree_v2(before), CUDA_SUCCESS);
  const auto map = [&](int protection) {
    return mmap(reinterpret_cast<void*>(before), kBytes, protection,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  };
  void* const left = map(PROT_READ | PROT_WRITE);
  ASSERT_EQ(number(left), before);
  ASSERT_EQ(cuMemHostRegister_v2(left, kBytes, 0), CUDA_SUCCESS);
  ASSERT_EQ(number(map(PROT_NONE)), before);  // and never unregistered
  const CUdeviceptr a = allocate(kBytes);
  if (a != before) GTEST_SKIP() << "the host gave another address";
  EXPECT_EQ(attribute<unsigned>(POINTER_MEMORY_TYPE, a), MEMORYTYPE_DEVICE);
  EXPECT_EQ(cuMemFree_v2(a), CUDA_SUCCESS);
}

TEST_F(Driver, WhatIsNoHostMemoryIsNotRegistered) {
  Values values(4);
  EXPECT_EQ(cuMemHostRegister_v2(nullptr, 16, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister_v2(values.data(), 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister_v2(values.data(), 16, 0x10), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister_v2(values.data(), 16, MEMHOSTREGISTER_IOMEMORY), CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr device = allocate(64);
  EXPECT_EQ(cuMemHostRegister_v2(reinterpret_cast<void*>(device), 64, 0), CUDA_ERROR_INVALID_VALUE);
  void* hole = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_EQ(munmap(static_cast<char*>(hole) + 4096, 4096), 0);
  EXPECT_EQ(cuMemHostRegister_v2(hole, 8192, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister_v2(hole, 4096, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostUnregister(hole), CUDA_SUCCESS);
  munmap(hole, 4096);
  EXPECT_EQ(cuMemHostUnregister(nullptr), CUDA_ERROR_INVALID_VALUE);
}

// As programs do with files that they map: kernels only read it.
TEST_F(Driver, MemoryThatNobodyMayWriteIsRegisteredReadOnly) {
  auto* const page =
      static_cast<unsigned*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  page[1] = 7;
  ASSERT_EQ(mprotect(page, 4096, PROT_READ), 0);
  CUdeviceptr address = 0;
  ASSERT_EQ(cuMemHostRegister_v2(page, 4096, MEMHOSTREGISTER_READ_ONLY | MEMHOSTREGISTER_DEVICEMAP),
            CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostGetDevicePointer_v2(&address, page, 0), CUDA_SUCCESS);
  const CUdeviceptr to = upload({0});
  EXPECT_EQ(cuMemcpyDtoD_v2(to, address + 4, 4), CUDA_SUCCESS);
  EXPECT_EQ(download(to, 1), Values{7});
  EXPECT_EQ(launch("wait", nullptr, address + 4, to), CUDA_SUCCESS);  // reads it
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostUnregister(page), CUDA_SUCCESS);
  munmap(page, 4096);
}

TEST_F(Driver, PinnedMemoryKeepsItsFlagsAndServesAllContexts) {
  void* memory = nullptr;
  unsigned flags = 0;
  ASSERT_EQ(cuMemHostAlloc(&memory, 6000, MEMHOSTALLOC_PORTABLE | MEMHOSTALLOC_WRITECOMBINED), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostGetFlags(&flags, static_cast<char*>(memory) + 5999), CUDA_SUCCESS);
  EXPECT_EQ(flags, 7u);  // an H200: mapped without being asked (2026-11-26)
  EXPECT_EQ(cuMemHostGetFlags(&flags, &flags), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostGetFlags(nullptr, memory), CUDA_ERROR_INVALID_VALUE);
  const auto at = number(memory);
  EXPECT_EQ(attribute<CUdeviceptr>(POINTER_RANGE_START_ADDR, at + 10), at);
  EXPECT_EQ(attribute<std::size_t>(POINTER_RANGE_SIZE, at + 10), 6000u);
  EXPECT_EQ(attribute<void*>(POINTER_HOST_POINTER, at + 8), static_cast<char*>(memory) + 8);
  CUcontext other = nullptr;
  ASSERT_EQ(cuCtxCreate_v4(&other, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32_v2(at, 7, 2), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(static_cast<unsigned*>(memory)[1], 7u);
  EXPECT_EQ(attribute<CUcontext>(POINTER_CONTEXT, at), context);
  EXPECT_EQ(cuCtxDestroy_v2(other), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostGetFlags(&flags, memory), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, EveryAttributeOfDeviceMemory) {
  const CUdeviceptr a = allocate(100), b = allocate(100);
  EXPECT_EQ(attribute<CUdeviceptr>(POINTER_DEVICE_POINTER, a + 3), a + 3);
  attribute<void*>(POINTER_HOST_POINTER, a, CUDA_ERROR_INVALID_VALUE);
  if (!on_hardware()) attribute<unsigned long long>(POINTER_P2P_TOKENS, a, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_NE(attribute<unsigned long long>(POINTER_BUFFER_ID, a),
            attribute<unsigned long long>(POINTER_BUFFER_ID, b));
  if (!on_hardware())
    EXPECT_EQ(attribute<unsigned long long>(POINTER_BUFFER_ID, a),
              attribute<unsigned long long>(POINTER_MEMORY_BLOCK_ID, a + 99));
  EXPECT_EQ(attribute<bool>(POINTER_IS_MANAGED, a), false);
  EXPECT_EQ(attribute<bool>(POINTER_IS_IPC_CAPABLE, a), true);
  EXPECT_EQ(attribute<bool>(POINTER_MAPPED, a), true);
  EXPECT_EQ(attribute<unsigned long long>(POINTER_ALLOWED_HANDLE_TYPES, a), 0u);
  EXPECT_EQ(attribute<bool>(POINTER_IS_GPU_DIRECT_RDMA_CAPABLE, a), on_hardware());
  EXPECT_EQ(attribute<bool>(POINTER_IS_HW_DECOMPRESS_CAPABLE, a), on_hardware());
  EXPECT_EQ(attribute<int>(POINTER_ACCESS_FLAGS, a), ACCESS_READ_WRITE);
  EXPECT_EQ(attribute<CUmemoryPool>(POINTER_MEMPOOL_HANDLE, a), nullptr);
  EXPECT_EQ(attribute<std::size_t>(POINTER_MAPPING_SIZE, a), on_hardware() ? 2u << 20 : 100u);
  EXPECT_EQ(attribute<CUdeviceptr>(POINTER_MAPPING_BASE_ADDR, a + 5), a);
  attribute<unsigned long long>(CUpointer_attribute(99), a, CUDA_ERROR_INVALID_VALUE);
  const auto first = attribute<unsigned long long>(POINTER_BUFFER_ID, a);
  EXPECT_EQ(cuMemFree_v2(a), CUDA_SUCCESS);
  const CUdeviceptr again = allocate(100);
  EXPECT_NE(attribute<unsigned long long>(POINTER_BUFFER_ID, again), first);
}

TEST_F(Driver, SeveralAttributesAtOnceAlsoOfUnknownMemory) {
  const CUdeviceptr a = allocate(100);
  CUcontext owner = nullptr;
  unsigned type = 9;
  int ordinal = 9;
  void* host = &type;
  CUpointer_attribute attributes[] = {POINTER_CONTEXT, POINTER_MEMORY_TYPE, POINTER_DEVICE_ORDINAL,
                                      POINTER_HOST_POINTER};
  void* values[] = {&owner, &type, &ordinal, &host};
  EXPECT_EQ(cuPointerGetAttributes(4, attributes, values, a), CUDA_SUCCESS);
  EXPECT_EQ(owner, context);
  EXPECT_EQ(type, MEMORYTYPE_DEVICE);
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(host, nullptr);
  EXPECT_EQ(cuPointerGetAttributes(4, attributes, values, number(&type)), CUDA_SUCCESS);
  EXPECT_EQ(owner, nullptr);
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(ordinal, kInvalidDevice);
  EXPECT_EQ(cuPointerGetAttributes(0, attributes, values, a), CUDA_ERROR_INVALID_VALUE);
  values[2] = nullptr;
  EXPECT_EQ(cuPointerGetAttributes(4, attributes, values, a), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, MemoryMayWantItsFillsSynchronous) {
  const CUdeviceptr gate = upload({0, 0}), a = upload({1});
  const unsigned on = 1, off = 0;
  EXPECT_EQ(attribute<bool>(POINTER_SYNC_MEMOPS, a), false);
  EXPECT_EQ(cuPointerSetAttribute(&on, POINTER_SYNC_MEMOPS, a), CUDA_SUCCESS);
  EXPECT_EQ(attribute<bool>(POINTER_SYNC_MEMOPS, a), true);
  EXPECT_EQ(attribute<bool>(POINTER_SYNC_MEMOPS, gate), false);
  EXPECT_EQ(cuMemsetD32_v2(a, 5, 1), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(*reinterpret_cast<unsigned*>(a), 5u);  // done when the call returned
  EXPECT_EQ(cuPointerSetAttribute(&off, POINTER_SYNC_MEMOPS, a), CUDA_SUCCESS);
  EXPECT_EQ(attribute<bool>(POINTER_SYNC_MEMOPS, a), false);
  EXPECT_EQ(cuPointerSetAttribute(&on, POINTER_IS_MANAGED, a), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuPointerSetAttribute(&on, POINTER_SYNC_MEMOPS, number(&on)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, NoOtherDeviceTakesTheMemoryAsADmaBuffer) {
  SKIP_ON_HARDWARE("other devices may");
  const CUdeviceptr a = allocate(4096);
  int descriptor = -7;
  EXPECT_EQ(cuMemGetHandleForAddressRange(&descriptor, a, 4096, RANGE_HANDLE_DMA_BUF, 0),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMemGetHandleForAddressRange(nullptr, a, 4096, RANGE_HANDLE_DMA_BUF, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(descriptor, -7);
}

}  // namespace
}  // namespace raddle::driver
