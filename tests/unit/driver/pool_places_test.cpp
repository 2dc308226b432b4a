// Pools of the host and of managed memory, and which pool a place has; what is known of memory without a
// context.
#include <unistd.h>

#include "driver_test.h"

namespace raddle::driver {
namespace {

constexpr CUmemLocation kHostPlace{LOCATION_HOST, 0}, kNodePlace{LOCATION_HOST_NUMA, 0},
    kNoPlace{LOCATION_INVALID, 0};

class PoolPlaces : public Driver {
 protected:
  static CUmemPoolProps properties(CUmemLocation location, CUmemAllocationType type = ALLOCATION_PINNED,
                                   CUmemAllocationHandleType handles = HANDLE_TYPE_NONE) {
    CUmemPoolProps props{};
    props.allocType = type;
    props.handleTypes = handles;
    props.location = location;
    return props;
  }
  static CUresult create(CUmemoryPool& pool, const CUmemPoolProps& props) {
    return cuMemPoolCreate(&pool, &props);
  }
  CUdeviceptr take(CUmemoryPool pool, std::size_t bytes = 4096) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAllocFromPoolAsync(&address, bytes, pool, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    return address;
  }
  template <class T>
  static T attribute(CUpointer_attribute which, CUdeviceptr address) {
    T value{};
    EXPECT_EQ(cuPointerGetAttribute(&value, which, address), CUDA_SUCCESS);
    return value;
  }
  static CUmemAccess_flags access(CUmemoryPool pool, CUmemLocation from) {
    CUmemAccess_flags flags = ACCESS_READ;
    EXPECT_EQ(cuMemPoolGetAccess(&flags, pool, &from), CUDA_SUCCESS);
    return flags;
  }
  static int range(CUmem_range_attribute which, CUdeviceptr address) {
    int value = -5;
    EXPECT_EQ(cuMemRangeGetAttribute(&value, sizeof value, which, address, 4096), CUDA_SUCCESS);
    return value;
  }
};

TEST_F(PoolPlaces, OfTheHostGiveMemoryThatKernelsAndTheHostUse) {
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(create(pool, properties(kHostPlace)), CUDA_SUCCESS);
  EXPECT_EQ(access(pool, kDevice), ACCESS_NONE);  // by the manual of cuMemPoolCreate
  EXPECT_EQ(access(pool, kHostPlace), ACCESS_READ_WRITE);
  const CUmemAccessDesc for_device{kDevice, ACCESS_READ_WRITE};
  ASSERT_EQ(cuMemPoolSetAccess(pool, &for_device, 1), CUDA_SUCCESS);
  EXPECT_EQ(access(pool, kDevice), ACCESS_READ_WRITE);

  const CUdeviceptr a = take(pool);
  auto* const seen = reinterpret_cast<volatile unsigned*>(a);
  seen[0] = 7;
  ASSERT_EQ(launch("scale", nullptr, a, 3u, 1u), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(seen[0], 21u);
  EXPECT_EQ(attribute<unsigned>(POINTER_MEMORY_TYPE, a), MEMORYTYPE_HOST);
  EXPECT_EQ(attribute<CUdeviceptr>(POINTER_HOST_POINTER, a), a);
  EXPECT_EQ(attribute<unsigned char>(POINTER_IS_MANAGED, a), 0);
  EXPECT_EQ(attribute<CUmemoryPool>(POINTER_MEMPOOL_HANDLE, a), pool);
  EXPECT_EQ(cuMemFreeHost(reinterpret_cast<void*>(a)), CUDA_ERROR_INVALID_VALUE);  // the pool's
  EXPECT_EQ(cuMemFreeAsync(a, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(take(pool), a);  // from the pool again
  EXPECT_EQ(cuMemFree_v2(a), CUDA_SUCCESS);
  // They take none of the device's memory.
  std::size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(cuMemGetInfo_v2(&before, &total), CUDA_SUCCESS);
  const CUdeviceptr large = take(pool, 64 << 20);
  ASSERT_EQ(cuMemGetInfo_v2(&after, &total), CUDA_SUCCESS);
  EXPECT_EQ(after, before);
  EXPECT_EQ(cuMemFree_v2(large), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
}

TEST_F(PoolPlaces, OfManagedMemoryGiveMemoryThatPrefersALocation) {
  CUmemoryPool pool = nullptr, anywhere = nullptr;
  CUmemPoolProps props = properties(kDevice, ALLOCATION_MANAGED);
  props.maxSize = 4096;  // which the manual ignores
  ASSERT_EQ(create(pool, props), CUDA_SUCCESS);
  ASSERT_EQ(create(anywhere, properties(kNoPlace, ALLOCATION_MANAGED)), CUDA_SUCCESS);
  EXPECT_EQ(access(pool, kDevice), ACCESS_READ_WRITE);
  EXPECT_EQ(access(pool, kHostPlace), ACCESS_READ_WRITE);

  const CUdeviceptr a = take(pool), b = take(anywhere), large = take(pool, 1 << 20);
  EXPECT_EQ(attribute<unsigned char>(POINTER_IS_MANAGED, a), 1);
  EXPECT_EQ(attribute<unsigned>(POINTER_MEMORY_TYPE, a), MEMORYTYPE_DEVICE);
  EXPECT_EQ(range(RANGE_PREFERRED_LOCATION, a), 0);
  EXPECT_EQ(range(RANGE_PREFERRED_LOCATION, b), kInvalidDevice);
  auto* const seen = reinterpret_cast<volatile unsigned*>(a);
  seen[0] = 5;
  ASSERT_EQ(launch("scale", nullptr, a, 5u, 1u), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(seen[0], 25u);
  // It takes advice as all managed memory does, and who gets it next has none of that.
  EXPECT_EQ(cuMemAdvise_v2(a, 4096, ADVISE_SET_READ_MOSTLY, kDevice), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAdvise_v2(a, 4096, ADVISE_SET_PREFERRED_LOCATION, kHostPlace), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPrefetchAsync_v2(a, 4096, kDevice, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(range(RANGE_READ_MOSTLY, a), 1);
  EXPECT_EQ(cuMemFreeAsync(a, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(take(pool), a);
  EXPECT_EQ(range(RANGE_READ_MOSTLY, a), 0);
  EXPECT_EQ(range(RANGE_PREFERRED_LOCATION, a), 0);
  for (const CUdeviceptr each : {a, b, large}) EXPECT_EQ(cuMemFree_v2(each), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolDestroy(anywhere), CUDA_SUCCESS);
}

TEST_F(PoolPlaces, HaveAPoolEach) {
  CUmemoryPool standard = nullptr, managed = nullptr, now = nullptr, own = nullptr;
  CUmemLocation place = kHostPlace;
  ASSERT_EQ(cuMemGetDefaultMemPool(&standard, &place, ALLOCATION_PINNED), CUDA_SUCCESS);
  ASSERT_EQ(cuMemGetDefaultMemPool(&managed, &place, ALLOCATION_MANAGED), CUDA_SUCCESS);
  EXPECT_NE(standard, managed);
  EXPECT_EQ(cuMemPoolDestroy(standard), CUDA_ERROR_INVALID_VALUE);
  place.id = 17;  // ignored
  ASSERT_EQ(cuMemGetMemPool(&now, &place, ALLOCATION_PINNED), CUDA_SUCCESS);
  EXPECT_EQ(now, standard);
  ASSERT_EQ(create(own, properties(kHostPlace)), CUDA_SUCCESS);
  ASSERT_EQ(cuMemSetMemPool(&place, ALLOCATION_PINNED, own), CUDA_SUCCESS);
  ASSERT_EQ(cuMemGetMemPool(&now, &place, ALLOCATION_PINNED), CUDA_SUCCESS);
  EXPECT_EQ(now, own);
  ASSERT_EQ(cuMemGetDefaultMemPool(&now, &place, ALLOCATION_PINNED), CUDA_SUCCESS);
  EXPECT_EQ(now, standard);
  // Of another place, and of another type.
  EXPECT_EQ(cuMemSetMemPool(&place, ALLOCATION_MANAGED, own), CUDA_ERROR_INVALID_VALUE);
  place = kDevice;
  EXPECT_EQ(cuMemSetMemPool(&place, ALLOCATION_PINNED, own), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceSetMemPool(0, own), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPoolDestroy(own), CUDA_SUCCESS);
  place = kHostPlace;
  ASSERT_EQ(cuMemGetMemPool(&now, &place, ALLOCATION_PINNED), CUDA_SUCCESS);
  EXPECT_EQ(now, standard);  // as if it had never been chosen
}

TEST_F(PoolPlaces, AreNotWhereTheManualHasNone) {
  CUmemoryPool pool = nullptr;
  constexpr auto kFile = HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  EXPECT_EQ(create(pool, properties(kHostPlace, ALLOCATION_PINNED, kFile)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(pool, properties(kDevice, ALLOCATION_MANAGED, kFile)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(pool, properties({LOCATION_HOST_NUMA_CURRENT, 0})), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(pool, properties({LOCATION_HOST_NUMA, 99})), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(pool, properties(kNoPlace)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(pool, properties({LOCATION_DEVICE, 99}, ALLOCATION_MANAGED)), CUDA_ERROR_INVALID_VALUE);
  int supported = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&supported, 144, 0), CUDA_SUCCESS);  // HOST_MEMORY_POOLS_SUPPORTED
  EXPECT_EQ(supported, 1);
}

TEST_F(PoolPlaces, OfANodeOfTheHostTravelToOtherProcesses) {
  SKIP_ON_HARDWARE("wants another process");
  CUmemoryPool pool = nullptr, other = nullptr, imported = nullptr, wrong = nullptr;
  const CUmemPoolProps props = properties(kNodePlace, ALLOCATION_PINNED, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  ASSERT_EQ(create(pool, props), CUDA_SUCCESS);
  ASSERT_EQ(create(other, props), CUDA_SUCCESS);
  const auto travel = [](CUmemoryPool from, CUmemoryPool& to) {
    int file = -1;
    ASSERT_EQ(cuMemPoolExportToShareableHandle(&file, from, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              CUDA_SUCCESS);
    ASSERT_EQ(
        cuMemPoolImportFromShareableHandle(&to, reinterpret_cast<void*>(static_cast<std::intptr_t>(file)),
                                           HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        CUDA_SUCCESS);
    close(file);
  };
  travel(pool, imported);
  travel(other, wrong);
  const CUdeviceptr a = take(pool);
  *reinterpret_cast<volatile unsigned*>(a) = 77;
  CUmemPoolPtrExportData data{};
  ASSERT_EQ(cuMemPoolExportPointer(&data, a), CUDA_SUCCESS);
  CUdeviceptr b = 0;
  EXPECT_EQ(cuMemPoolImportPointer(&b, wrong, &data), CUDA_ERROR_INVALID_VALUE);  // memory of another pool
  ASSERT_EQ(cuMemPoolImportPointer(&b, imported, &data), CUDA_SUCCESS);
  EXPECT_NE(a, b);
  EXPECT_EQ(*reinterpret_cast<volatile unsigned*>(b), 77u);
  // And on from there.
  CUmemPoolPtrExportData further{};
  CUdeviceptr c = 0;
  ASSERT_EQ(cuMemPoolExportPointer(&further, b), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolExportPointer(&further, b + 4), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuMemPoolImportPointer(&c, imported, &further), CUDA_SUCCESS);
  EXPECT_EQ(*reinterpret_cast<volatile unsigned*>(c), 77u);
  EXPECT_EQ(cuMemFree_v2(c), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(b), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(a), CUDA_SUCCESS);
  for (const CUmemoryPool each : {pool, other, imported, wrong})
    EXPECT_EQ(cuMemPoolDestroy(each), CUDA_SUCCESS);
}

TEST_F(PoolPlaces, MemoryIsKnownWithoutACurrentContext) {
  const CUdeviceptr a = allocate(64);
  CUcontext popped = nullptr;
  ASSERT_EQ(cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
  EXPECT_EQ(attribute<CUdeviceptr>(POINTER_RANGE_START_ADDR, a + 8), a);
  unsigned type = 9, plain = 0;
  CUpointer_attribute which[] = {POINTER_MEMORY_TYPE};
  void* values[] = {&type};
  EXPECT_EQ(cuPointerGetAttributes(1, which, values, a), CUDA_SUCCESS);
  EXPECT_EQ(type, MEMORYTYPE_DEVICE);
  EXPECT_EQ(cuPointerGetAttributes(1, which, values, reinterpret_cast<CUdeviceptr>(&plain)), CUDA_SUCCESS);
  EXPECT_EQ(type, 0u);
  ASSERT_EQ(cuCtxPushCurrent_v2(popped), CUDA_SUCCESS);
}

}  // namespace
}  // namespace raddle::driver
