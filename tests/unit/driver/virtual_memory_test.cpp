// Reserved addresses, memory without addresses, mappings, access, memory from elsewhere.
#include <sys/mman.h>
#include <unistd.h>

#include "driver_test.h"

namespace raddle::driver {
namespace {

using Values = std::vector<unsigned>;
constexpr CUmemAllocationProp kShareable{ALLOCATION_PINNED, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, kDevice};
constexpr std::size_t kUnit = 2 << 20;

class VirtualMemory : public Driver {
 protected:
  CUdeviceptr reserve(std::size_t units) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAddressReserve(&address, units * kUnit, 0, 0, 0), CUDA_SUCCESS);
    return address;
  }
  CUmemGenericAllocationHandle create(std::size_t units = 1) {
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(cuMemCreate(&handle, units * kUnit, &kShareable, 0), CUDA_SUCCESS);
    return handle;
  }
  CUresult grant(CUdeviceptr address, CUmemAccess_flags flags = ACCESS_READ_WRITE, std::size_t units = 1) {
    const CUmemAccessDesc access{kDevice, flags};
    return cuMemSetAccess(address, units * kUnit, &access, 1);
  }
  CUdeviceptr mapped() {
    const CUdeviceptr address = reserve(1);
    const auto handle = create();
    EXPECT_EQ(cuMemMap(address, kUnit, 0, handle, 0), CUDA_SUCCESS);
    EXPECT_EQ(grant(address), CUDA_SUCCESS);
    EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
    return address;
  }
  unsigned long long access(CUdeviceptr address, CUmemLocation location = kDevice) {
    unsigned long long flags = 99;
    EXPECT_EQ(cuMemGetAccess(&flags, &location, address), CUDA_SUCCESS);
    return flags;
  }
};

