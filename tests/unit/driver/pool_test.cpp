// Stream-ordered allocation: order, reuse, statistics, thresholds; pools and who has them.
#include <unistd.h>

#include "driver_test.h"

namespace raddle::driver {
namespace {

using Values = std::vector<unsigned>;
constexpr CUmemPoolProps kPoolProps{ALLOCATION_PINNED, HANDLE_TYPE_NONE, kDevice};

class Pools : public Driver {
 protected:
  void SetUp() override {
    Driver::SetUp();
    ASSERT_EQ(cuMemPoolCreate(&pool, &kPoolProps), CUDA_SUCCESS);
    keep(~std::uint64_t{0});
    first = stream(STREAM_NON_BLOCKING);
    second = stream(STREAM_NON_BLOCKING);
  }
  void TearDown() override {
    EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
    Driver::TearDown();
  }
  void keep(std::uint64_t bytes) {
    EXPECT_EQ(cuMemPoolSetAttribute(pool, POOL_RELEASE_THRESHOLD, &bytes), CUDA_SUCCESS);
  }
  void set(CUmemPool_attribute attribute, int value) {
    EXPECT_EQ(cuMemPoolSetAttribute(pool, attribute, &value), CUDA_SUCCESS);
  }
  std::uint64_t get(CUmemPool_attribute attribute) {
    std::uint64_t value = 0;
    EXPECT_EQ(cuMemPoolGetAttribute(pool, attribute, &value), CUDA_SUCCESS);
    return value;
  }
  CUdeviceptr take(CUstream stream, std::size_t bytes = 4096) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAllocFromPoolAsync(&address, bytes, pool, stream), CUDA_SUCCESS);
    return address;
  }
  void block(CUstream stream) {
    gate = upload({0, 0});
    ASSERT_EQ(launch("wait", stream, gate, gate + 4), CUDA_SUCCESS);
  }
  void open() {
    const unsigned one = 1;
    const CUstream other = stream(STREAM_NON_BLOCKING);
    ASSERT_EQ(cuMemcpyHtoDAsync_v2(gate, &one, 4, other), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(other), CUDA_SUCCESS);
  }
  CUmemoryPool pool = nullptr;
  CUstream first = nullptr, second = nullptr;
  CUdeviceptr gate = 0;
};

