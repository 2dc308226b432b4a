// Multicast objects: their team, memory bound to them, their mappings, multimem instructions on these.
#include <thread>

#include "driver_test.h"

namespace raddle::driver {
namespace {

using Values = std::vector<unsigned>;
constexpr std::size_t kPart = 2 << 20;
constexpr CUmemAllocationProp kMemory{ALLOCATION_PINNED, HANDLE_TYPE_NONE, kDevice};

class MulticastObjects : public Driver {
 protected:
  CUmemGenericAllocationHandle object(std::size_t units, bool complete = true) {
    const CUmulticastObjectProp prop{1, units * kPart, 0, 0};
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(cuMulticastCreate(&handle, &prop), CUDA_SUCCESS);
    if (complete) EXPECT_EQ(cuMulticastAddDevice(handle, 0), CUDA_SUCCESS);
    return handle;
  }
  CUmemGenericAllocationHandle memory(std::size_t units) {
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(cuMemCreate(&handle, units * kPart, &kMemory, 0), CUDA_SUCCESS);
    return handle;
  }
  CUdeviceptr mapped(CUmemGenericAllocationHandle handle, std::size_t units, std::size_t first = 0) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAddressReserve(&address, units * kPart, 0, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemMap(address, units * kPart, first * kPart, handle, 0), CUDA_SUCCESS);
    const CUmemAccessDesc access{kDevice, ACCESS_READ_WRITE};
    EXPECT_EQ(cuMemSetAccess(address, units * kPart, &access, 1), CUDA_SUCCESS);
    return address;
  }
  static unsigned word(CUdeviceptr address) {
    unsigned value = ~0u;
    EXPECT_EQ(cuMemcpyDtoH_v2(&value, address, sizeof value), CUDA_SUCCESS);
    return value;
  }
  static CUresult set(CUdeviceptr address, unsigned value) { return cuMemsetD32_v2(address, value, 1); }
};

TEST_F(MulticastObjects, AreMeasuredInUnits) {
  SKIP_ON_HARDWARE("a single GPU has none");
  int supported = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&supported, 132, 0), CUDA_SUCCESS);
  EXPECT_EQ(supported, 1);
  const CUmulticastObjectProp prop{1, 100, 0, 0};  // the size is what the caller will round up
  std::size_t unit = 0;
  EXPECT_EQ(cuMulticastGetGranularity(&unit, &prop, MULTICAST_GRANULARITY_MINIMUM), CUDA_SUCCESS);
  EXPECT_EQ(unit, kPart);
  EXPECT_EQ(cuMulticastGetGranularity(&unit, &prop, MULTICAST_GRANULARITY_RECOMMENDED), CUDA_SUCCESS);
  EXPECT_EQ(unit, kPart);
  EXPECT_EQ(cuMulticastGetGranularity(&unit, &prop, static_cast<CUmulticastGranularity_flags>(2)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastGetGranularity(nullptr, &prop, MULTICAST_GRANULARITY_MINIMUM),
            CUDA_ERROR_INVALID_VALUE);
  CUmemGenericAllocationHandle handle = 7;
  const auto create = [&](CUmulticastObjectProp wrong) { return cuMulticastCreate(&handle, &wrong); };
  EXPECT_EQ(create(prop), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create({1, 0, 0, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create({0, kPart, 0, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create({1, kPart, 0, 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create({2, kPart, 0, 0}), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(create({1, kPart, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0}), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMulticastCreate(&handle, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(handle, 7u);
}

TEST_F(MulticastObjects, HaveATeam) {
  SKIP_ON_HARDWARE("a single GPU has none");
  const auto handle = object(1, false);
  EXPECT_EQ(cuMulticastAddDevice(handle, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuMulticastAddDevice(handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastAddDevice(handle, 0), CUDA_ERROR_INVALID_VALUE);
  const auto plain = memory(1);
  EXPECT_EQ(cuMulticastAddDevice(plain, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastAddDevice(handle, 0), CUDA_ERROR_INVALID_VALUE);
}

// CUDA's manual: binding and mapping block until all devices have been added.
TEST_F(MulticastObjects, WaitForTheirTeam) {
  SKIP_ON_HARDWARE("a single GPU has none");
  const auto to_bind = object(1, false), to_map = object(1, false), plain = memory(1);
  std::atomic<int> done = 0;
  std::thread binds([&] {
    EXPECT_EQ(cuMulticastBindMem(to_bind, 0, plain, 0, kPart, 0), CUDA_SUCCESS);
    ++done;
  });
  std::thread maps([&] {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAddressReserve(&address, kPart, 0, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemMap(address, kPart, 0, to_map, 0), CUDA_SUCCESS);
    ++done;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(done, 0);
  EXPECT_EQ(cuMulticastAddDevice(to_bind, 0), CUDA_SUCCESS);
  binds.join();
  EXPECT_EQ(done, 1);
  EXPECT_EQ(cuMulticastAddDevice(to_map, 0), CUDA_SUCCESS);
  maps.join();
}

TEST_F(MulticastObjects, ShowTheMemoryThatIsBoundToThem) {
  SKIP_ON_HARDWARE("a single GPU has none");
  const auto handle = object(4), plain = memory(3);
  const CUdeviceptr own = mapped(plain, 3), before = mapped(handle, 4);
  EXPECT_EQ(cuMulticastBindMem(handle, 2 * kPart, plain, kPart, 2 * kPart, 0), CUDA_SUCCESS);
  const CUdeviceptr after = mapped(handle, 2, 2), part = mapped(handle, 1, 3);
  EXPECT_EQ(set(own + kPart + 8, 5), CUDA_SUCCESS);
  EXPECT_EQ(word(before + 2 * kPart + 8), 5u);
  EXPECT_EQ(word(after + 8), 5u);
  EXPECT_EQ(set(part + 16, 6), CUDA_SUCCESS);
  EXPECT_EQ(word(own + 2 * kPart + 16), 6u);
  // Memory stays while it is bound.
  EXPECT_EQ(cuMemUnmap(own, 3 * kPart), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(plain), CUDA_SUCCESS);
  EXPECT_EQ(word(after + 8), 5u);
  // So does the object while it is mapped.
  EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(word(part + 16), 6u);
  CUmemGenericAllocationHandle again = 0;
  EXPECT_EQ(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(part)), CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastUnbind(again, 0, 2 * kPart, 2 * kPart), CUDA_SUCCESS);
  EXPECT_NE(set(part + 16, 7), CUDA_SUCCESS);
}

TEST_F(MulticastObjects, HaveNoMemoryElsewhere) {
  SKIP_ON_HARDWARE("a single GPU has none");
  const auto handle = object(3), plain = memory(1);
  const CUdeviceptr address = mapped(handle, 3);
  EXPECT_EQ(set(address, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastBindMem(handle, kPart, plain, 0, kPart, 0), CUDA_SUCCESS);
  EXPECT_EQ(set(address, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(address + kPart, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32_v2(address + kPart, 1, kPart / 4 + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastUnbind(handle, 0, kPart, kPart), CUDA_SUCCESS);
  EXPECT_EQ(set(address + kPart, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastUnbind(handle, 0, kPart, kPart), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastBindMem(handle, 0, plain, 0, kPart, 0), CUDA_SUCCESS);
  EXPECT_EQ(word(address), 1u);
}

TEST_F(MulticastObjects, RefuseWhatTheyCannotBind) {
  SKIP_ON_HARDWARE("a single GPU has none");
  const auto handle = object(3), plain = memory(2);
  const auto bind = [&](std::size_t at, std::size_t from, std::size_t bytes, unsigned long long flags = 0) {
    return cuMulticastBindMem(handle, at, plain, from, bytes, flags);
  };
  EXPECT_EQ(bind(0, 0, kPart, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bind(0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bind(4096, 0, kPart), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bind(0, 4096, kPart), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bind(0, 0, kPart / 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bind(0, kPart, 2 * kPart), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bind(2 * kPart, 0, 2 * kPart), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bind(4 * kPart, 0, kPart), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastBindMem(plain, 0, plain, 0, kPart, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastBindMem(handle, 0, handle, 0, kPart, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastBindMem(handle, 0, 12345, 0, kPart, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(bind(kPart, 0, kPart), CUDA_SUCCESS);
  EXPECT_EQ(bind(0, 0, 2 * kPart), CUDA_ERROR_INVALID_VALUE) << "a part is bound";
  EXPECT_EQ(cuMulticastUnbind(handle, 1, kPart, kPart), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuMulticastUnbind(handle, 0, kPart, kPart / 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastUnbind(plain, 0, 0, kPart), CUDA_ERROR_INVALID_VALUE);
  CUmemAllocationProp props;
  EXPECT_EQ(cuMemGetAllocationPropertiesFromHandle(&props, handle), CUDA_ERROR_INVALID_VALUE);
  int descriptor = -1;
  EXPECT_EQ(cuMemExportToShareableHandle(&descriptor, handle, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MulticastObjects, BindMemoryByItsAddress) {
  SKIP_ON_HARDWARE("a single GPU has none");
  const auto handle = object(2), plain = memory(2);
  const CUdeviceptr own = mapped(plain, 1, 1), address = mapped(handle, 2);
  EXPECT_EQ(cuMulticastBindAddr(handle, kPart, own, kPart, 0), CUDA_SUCCESS);
  EXPECT_EQ(set(address + kPart + 4, 9), CUDA_SUCCESS);
  EXPECT_EQ(word(own + 4), 9u);
  EXPECT_EQ(cuMulticastBindAddr(handle, 0, own, 2 * kPart, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastBindAddr(handle, 0, own, kPart, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastBindAddr(handle, 0, own + 4096, kPart, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastBindAddr(handle, 0, 0, kPart, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastBindAddr(handle, 0, address + kPart, kPart, 0), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr other = 0;  // neither of cuMemCreate nor of a pool
  EXPECT_EQ(cuMemAlloc_v2(&other, 4 * kPart), CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastBindAddr(handle, 0, (other + kPart - 1) / kPart * kPart, kPart, 0),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MulticastObjects, BindMemoryOfAPool) {
  SKIP_ON_HARDWARE("a single GPU has none");
  const auto handle = object(1);
  const CUdeviceptr address = mapped(handle, 1);
  CUdeviceptr pooled = 0;
  ASSERT_EQ(cuMemAllocAsync(&pooled, 3 * kPart, nullptr), CUDA_SUCCESS);
  const CUdeviceptr whole = (pooled + kPart - 1) / kPart * kPart;
  EXPECT_EQ(set(whole + 12, 3), CUDA_SUCCESS);
  EXPECT_EQ(cuMulticastBindAddr(handle, 0, whole, kPart, 0), CUDA_SUCCESS);
  EXPECT_EQ(word(address + 12), 3u);
  EXPECT_EQ(set(address + 20, 4), CUDA_SUCCESS);
  EXPECT_EQ(word(whole + 20), 4u);
  EXPECT_EQ(cuMemFreeAsync(pooled, nullptr), CUDA_SUCCESS);
}

// PTX ISA, "multimem": stores and reductions go to all devices of the team, a load reduces what all have.
TEST_F(MulticastObjects, AreWhatMultimemInstructionsName) {
  SKIP_ON_HARDWARE("a single GPU has none");
  const char* const text = R"(.version 8.1
.target sm_90
.address_size 64
.visible .entry k(.param .u64 all, .param .u64 own) {
  .reg .b64 %all, %own;
  .reg .b32 %v;
  ld.param.u64 %all, [all];
  ld.param.u64 %own, [own];
  multimem.st.weak.global.u32 [%all], 40;
  multimem.red.relaxed.gpu.global.add.u32 [%all], 2;
  fence.proxy.alias;
  ld.global.u32 %v, [%own];
  st.global.u32 [%own+4], %v;
  fence.proxy.alias;
  multimem.ld_reduce.weak.global.add.u32 %v, [%all+4];
  add.u32 %v, %v, 1;
  st.global.u32 [%own+8], %v;
  ret;
}
)";
  const auto handle = object(1), plain = memory(1);
  CUdeviceptr all = mapped(handle, 1), own = mapped(plain, 1);
  EXPECT_EQ(cuMulticastBindMem(handle, 0, plain, 0, kPart, 0), CUDA_SUCCESS);
  CUmodule module = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, text), CUDA_SUCCESS);
  CUfunction function = nullptr;
  ASSERT_EQ(cuModuleGetFunction(&function, module, "k"), CUDA_SUCCESS);
  void* arguments[] = {&all, &own};
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(word(own), 42u);
  EXPECT_EQ(word(own + 4), 42u);
  EXPECT_EQ(word(own + 8), 43u);
  // Nothing is behind the addresses any more.
  EXPECT_EQ(cuMulticastUnbind(handle, 0, 0, kPart), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace
}  // namespace raddle::driver