TEST_F(VirtualMemory, IsMeasuredInUnits) {
  std::size_t unit = 0;
  EXPECT_EQ(cuMemGetAllocationGranularity(&unit, &kShareable, GRANULARITY_MINIMUM), CUDA_SUCCESS);
  EXPECT_EQ(unit, kUnit);
  EXPECT_EQ(cuMemGetAllocationGranularity(&unit, &kShareable, GRANULARITY_RECOMMENDED), CUDA_SUCCESS);
  EXPECT_EQ(unit, kUnit);
  EXPECT_EQ(cuMemGetAllocationGranularity(&unit, nullptr, GRANULARITY_MINIMUM), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr address = 7;
  CUmemGenericAllocationHandle handle = 7;
  EXPECT_EQ(cuMemAddressReserve(&address, kUnit - 4096, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(&address, kUnit, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(&address, ~std::size_t{0} / kUnit * kUnit, 0, 0, 0),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemCreate(&handle, 100, &kShareable, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemCreate(&handle, std::size_t{1} << 60, &kShareable, 0), CUDA_ERROR_OUT_OF_MEMORY);
  CUmemAllocationProp bad = kShareable;
  bad.location.type = LOCATION_HOST;  // only nodes of the host have memory of this kind
  EXPECT_EQ(cuMemCreate(&handle, kUnit, &bad, 0), CUDA_ERROR_INVALID_VALUE);
  bad = kShareable;
  bad.requestedHandleTypes = HANDLE_TYPE_FABRIC;
  EXPECT_EQ(cuMemCreate(&handle, kUnit, &bad, 0),
            on_hardware() ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_NOT_SUPPORTED);
  bad = kShareable;
  bad.location.id = 1;
  EXPECT_EQ(cuMemCreate(&handle, kUnit, &bad, 0), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(address, 7u);
  EXPECT_EQ(handle, 7u);
  EXPECT_EQ(cuMemAddressReserve(&address, kUnit, 64 << 20, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(address % (64 << 20), 0u);
  EXPECT_EQ(cuMemAddressFree(address, 2 * kUnit), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(address, kUnit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(address, kUnit), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(VirtualMemory, MappedTwiceIsTheSameMemory) {
  std::size_t before = 0, during = 0, total = 0;
  ASSERT_EQ(cuMemGetInfo_v2(&before, &total), CUDA_SUCCESS);
  const auto handle = create();
  ASSERT_EQ(cuMemGetInfo_v2(&during, &total), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(before - during, kUnit);
  const CUdeviceptr a = reserve(1), b = reserve(1);
  EXPECT_EQ(cuMemMap(a, kUnit, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(b, kUnit, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(a, kUnit, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);  // taken
  EXPECT_EQ(grant(a), CUDA_SUCCESS);
  EXPECT_EQ(grant(b), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32_v2(a, 21, 4), CUDA_SUCCESS);
  EXPECT_EQ(launch("scale", nullptr, b, 2u, 1u), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 2), (Values{42, 21}));
  EXPECT_EQ(cuMemAddressFree(a, kUnit), CUDA_ERROR_INVALID_VALUE);  // mapped
  EXPECT_EQ(cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemUnmap(a, kUnit), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(cuMemUnmap(a, kUnit), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(download(b, 2), (Values{42, 21}));  // mappings keep the memory
  EXPECT_EQ(cuMemUnmap(b, kUnit), CUDA_SUCCESS);
  ASSERT_EQ(cuMemGetInfo_v2(&during, &total), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(during, before);
  EXPECT_EQ(cuMemAddressFree(a, kUnit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(b, kUnit), CUDA_SUCCESS);
}

TEST_F(VirtualMemory, PiecesThatFollowEachOtherAreOneRange) {
  SKIP_ON_HARDWARE("maps whole pieces of memory only");  // CUDA_ERROR_NOT_SUPPORTED
  const CUdeviceptr a = reserve(3);
  const auto one = create(), two = create(2);
  EXPECT_EQ(cuMemMap(a, kUnit, 0, one, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(a + kUnit, kUnit, kUnit, two, 0), CUDA_SUCCESS);  // its second half
  EXPECT_EQ(cuMemMap(a + 2 * kUnit, kUnit, 2 * kUnit, two, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemMap(a + 2 * kUnit, 2 * kUnit, 0, two, 0), CUDA_ERROR_INVALID_VALUE);  // past the reservation
  EXPECT_EQ(grant(a, ACCESS_READ_WRITE, 3), CUDA_ERROR_INVALID_VALUE);  // the third is not there
  EXPECT_EQ(grant(a, ACCESS_READ_WRITE, 2), CUDA_SUCCESS);
  const Values host{1, 2, 3, 4};
  EXPECT_EQ(cuMemcpyHtoD_v2(a + kUnit - 8, host.data(), 16), CUDA_SUCCESS);
  EXPECT_EQ(download(a + kUnit - 8, 4), host);
  CUdeviceptr base = 0;
  EXPECT_EQ(cuMemGetAddressRange_v2(&base, nullptr, a + kUnit), CUDA_SUCCESS);
  EXPECT_EQ(base, a + kUnit);
  EXPECT_EQ(cuMemUnmap(a, 2 * kUnit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(one), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(two), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(a, 3 * kUnit), CUDA_SUCCESS);
}

TEST_F(VirtualMemory, AccessIsWhatWasGranted) {
  const CUdeviceptr a = reserve(1);
  const auto handle = create();
  const unsigned value = 5;
  EXPECT_EQ(cuMemMap(a, kUnit, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(access(a), ACCESS_NONE);
  EXPECT_EQ(cuMemcpyHtoD_v2(a, &value, 4), CUDA_ERROR_INVALID_VALUE);  // no access: refused, not a crash
  EXPECT_EQ(cuMemsetD32_v2(a, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(grant(a), CUDA_SUCCESS);
  EXPECT_EQ(access(a + 100), ACCESS_READ_WRITE);
  if (!on_hardware()) EXPECT_EQ(access(a, {LOCATION_HOST, 0}), ACCESS_NONE);
  EXPECT_EQ(cuMemcpyHtoD_v2(a, &value, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(grant(a, ACCESS_READ), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 1), Values{5});
  if (!on_hardware()) {  // which faults: CUDA_ERROR_LAUNCH_FAILED
    EXPECT_EQ(cuMemcpyHtoD_v2(a, &value, 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemsetD32_v2(a, 1, 1), CUDA_ERROR_INVALID_VALUE);
  }
  int flags = 0;
  EXPECT_EQ(cuPointerGetAttribute(&flags, POINTER_ACCESS_FLAGS, a), CUDA_SUCCESS);
  EXPECT_EQ(flags, ACCESS_READ);
  CUmemAccessDesc bad{{LOCATION_DEVICE, 1}, ACCESS_READ};
  EXPECT_EQ(cuMemSetAccess(a, kUnit, &bad, 1), CUDA_ERROR_INVALID_VALUE);  // as an H200 answers
  bad = {kDevice, CUmemAccess_flags(2)};
  EXPECT_EQ(cuMemSetAccess(a, kUnit, &bad, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemUnmap(a, kUnit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(a, kUnit), CUDA_SUCCESS);
}

// proves: K-12f
TEST_F(VirtualMemory, AKernelThatWritesWithoutAccessFaultsThere) {
  const CUdeviceptr a = mapped();
  EXPECT_EQ(grant(a, ACCESS_READ), CUDA_SUCCESS);
  testing::internal::CaptureStderr();
  EXPECT_EQ(launch("fault", nullptr, a + 64), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  const std::string text = testing::internal::GetCapturedStderr();
  SKIP_ON_HARDWARE("says nothing");
  EXPECT_NE(text.find("64 bytes into mapped memory"), std::string::npos) << text;
  EXPECT_EQ(cuMemUnmap(a, kUnit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(a, kUnit), CUDA_SUCCESS);
}

TEST_F(VirtualMemory, AKernelThatReadsWhatWasUnmappedFaults) {
  const CUdeviceptr a = mapped(), q = upload({0});
  EXPECT_EQ(cuMemsetD32_v2(a, 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(launch("wait", nullptr, a, q), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuMemUnmap(a, kUnit), CUDA_SUCCESS);
  EXPECT_EQ(launch("wait", nullptr, a, q), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuMemAddressFree(a, kUnit), CUDA_SUCCESS);
}

TEST_F(VirtualMemory, HandlesAreCountedAndTellTheirMemory) {
  const CUdeviceptr a = mapped();  // whose handle was released
  CUmemGenericAllocationHandle one = 0, two = 0;
  CUmemAllocationProp props{};
  EXPECT_EQ(cuMemRetainAllocationHandle(&one, reinterpret_cast<void*>(a + 5)), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRetainAllocationHandle(&two, reinterpret_cast<void*>(a)), CUDA_SUCCESS);
  EXPECT_EQ(one, two);
  EXPECT_EQ(cuMemGetAllocationPropertiesFromHandle(&props, one), CUDA_SUCCESS);
  EXPECT_EQ(props.type, ALLOCATION_PINNED);
  EXPECT_EQ(props.requestedHandleTypes, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  EXPECT_EQ(cuMemRelease(one), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(one), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(one), CUDA_ERROR_INVALID_VALUE);
  SKIP_ON_HARDWARE("follows handles");
  EXPECT_EQ(cuMemGetAllocationPropertiesFromHandle(&props, one), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemRetainAllocationHandle(&one, &one), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemMap(reserve(1), kUnit, 0, 12345, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemUnmap(a, kUnit), CUDA_SUCCESS);
}

TEST_F(VirtualMemory, TravelsAsAFileDescriptor) {
  const auto handle = create();
  int descriptor = -1;
  EXPECT_EQ(cuMemExportToShareableHandle(&descriptor, handle, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(cuMemExportToShareableHandle(&descriptor, handle, HANDLE_TYPE_FABRIC, 0),
            CUDA_ERROR_INVALID_VALUE);  // not made for it
  CUmemGenericAllocationHandle other = 0;
  void* const shareable = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
  EXPECT_EQ(cuMemImportFromShareableHandle(&other, shareable, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_SUCCESS);
  EXPECT_NE(other, handle);
  close(descriptor);
  const CUdeviceptr a = reserve(1), b = reserve(1);
  EXPECT_EQ(cuMemMap(a, kUnit, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(b, kUnit, 0, other, 0), CUDA_SUCCESS);
  EXPECT_EQ(grant(a), CUDA_SUCCESS);
  EXPECT_EQ(grant(b), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32_v2(a, 77, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(download(b, 1), Values{77});
  for (const CUdeviceptr each : {a, b}) {
    EXPECT_EQ(cuMemUnmap(each, kUnit), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAddressFree(each, kUnit), CUDA_SUCCESS);
  }
  EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(other), CUDA_SUCCESS);

  CUmemAllocationProp own = kShareable;
  own.requestedHandleTypes = HANDLE_TYPE_NONE;
  CUmemGenericAllocationHandle stays = 0;
  ASSERT_EQ(cuMemCreate(&stays, kUnit, &own, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemExportToShareableHandle(&descriptor, stays, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemRelease(stays), CUDA_SUCCESS);
  SKIP_ON_HARDWARE("knows its own files");  // CUDA_ERROR_UNKNOWN
  // Files that could shrink below us are refused.
  const int plain = memfd_create("plain", 0);
  ASSERT_EQ(ftruncate(plain, kUnit), 0);
  EXPECT_EQ(cuMemImportFromShareableHandle(&other, reinterpret_cast<void*>(static_cast<std::intptr_t>(plain)),
                                           HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_ERROR_INVALID_VALUE);
  close(plain);
}

}  // namespace
}  // namespace raddle::driver