TEST_F(Pools, AStreamUsesWhatItAllocatesAndFrees) {
  CUdeviceptr a = 0;
  ASSERT_EQ(cuMemAllocAsync(&a, 4000, first), CUDA_SUCCESS);
  Values back(1000);
  EXPECT_EQ(cuMemsetD32Async(a, 21, 1000, first), CUDA_SUCCESS);
  EXPECT_EQ(launch("scale", first, a, 2u, 1u), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(back.data(), a, 4000, first), CUDA_SUCCESS);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(cuMemGetAddressRange_v2(&base, &bytes, a + 8), CUDA_SUCCESS);
  EXPECT_EQ(base, a);
  EXPECT_GE(bytes, 4000u);
  EXPECT_EQ(cuMemFreeAsync(a + 4, first), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeAsync(a, first), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(a, first), CUDA_ERROR_INVALID_VALUE);          // twice
  EXPECT_EQ(cuMemsetD32Async(a, 0, 1, first), CUDA_ERROR_INVALID_VALUE);  // after its free
  EXPECT_EQ(cuStreamSynchronize(first), CUDA_SUCCESS);
  EXPECT_EQ(back[0], 42u);
  EXPECT_EQ(back[999], 21u);
  const CUdeviceptr plain = allocate(64);
  EXPECT_EQ(cuMemFreeAsync(plain, first), CUDA_SUCCESS);  // of no pool: an H200 takes it (2026-11-26)
  if (!on_hardware()) EXPECT_EQ(cuMemFree_v2(plain), CUDA_ERROR_INVALID_VALUE);
  a = 7;
  EXPECT_EQ(cuMemAllocAsync(&a, 0, first), CUDA_SUCCESS);
  EXPECT_EQ(a, 0u);
  EXPECT_EQ(cuMemAllocAsync(nullptr, 64, first), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocAsync(&a, ~std::size_t{0} / 2, first), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(Pools, FreedMemoryIsTheSameStreamsAtOnceAndOthersLater) {
  set(POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
  block(first);
  const CUdeviceptr a = take(first);
  EXPECT_EQ(cuMemFreeAsync(a, first), CUDA_SUCCESS);
  const CUdeviceptr other = take(second);  // the free is yet to happen
  EXPECT_NE(other, a);
  EXPECT_EQ(take(first), a);  // but in this stream it comes before
  EXPECT_EQ(cuMemFreeAsync(a, first), CUDA_SUCCESS);
  // A stream that waits for the free may have it too.
  CUevent event = nullptr;
  ASSERT_EQ(cuEventCreate(&event, EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(event, first), CUDA_SUCCESS);
  set(POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES, 0);
  const CUstream third = stream(STREAM_NON_BLOCKING);
  ASSERT_EQ(cuStreamWaitEvent(third, event, 0), CUDA_SUCCESS);
  EXPECT_NE(take(third), a);
  set(POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES, 1);
  EXPECT_EQ(take(third), a);
  EXPECT_EQ(cuMemFreeAsync(a, third), CUDA_SUCCESS);
  open();
  EXPECT_EQ(cuStreamSynchronize(third), CUDA_SUCCESS);
  set(POOL_REUSE_ALLOW_OPPORTUNISTIC, 0);
  SKIP_ON_HARDWARE("counts the host's wait as an order");
  const CUdeviceptr fresh = take(second);
  EXPECT_NE(fresh, a);
  set(POOL_REUSE_ALLOW_OPPORTUNISTIC, 1);
  EXPECT_EQ(take(second), a);
}

TEST_F(Pools, WhereThereIsNoOtherMemoryAStreamWaitsForAnothersFree) {
  SKIP_ON_HARDWARE("has units of 32 MiB");
  CUmemPoolProps small = kPoolProps;
  small.maxSize = 8192;
  CUmemoryPool bounded = nullptr;
  ASSERT_EQ(cuMemPoolCreate(&bounded, &small), CUDA_SUCCESS);
  CUdeviceptr a = 0, b = 0;
  block(first);
  ASSERT_EQ(cuMemAllocFromPoolAsync(&a, 8192, bounded, first), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAllocFromPoolAsync(&b, 512, bounded, first), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(cuMemFreeAsync(a, first), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAllocFromPoolAsync(&b, 8192, bounded, second), CUDA_SUCCESS);
  EXPECT_EQ(b, a);
  EXPECT_EQ(cuStreamQuery(second), CUDA_ERROR_NOT_READY);
  open();
  EXPECT_EQ(cuStreamSynchronize(second), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(b), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolDestroy(bounded), CUDA_SUCCESS);
}

TEST_F(Pools, CountWhatTheyHave) {
  EXPECT_EQ(get(POOL_USED_CURRENT), 0u);
  const CUdeviceptr a = take(first, 1000), b = take(first, 2000);
  EXPECT_EQ(get(POOL_USED_CURRENT), 3000u);
  const auto reserved = [](std::uint64_t bytes) { return on_hardware() ? std::uint64_t{32} << 20 : bytes; };
  EXPECT_EQ(get(POOL_RESERVED_CURRENT), reserved(1024u + 2048u));
  EXPECT_EQ(cuMemFreeAsync(a, first), CUDA_SUCCESS);
  EXPECT_EQ(get(POOL_USED_CURRENT), 2000u);
  EXPECT_EQ(get(POOL_USED_HIGH), 3000u);
  EXPECT_EQ(get(POOL_RESERVED_CURRENT), reserved(3072));
  std::uint64_t zero = 0, one = 1;
  EXPECT_EQ(cuMemPoolSetAttribute(pool, POOL_USED_HIGH, &one), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPoolSetAttribute(pool, POOL_USED_HIGH, &zero), CUDA_SUCCESS);
  EXPECT_EQ(get(POOL_USED_HIGH), 2000u);
  EXPECT_EQ(cuMemPoolSetAttribute(pool, POOL_USED_CURRENT, &zero), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeAsync(b, first), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(first), CUDA_SUCCESS);
  EXPECT_EQ(get(POOL_RESERVED_CURRENT), reserved(3072));  // below the threshold
  EXPECT_EQ(cuMemPoolTrimTo(pool, 2048), CUDA_SUCCESS);
  EXPECT_EQ(get(POOL_RESERVED_CURRENT), reserved(2048));
  EXPECT_EQ(get(POOL_RESERVED_HIGH), reserved(3072));
  EXPECT_EQ(cuMemPoolSetAttribute(pool, POOL_RESERVED_HIGH, &zero), CUDA_SUCCESS);
  EXPECT_EQ(get(POOL_RESERVED_HIGH), reserved(2048));
  EXPECT_EQ(cuMemPoolGetAttribute(pool, CUmemPool_attribute(77), &zero), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPoolGetAttribute(pool, POOL_USED_HIGH, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Pools, GiveBackAtSynchronisationsWhatExceedsTheThreshold) {
  std::size_t before = 0, during = 0, after = 0, total = 0;
  keep(0);
  ASSERT_EQ(cuMemGetInfo_v2(&before, &total), CUDA_SUCCESS);
  const CUdeviceptr a = take(first, 1 << 20);
  ASSERT_EQ(cuMemGetInfo_v2(&during, &total), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(before - during, std::size_t{1} << 20);
  EXPECT_EQ(cuMemFreeAsync(a, first), CUDA_SUCCESS);
  EXPECT_EQ(get(POOL_RESERVED_CURRENT), std::uint64_t{on_hardware() ? 32u : 1u} << 20);
  EXPECT_EQ(cuStreamSynchronize(first), CUDA_SUCCESS);
  EXPECT_EQ(get(POOL_RESERVED_CURRENT), 0u);
  ASSERT_EQ(cuMemGetInfo_v2(&after, &total), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(after, before);
}

TEST_F(Pools, OneOfThemIsTheDevices) {
  CUmemoryPool standard = nullptr, now = nullptr, of_address = nullptr;
  CUmemLocation place = kDevice;
  ASSERT_EQ(cuDeviceGetDefaultMemPool(&standard, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuDeviceGetMemPool(&now, 0), CUDA_SUCCESS);
  EXPECT_EQ(now, standard);
  EXPECT_EQ(cuDeviceSetMemPool(0, pool), CUDA_SUCCESS);
  EXPECT_EQ(cuMemGetMemPool(&now, &place, ALLOCATION_PINNED), CUDA_SUCCESS);
  EXPECT_EQ(now, pool);
  EXPECT_EQ(cuMemGetDefaultMemPool(&now, &place, ALLOCATION_PINNED), CUDA_SUCCESS);
  EXPECT_EQ(now, standard);
  CUdeviceptr a = 0;
  ASSERT_EQ(cuMemAllocAsync(&a, 64, first), CUDA_SUCCESS);
  EXPECT_EQ(cuPointerGetAttribute(&of_address, POINTER_MEMPOOL_HANDLE, a), CUDA_SUCCESS);
  EXPECT_EQ(of_address, pool);
  EXPECT_EQ(get(POOL_USED_CURRENT), 64u);
  EXPECT_EQ(cuMemSetMemPool(&place, ALLOCATION_PINNED, standard), CUDA_SUCCESS);
  EXPECT_EQ(cuDeviceGetMemPool(&now, 0), CUDA_SUCCESS);
  EXPECT_EQ(now, standard);
  EXPECT_EQ(cuMemFreeAsync(a, first), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolDestroy(standard), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetDefaultMemPool(&now, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceSetMemPool(0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemSetMemPool(nullptr, ALLOCATION_PINNED, standard), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Pools, DestroyedOnesLiveAsLongAsTheirMemory) {
  CUmemoryPool other = nullptr;
  ASSERT_EQ(cuMemPoolCreate(&other, &kPoolProps), CUDA_SUCCESS);
  CUdeviceptr a = 0;
  ASSERT_EQ(cuMemAllocFromPoolAsync(&a, 64, other, first), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolDestroy(other), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(cuMemPoolDestroy(other), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD32Async(a, 7, 1, first), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(first), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 1), Values{7});
  CUdeviceptr b = 0;
  EXPECT_EQ(cuMemAllocFromPoolAsync(&b, 64, other, first), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeAsync(a, first), CUDA_SUCCESS);
}

TEST_F(Pools, TravelByDescriptorAndPointer) {
  CUmemPoolProps shareable = kPoolProps;
  shareable.handleTypes = HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemoryPool exported = nullptr, imported = nullptr;
  ASSERT_EQ(cuMemPoolCreate(&exported, &shareable), CUDA_SUCCESS);
  CUdeviceptr a = 0, b = 0, none = 0;
  ASSERT_EQ(cuMemAllocFromPoolAsync(&a, 4000, exported, first), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(a, 5, 1000, first), CUDA_SUCCESS);
  int descriptor = -1;
  ASSERT_EQ(cuMemPoolExportToShareableHandle(&descriptor, exported, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolExportToShareableHandle(&descriptor, pool, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_ERROR_INVALID_VALUE);  // not made for it
  void* const travelled = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
  ASSERT_EQ(cuMemPoolImportFromShareableHandle(&imported, travelled, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_SUCCESS);
  close(descriptor);
  if (!on_hardware())
    EXPECT_EQ(cuMemPoolImportFromShareableHandle(&imported, travelled, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              CUDA_ERROR_INVALID_VALUE);
  CUmemPoolPtrExportData data{};
  ASSERT_EQ(cuMemPoolExportPointer(&data, a), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolExportPointer(&data, a + 4), CUDA_ERROR_INVALID_VALUE);
  SKIP_ON_HARDWARE("wants another process");
  ASSERT_EQ(cuMemPoolImportPointer(&b, imported, &data), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolImportPointer(&none, exported, &data), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(b, a);
  EXPECT_EQ(download(b, 1), Values{5});
  EXPECT_EQ(cuMemsetD32Async(a, 6, 1, first), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(first), CUDA_SUCCESS);
  EXPECT_EQ(download(b, 1000)[0], 6u);
  EXPECT_EQ(cuMemAllocFromPoolAsync(&none, 64, imported, first), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuIpcCloseMemHandle(b), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeAsync(b, first), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(b, first), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuMemPoolImportPointer(&b, imported, &data), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(b), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(a, first), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolDestroy(imported), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolDestroy(exported), CUDA_SUCCESS);
  data.reserved[0] ^= 1;
  EXPECT_EQ(cuMemPoolImportPointer(&b, imported, &data), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Pools, HaveAccessFromTheirDeviceAlways) {
  CUmemAccessDesc access{kDevice, ACCESS_READ_WRITE};
  CUmemAccess_flags flags = ACCESS_NONE;
  CUmemLocation place = kDevice;
  EXPECT_EQ(cuMemPoolSetAccess(pool, &access, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolGetAccess(&flags, pool, &place), CUDA_SUCCESS);
  EXPECT_EQ(flags, ACCESS_READ_WRITE);
  // As an H200 answers (2026-11-26).
  access.flags = ACCESS_NONE;
  EXPECT_EQ(cuMemPoolSetAccess(pool, &access, 1), CUDA_ERROR_INVALID_DEVICE);
  place.id = 1;
  EXPECT_EQ(cuMemPoolGetAccess(&flags, pool, &place), CUDA_ERROR_INVALID_VALUE);
  CUmemPoolProps bad = kPoolProps;
  CUmemoryPool none = nullptr;
  bad.handleTypes = HANDLE_TYPE_FABRIC;
  if (!on_hardware()) EXPECT_EQ(cuMemPoolCreate(&none, &bad), CUDA_ERROR_NOT_SUPPORTED);
  bad = kPoolProps;
  bad.reserved[3] = 1;
  EXPECT_EQ(cuMemPoolCreate(&none, &bad), CUDA_ERROR_INVALID_VALUE);
  bad = kPoolProps;
  bad.location.id = 4;
  EXPECT_EQ(cuMemPoolCreate(&none, &bad), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPoolTrimTo(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace raddle::driver
