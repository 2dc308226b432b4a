// Access of kernels to the memory of other devices.
#include "devices/several_devices.h"

namespace raddle::driver {
namespace {

/// With kernels kept to their own memory, by each engine.
std::vector<Environment> isolated() {
  std::vector<Environment> all;
  for (const char* mode : {"windowed", "modelled"})
    for (const std::string& engine : engines())
      all.push_back({{"RADDLE_DEVICE", "2xtiny"}, {"RADDLE_MMU", mode}, {"RADDLE_ENGINE", engine}});
  return all;
}

TEST(Peers, ErrorsAreCudas) {
  for (const char* mode : {"direct", "windowed", "modelled"})
    in_process({{"RADDLE_DEVICE", "2xtiny"}, {"RADDLE_MMU", mode}}, [] {
      const On zero(0), one(1);
      int can = 7, value = 7;
      EXPECT_EQ(cuDeviceCanAccessPeer(&can, 0, 1), CUDA_SUCCESS);
      EXPECT_EQ(can, 1);
      EXPECT_EQ(cuDeviceCanAccessPeer(&can, 1, 1), CUDA_SUCCESS);
      EXPECT_EQ(can, 0);
      EXPECT_EQ(cuDeviceCanAccessPeer(&can, 0, 2), CUDA_ERROR_INVALID_DEVICE);
      const int expected[] = {0, 1, 1, 0, 0};
      for (int attribute = 1; attribute <= 5; ++attribute) {
        EXPECT_EQ(cuDeviceGetP2PAttribute(&value, attribute, 0, 1), CUDA_SUCCESS);
        EXPECT_EQ(value, expected[attribute - 1]) << attribute;
      }
      EXPECT_EQ(cuDeviceGetP2PAttribute(&value, 2, 1, 1), CUDA_ERROR_INVALID_DEVICE);
      EXPECT_EQ(cuDeviceGetP2PAttribute(&value, 2, 0, 2), CUDA_ERROR_INVALID_DEVICE);
      EXPECT_EQ(cuDeviceGetP2PAttribute(&value, 6, 0, 1), CUDA_ERROR_INVALID_VALUE);
      one.use();
      EXPECT_EQ(cuCtxDisablePeerAccess(zero.context), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
      EXPECT_EQ(cuCtxEnablePeerAccess(zero.context, 1), CUDA_ERROR_INVALID_VALUE);
      EXPECT_EQ(cuCtxEnablePeerAccess(zero.context, 0), CUDA_SUCCESS);
      EXPECT_EQ(cuCtxEnablePeerAccess(zero.context, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
      EXPECT_EQ(cuCtxEnablePeerAccess(one.context, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED) << "its own";
      EXPECT_EQ(cuCtxDisablePeerAccess(zero.context), CUDA_SUCCESS);
      EXPECT_EQ(cuCtxDisablePeerAccess(zero.context), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
      const On another(1);
      EXPECT_EQ(cuCtxEnablePeerAccess(one.context, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED)
          << "the same device's";
      one.use();
      EXPECT_EQ(cuCtxEnablePeerAccess(zero.context, 0), CUDA_SUCCESS);
      EXPECT_EQ(cuCtxDestroy_v2(zero.context), CUDA_SUCCESS);
      EXPECT_EQ(cuCtxDisablePeerAccess(zero.context), CUDA_ERROR_INVALID_CONTEXT);
    });
}

/// A word of a pool that is of no device.
CUdeviceptr word_of(const CUmemPoolProps& props, CUmemoryPool& pool) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAllocFromPoolAsync(&address, 4096, pool, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  *reinterpret_cast<volatile unsigned*>(address) = 5;
  return address;
}

TEST(Peers, KernelsNeedAccessToPoolsOfTheHost) {
  for (const Environment& environment : isolated()) {
    in_process(environment, [] {
      const On zero(0), one(1);
      zero.use();
      CUmemoryPool pool = nullptr;
      const CUdeviceptr a = word_of({ALLOCATION_PINNED, HANDLE_TYPE_NONE, {LOCATION_HOST, 0}}, pool);
      EXPECT_EQ(zero.run("add", a, 1u), CUDA_ERROR_ILLEGAL_ADDRESS);
    });
    in_process(environment, [] {
      const On zero(0), one(1);
      zero.use();
      CUmemoryPool pool = nullptr;
      const CUdeviceptr a = word_of({ALLOCATION_PINNED, HANDLE_TYPE_NONE, {LOCATION_HOST, 0}}, pool);
      const CUmemAccessDesc access{{LOCATION_DEVICE, 1}, ACCESS_READ_WRITE};
      EXPECT_EQ(cuMemPoolSetAccess(pool, &access, 1), CUDA_SUCCESS);
      EXPECT_EQ(one.run("add", a, 1u), CUDA_SUCCESS);
      EXPECT_EQ(*reinterpret_cast<volatile unsigned*>(a), 6u);
    });
  }
}

TEST(Peers, PoolsOfManagedMemoryAreForAll) {
  for (const Environment& environment : isolated())
    in_process(environment, [] {
      const On zero(0), one(1);
      zero.use();
      CUmemoryPool pool = nullptr;
      const CUdeviceptr a = word_of({ALLOCATION_MANAGED, HANDLE_TYPE_NONE, {LOCATION_DEVICE, 1}}, pool);
      EXPECT_EQ(zero.run("add", a, 1u), CUDA_SUCCESS);
      EXPECT_EQ(one.run("add", a, 1u), CUDA_SUCCESS);
      EXPECT_EQ(*reinterpret_cast<volatile unsigned*>(a), 7u);
      zero.use();
      EXPECT_EQ(cuMemFreeAsync(a, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
    });
}

// proves: A-22c
TEST(Peers, KernelsNeedAccess) {
  for (const Environment& environment : isolated()) {
    in_process(environment, [] {
      const On zero(0), one(1);
      const CUdeviceptr a = zero.word(5);
      EXPECT_EQ(one.run("add", a, 1u), CUDA_ERROR_ILLEGAL_ADDRESS);
      EXPECT_EQ(zero.run("add", a, 1u), CUDA_SUCCESS);
      EXPECT_EQ(read(a), 6u);
    });
    in_process(environment, [] {
      const On zero(0), one(1);
      const CUdeviceptr a = zero.word(5), b = one.word(7);
      one.use();
      EXPECT_EQ(cuCtxEnablePeerAccess(zero.context, 0), CUDA_SUCCESS);
      EXPECT_EQ(one.run("add", a, 1u), CUDA_SUCCESS);
      EXPECT_EQ(one.run("add", b, 1u), CUDA_SUCCESS);
      const CUdeviceptr fresh = zero.word(1);  // allocated later
      EXPECT_EQ(one.run("add", fresh, 1u), CUDA_SUCCESS);
      EXPECT_EQ(read(a), 6u);
      EXPECT_EQ(read(fresh), 2u);
      zero.use();
      EXPECT_EQ(zero.run("fault", b), CUDA_ERROR_ILLEGAL_ADDRESS) << "it is one way";
      one.use();
      EXPECT_EQ(cuCtxDisablePeerAccess(zero.context), CUDA_SUCCESS);
      EXPECT_EQ(one.run("add", a, 1u), CUDA_ERROR_ILLEGAL_ADDRESS);
    });
  }
}

// Whatever instruction makes the access.
TEST(Peers, EachFormOfAccessIsChecked) {
  std::vector<Environment> all = isolated();
  all.push_back({{"RADDLE_DEVICE", "2xtiny"}, {"RADDLE_MMU", "windowed"}, {"RADDLE_ASYNC", "lazy"}});
  for (const Environment& environment : all)
    in_process(environment, [] {
      const On zero(0), one(1);
      const CUdeviceptr a = zero.allocate(16), b = one.word(100);
      const unsigned values[] = {5, 1, 2, 3};
      EXPECT_EQ(cuMemcpyHtoD_v2(a, values, sizeof values), CUDA_SUCCESS);
      one.use();
      EXPECT_EQ(cuCtxEnablePeerAccess(zero.context, 0), CUDA_SUCCESS);
      EXPECT_EQ(one.run("mix", a, b), CUDA_SUCCESS);
      EXPECT_EQ(read(b), 100u + 5 + 6 + 6 + 1 + 2 + 3);
      EXPECT_EQ(read(a), 6u);
      EXPECT_EQ(zero.run("mix", a, b), CUDA_ERROR_ILLEGAL_ADDRESS) << "b is no peer's";
      one.use();
      EXPECT_EQ(read(b), 123u);
    });
}

TEST(Peers, MisalignedAccessesToThemFault) {
  for (const Environment& environment : isolated())
    in_process(environment, [] {
      const On zero(0), one(1);
      const CUdeviceptr a = zero.word(5);
      one.use();
      EXPECT_EQ(cuCtxEnablePeerAccess(zero.context, 0), CUDA_SUCCESS);
      EXPECT_EQ(one.run("add", a + 2, 1u), CUDA_ERROR_MISALIGNED_ADDRESS);
    });
}

// What peers may access ends where it ends; what lay there may be anybody's later.
TEST(Peers, EndedContextsLeaveNothing) {
  for (const Environment& environment : isolated())
    in_process(environment, [] {
      const On zero(0), one(1);
      const CUdeviceptr a = zero.word(5);
      one.use();
      EXPECT_EQ(cuCtxEnablePeerAccess(zero.context, 0), CUDA_SUCCESS);
      EXPECT_EQ(one.run("add", a, 1u), CUDA_SUCCESS);
      EXPECT_EQ(cuCtxDestroy_v2(zero.context), CUDA_SUCCESS);
      const On other(0);
      other.word(9);
      EXPECT_EQ(one.run("add", a, 1u), CUDA_ERROR_ILLEGAL_ADDRESS);
    });
}

TEST(Peers, PinnedAndManagedMemoryIsForAll) {
  std::vector<Environment> all = isolated();
  all.push_back({{"RADDLE_DEVICE", "2xtiny"}});
  for (const Environment& environment : all)
    in_process(environment, [] {
      const On zero(0), one(1);
      void* pinned = nullptr;
      CUdeviceptr managed = 0;
      zero.use();
      EXPECT_EQ(cuMemHostAlloc(&pinned, 4096, 0), CUDA_SUCCESS);
      EXPECT_EQ(cuMemAllocManaged(&managed, 4096, MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
      *static_cast<unsigned*>(pinned) = 1;
      *reinterpret_cast<unsigned*>(managed) = 1;
      for (const On* on : {&zero, &one}) {
        EXPECT_EQ(on->run("add", reinterpret_cast<CUdeviceptr>(pinned), 1u), CUDA_SUCCESS);
        EXPECT_EQ(on->run("add", managed, 1u), CUDA_SUCCESS);
      }
      EXPECT_EQ(*static_cast<unsigned*>(pinned), 3u);
      EXPECT_EQ(*reinterpret_cast<unsigned*>(managed), 3u);
      zero.use();
      EXPECT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
      EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
      one.use();
      EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    });
}

TEST(Peers, PoolsAndMappingsGiveAccessByThemselves) {
  for (const Environment& environment : isolated()) {
    in_process(environment, [] {
      const On zero(0), one(1);
      CUmemoryPool pool = nullptr;
      CUdeviceptr pooled = 0;
      CUmemAccess_flags flags = ACCESS_READ;
      CUmemLocation at_one{LOCATION_DEVICE, 1};
      zero.use();
      EXPECT_EQ(cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
      EXPECT_EQ(cuMemAllocAsync(&pooled, 4, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(cuMemsetD32_v2(pooled, 1, 1), CUDA_SUCCESS);
      EXPECT_EQ(zero.run("add", pooled, 1u), CUDA_SUCCESS);
      EXPECT_EQ(cuMemPoolGetAccess(&flags, pool, &at_one), CUDA_SUCCESS);
      EXPECT_EQ(flags, ACCESS_NONE);
      const CUmemAccessDesc wanted{at_one, ACCESS_READ_WRITE}, none{at_one, ACCESS_NONE};
      const CUmemAccessDesc own{{LOCATION_DEVICE, 0}, ACCESS_NONE};
      EXPECT_EQ(cuMemPoolSetAccess(pool, &own, 1), CUDA_ERROR_INVALID_DEVICE);
      EXPECT_EQ(cuMemPoolSetAccess(pool, &wanted, 1), CUDA_SUCCESS);
      EXPECT_EQ(cuMemPoolGetAccess(&flags, pool, &at_one), CUDA_SUCCESS);
      EXPECT_EQ(flags, ACCESS_READ_WRITE);
      EXPECT_EQ(one.run("add", pooled, 1u), CUDA_SUCCESS);
      EXPECT_EQ(read(pooled), 3u);
      EXPECT_EQ(cuMemPoolSetAccess(pool, &none, 1), CUDA_SUCCESS);
      EXPECT_EQ(one.run("add", pooled, 1u), CUDA_ERROR_ILLEGAL_ADDRESS);
    });
    in_process(environment, [] {
      const On zero(0), one(1);
      constexpr std::size_t kBytes = 2 << 20;
      const CUmemAllocationProp props{ALLOCATION_PINNED, HANDLE_TYPE_NONE, {LOCATION_DEVICE, 0}};
      const CUmemAccessDesc at_zero{{LOCATION_DEVICE, 0}, ACCESS_READ_WRITE},
          at_one{{LOCATION_DEVICE, 1}, ACCESS_READ_WRITE};
      CUmemGenericAllocationHandle memory = 0;
      CUdeviceptr address = 0;
      unsigned long long flags = 7;
      EXPECT_EQ(cuMemCreate(&memory, kBytes, &props, 0), CUDA_SUCCESS);
      EXPECT_EQ(cuMemAddressReserve(&address, kBytes, 0, 0, 0), CUDA_SUCCESS);
      EXPECT_EQ(cuMemMap(address, kBytes, 0, memory, 0), CUDA_SUCCESS);
      EXPECT_EQ(cuMemSetAccess(address, kBytes, &at_zero, 1), CUDA_SUCCESS);
      EXPECT_EQ(zero.run("add", address, 1u), CUDA_SUCCESS);
      EXPECT_EQ(cuMemGetAccess(&flags, &at_one.location, address), CUDA_SUCCESS);
      EXPECT_EQ(flags, 0u);
      EXPECT_EQ(cuMemSetAccess(address, kBytes, &at_one, 1), CUDA_SUCCESS);
      EXPECT_EQ(one.run("add", address, 1u), CUDA_SUCCESS);
      EXPECT_EQ(read(address), 2u);
    });
    in_process(environment, [] {
      const On zero(0), one(1);
      CUdeviceptr pooled = 0;
      zero.use();
      EXPECT_EQ(cuMemAllocAsync(&pooled, 4, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
      one.use();
      EXPECT_EQ(cuCtxEnablePeerAccess(zero.context, 0), CUDA_SUCCESS);
      EXPECT_EQ(one.run("add", pooled, 1u), CUDA_ERROR_ILLEGAL_ADDRESS) << "pools have their own access";
    });
  }
}

}  // namespace
}  // namespace raddle::driver
