// Which devices a process sees, and that everything after the count agrees.
#include <cstring>
#include <set>
#include <thread>

#include "devices/several_devices.h"

namespace raddle::driver {
namespace {

const Environment kTwo{{"RADDLE_DEVICE", "2xtiny"}};

int attribute(int which, CUdevice device) {
  int value = -1;
  EXPECT_EQ(cuDeviceGetAttribute(&value, which, device), CUDA_SUCCESS);
  return value;
}

std::string pci_id(CUdevice device) {
  char id[32] = "";
  EXPECT_EQ(cuDeviceGetPCIBusId(id, sizeof id, device), CUDA_SUCCESS);
  return id;
}

std::string uuid(CUdevice device) {
  CUuuid id{};
  EXPECT_EQ(cuDeviceGetUuid_v2(&id, device), CUDA_SUCCESS);
  return {id.bytes, sizeof id.bytes};
}

// proves: A-22a, A-22b
TEST(Devices, AlikeAndDifferent) {
  in_process({{"RADDLE_DEVICE", "2xtiny,a100"}}, [] {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    int count = 0;
    EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
    ASSERT_EQ(count, 3);
    CUdevice device = 7;
    EXPECT_EQ(cuDeviceGet(&device, 2), CUDA_SUCCESS);
    EXPECT_EQ(device, 2);
    EXPECT_EQ(cuDeviceGet(&device, 3), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
    const char* names[] = {"Raddle tiny", "Raddle tiny", "Raddle a100"};
    const int sms[] = {2, 2, 108}, capabilities[] = {90, 90, 80};
    std::set<std::string> ids, uuids;
    for (CUdevice each = 0; each < count; ++each) {
      char name[64] = "";
      int major = 0, minor = 0;
      std::size_t bytes = 0;
      EXPECT_EQ(cuDeviceGetName(name, sizeof name, each), CUDA_SUCCESS);
      EXPECT_STREQ(name, names[each]);
      EXPECT_EQ(attribute(16, each), sms[each]);
      EXPECT_EQ(cuDeviceComputeCapability(&major, &minor, each), CUDA_SUCCESS);
      EXPECT_EQ(major * 10 + minor, capabilities[each]);
      EXPECT_EQ(attribute(33, each), each) << "PCI bus";
      EXPECT_EQ(cuDeviceGetByPCIBusId(&device, pci_id(each).c_str()), CUDA_SUCCESS);
      EXPECT_EQ(device, each);
      EXPECT_EQ(cuDeviceTotalMem_v2(&bytes, each), CUDA_SUCCESS);
      EXPECT_GT(bytes, std::size_t{1} << 28);
      ids.insert(pci_id(each));
      uuids.insert(uuid(each));
    }
    EXPECT_EQ(ids.size(), 3u);
    EXPECT_EQ(uuids.size(), 3u);
  });
}

TEST(Devices, MemoryIsTheHostsOnce) {
  std::size_t alone = 0;
  const auto total = [](const char* devices) {
    int ends[2] = {};
    EXPECT_EQ(pipe(ends), 0);
    in_process({{"RADDLE_DEVICE", devices}}, [&] {
      ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
      int count = 0;
      EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
      std::size_t sum = 0, bytes = 0;
      for (CUdevice each = 0; each < count; ++each) {
        EXPECT_EQ(cuDeviceTotalMem_v2(&bytes, each), CUDA_SUCCESS);
        sum += bytes;
        CUcontext context = nullptr;
        std::size_t left = 0, all = 0;
        EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, each), CUDA_SUCCESS);
        EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
        EXPECT_EQ(cuMemGetInfo_v2(&left, &all), CUDA_SUCCESS);
        EXPECT_EQ(all, bytes);
      }
      EXPECT_EQ(write(ends[1], &sum, sizeof sum), static_cast<ssize_t>(sizeof sum));
    });
    std::size_t sum = 0;
    EXPECT_EQ(::read(ends[0], &sum, sizeof sum), static_cast<ssize_t>(sizeof sum));
    return sum;
  };
  alone = total("h200");
  EXPECT_LE(total("3xh200"), alone);
  EXPECT_GT(total("3xh200"), alone - (std::size_t{1} << 20));
}

TEST(Devices, VisibleOnes) {
  const std::vector<std::pair<const char*, std::vector<int>>> cases = {
      {"2,0", {2, 0}},
      {"1", {1}},
      {"0,3,1", {0}},
      {"", {}},
      {"-1,0", {}},
      {"0,0", {}},
      {" 1 , 2 ", {1, 2}},
      {"1gpu2,2", {1, 2}},
      {"nonsense", {}},
      {"0,GPU-7261", {0}},
      {"GPU-72616464-6c65-7469-6e79-000000000001,GPU-72616464-6c65-7469-6e79-000000000000", {1, 0}},
      {"GPU-72616464-6c65-6831", {}},
      {"GPU-72616464-6c65-6832", {2}}};
  for (const auto& [visible, wanted] : cases)
    in_process({{"RADDLE_DEVICE", "2xtiny,h200"}, {"CUDA_VISIBLE_DEVICES", visible}}, [&] {
      int count = 0;
      if (wanted.empty()) {
        EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE);
        EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
        return;
      }
      ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
      EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
      std::vector<int> found;
      for (CUdevice each = 0; each < count; ++each) found.push_back(attribute(33, each));
      EXPECT_EQ(found, wanted);
    });
}

TEST(Devices, WrongListsAreRefused) {
  for (const char* devices : {"tiny,", "0xtiny", "33xtiny", "tiny,nothing", "2xnothing"})
    in_process({{"RADDLE_DEVICE", devices}}, [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE); });
}

TEST(Devices, EachHasContextsOfItsOwn) {
  in_process(kTwo, [] {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    CUcontext first = nullptr, second = nullptr;
    unsigned flags = 7;
    int active = 7;
    EXPECT_EQ(cuDevicePrimaryCtxSetFlags_v2(1, 4), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxGetState(1, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(flags, 4u);
    EXPECT_EQ(active, 0);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&second, 1), CUDA_SUCCESS);
    EXPECT_NE(first, second);
    for (const auto& [context, number] : {std::pair(first, 0), std::pair(second, 1)}) {
      CUdevice device = 7;
      CUstream stream = nullptr;
      EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
      EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
      EXPECT_EQ(device, number);
      EXPECT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
      EXPECT_EQ(cuStreamGetDevice(stream, &device), CUDA_SUCCESS);
      EXPECT_EQ(device, number);
    }
    EXPECT_EQ(cuDevicePrimaryCtxReset_v2(1), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 1);
  });
}

// A fault on one device is no fault of the other.
TEST(Devices, KernelsAndCopiesOnEach) {
  in_process(kTwo, [] {
    const On zero(0), one(1);
    const CUdeviceptr a = zero.word(5), b = one.word(7);
    EXPECT_EQ(zero.run("add", a, 1u), CUDA_SUCCESS);
    EXPECT_EQ(one.run("add", b, 1u), CUDA_SUCCESS);
    EXPECT_EQ(read(a), 6u);
    EXPECT_EQ(read(b), 8u);
    for (const auto& [address, number] : {std::pair(a, 0), std::pair(b, 1)}) {
      int ordinal = 7;
      CUcontext context = nullptr;
      EXPECT_EQ(cuPointerGetAttribute(&ordinal, POINTER_DEVICE_ORDINAL, address), CUDA_SUCCESS);
      EXPECT_EQ(ordinal, number);
      EXPECT_EQ(cuPointerGetAttribute(&context, POINTER_CONTEXT, address), CUDA_SUCCESS);
      EXPECT_EQ(context, number == 0 ? zero.context : one.context);
    }
    EXPECT_EQ(one.run("fault", CUdeviceptr{64}), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(zero.run("add", a, 1u), CUDA_SUCCESS);
    EXPECT_EQ(read(a), 7u);
  });
}

TEST(Devices, MemoryCountsOnItsDevice) {
  in_process(kTwo, [] {
    const On zero(0), one(1);
    const std::size_t before[] = {left_on(0), left_on(1)};
    constexpr std::size_t kBytes = 64 << 20;
    one.allocate(kBytes);
    EXPECT_EQ(left_on(0), before[0]);
    EXPECT_LE(left_on(1), before[1] - kBytes);
    zero.use();
    CUmemGenericAllocationHandle physical = 0;
    const CUmemAllocationProp props{ALLOCATION_PINNED, HANDLE_TYPE_NONE, {LOCATION_DEVICE, 1}};
    EXPECT_EQ(cuMemCreate(&physical, kBytes, &props, 0), CUDA_SUCCESS);
    EXPECT_EQ(left_on(0), before[0]);
    EXPECT_LE(left_on(1), before[1] - 2 * kBytes);
    CUmemoryPool pools[2] = {};
    for (CUdevice each : {0, 1}) EXPECT_EQ(cuDeviceGetDefaultMemPool(&pools[each], each), CUDA_SUCCESS);
    EXPECT_NE(pools[0], pools[1]);
    EXPECT_EQ(cuDeviceSetMemPool(0, pools[1]), CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr pooled = 0;
    int ordinal = 7;
    EXPECT_EQ(cuMemAllocFromPoolAsync(&pooled, kBytes, pools[1], zero.stream()), CUDA_SUCCESS);
    EXPECT_EQ(cuPointerGetAttribute(&ordinal, POINTER_DEVICE_ORDINAL, pooled), CUDA_SUCCESS);
    EXPECT_EQ(ordinal, 1);
    EXPECT_LE(left_on(1), before[1] - 3 * kBytes);
    EXPECT_EQ(left_on(0), before[0]);
  });
}

TEST(Devices, CopiesBetween) {
  for (const char* mode : {"direct", "windowed", "modelled"})
    in_process({{"RADDLE_DEVICE", "tiny,a100"}, {"RADDLE_MMU", mode}}, [] {
      const On zero(0), one(1);
      const CUdeviceptr a = zero.word(5), b = one.word(7), c = one.word(0);
      EXPECT_EQ(cuMemcpyPeer(b, one.context, a, zero.context, 4), CUDA_SUCCESS);
      EXPECT_EQ(read(b), 5u);
      EXPECT_EQ(one.run("add", b, 1u), CUDA_SUCCESS);
      zero.use();
      EXPECT_EQ(cuMemcpy(a, b, 4), CUDA_SUCCESS);
      EXPECT_EQ(zero.run("add", a, 1u), CUDA_SUCCESS);
      const CUstream stream = one.stream();
      EXPECT_EQ(cuMemcpyPeerAsync(c, one.context, a, zero.context, 4, stream), CUDA_SUCCESS);
      EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
      EXPECT_EQ(read(c), 7u);
      CUDA_MEMCPY3D_PEER box{};
      box.srcMemoryType = box.dstMemoryType = MEMORYTYPE_DEVICE;
      box.srcDevice = c, box.dstDevice = a;
      box.srcContext = one.context, box.dstContext = zero.context;
      box.WidthInBytes = 4, box.Height = box.Depth = 1;
      EXPECT_EQ(cuMemsetD32_v2(c, 99, 1), CUDA_SUCCESS);
      EXPECT_EQ(cuMemcpy3DPeer(&box), CUDA_SUCCESS);
      EXPECT_EQ(read(a), 99u);
      zero.use();
      EXPECT_EQ(cuMemsetD32_v2(c, 3, 1), CUDA_SUCCESS);  // another device's
      EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
      EXPECT_EQ(read(c), 3u);
    });
}

// cuMemcpyPeer names no stream: it comes after what was given to either device, in whatever stream.
TEST(Devices, CopiesBetweenWaitForBoth) {
  in_process(kTwo, [] {
    const On zero(0), one(1);
    const CUdeviceptr a = zero.word(5), b = one.word(7);
    void* pinned = nullptr;
    EXPECT_EQ(cuMemHostAlloc(&pinned, 4, 0), CUDA_SUCCESS);
    auto* const go = static_cast<volatile unsigned*>(pinned);
    *go = 0;
    EXPECT_EQ(one.launch_in(one.stream(), "wait", reinterpret_cast<CUdeviceptr>(pinned), b), CUDA_SUCCESS);
    std::thread later([&] {
      usleep(50'000);
      *go = 42;
    });
    zero.use();
    EXPECT_EQ(cuMemcpyPeer(a, zero.context, b, one.context, 4), CUDA_SUCCESS);
    EXPECT_EQ(read(a), 42u);
    later.join();
  });
}

// CUDA C++ Programming Guide, "Stream and Event Behavior" of several devices.
TEST(Devices, StreamsAndEventsAcross) {
  in_process(kTwo, [] {
    const On zero(0), one(1);
    const CUstream on_zero = zero.stream(), on_one = one.stream();
    const CUevent of_zero = zero.event(), of_one = one.event(), also_of_zero = zero.event();
    const CUdeviceptr go = zero.word(0), seen = zero.word(0), later = one.word(1), value = zero.word(5);
    zero.use();
    void* none[] = {nullptr};
    EXPECT_EQ(cuLaunchKernel(zero.function("count"), 1, 1, 1, 1, 1, 1, 0, on_one, none, nullptr),
              CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuEventRecord(of_zero, on_one), CUDA_ERROR_INVALID_HANDLE);
    // A stream on device 1 waits for one on device 0, whichever is current.
    EXPECT_EQ(zero.launch_in(on_zero, "wait", go, seen), CUDA_SUCCESS);
    one.use();
    EXPECT_EQ(cuEventRecord(of_zero, on_zero), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitEvent(on_one, of_zero, 0), CUDA_SUCCESS);
    EXPECT_EQ(one.launch_in(on_one, "add", later, 1u), CUDA_SUCCESS);
    zero.use();
    EXPECT_EQ(cuMemcpyAsync(value, later, 4, on_one), CUDA_SUCCESS);
    EXPECT_EQ(cuEventRecord(of_one, on_one), CUDA_SUCCESS);
    EXPECT_EQ(cuEventQuery(of_one), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuStreamQuery(on_one), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuMemsetD32_v2(go, 1, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuEventSynchronize(of_one), CUDA_SUCCESS);
    EXPECT_EQ(read(value), 2u);
    EXPECT_EQ(read(seen), 1u);
    float time = 0;
    EXPECT_EQ(cuEventElapsedTime(&time, of_zero, of_one), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuEventRecord(also_of_zero, on_zero), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(on_zero), CUDA_SUCCESS);
    EXPECT_EQ(cuEventElapsedTime(&time, of_zero, also_of_zero), CUDA_SUCCESS);
  });
}

TEST(Devices, EachThreadHasItsOwn) {
  in_process(kTwo, [] {
    const On zero(0), one(1);
    std::vector<std::thread> threads;
    for (const On* on : {&zero, &one})
      threads.emplace_back([on] {
        const CUdeviceptr word = on->word(0);
        for (int i = 0; i < 200; ++i) EXPECT_EQ(on->run("add", word, 1u), CUDA_SUCCESS);
        CUdevice device = 7;
        EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
        EXPECT_EQ(device, on->device);
        EXPECT_EQ(read(word), 200u);
      });
    for (std::thread& each : threads) each.join();
  });
}

// Code and limits are the device's.
TEST(Devices, FunctionsKnowTheirDevice) {
  in_process({{"RADDLE_DEVICE", "tiny,a100"}}, [] {
    const On zero(0), one(1);
    const auto binary_version = [](const On& on) {
      int value = 0;
      on.use();
      EXPECT_EQ(cuFuncGetAttribute(&value, FUNC_BINARY_VERSION, on.function("add")), CUDA_SUCCESS);
      return value;
    };
    EXPECT_EQ(binary_version(zero), 90);
    EXPECT_EQ(binary_version(one), 80);
    int grid[2] = {}, block = 0;
    for (const On* on : {&zero, &one}) {
      on->use();
      EXPECT_EQ(
          cuOccupancyMaxPotentialBlockSize(&grid[on->device], &block, on->function("add"), nullptr, 0, 0),
          CUDA_SUCCESS);
    }
    EXPECT_EQ(grid[0] * 54, grid[1]) << "2 SMs and 108";
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    ASSERT_EQ(cuLibraryLoadData(&library, kKernels, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "add"), CUDA_SUCCESS);
    int value = 0;
    EXPECT_EQ(cuKernelSetAttribute(FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, 50000, kernel, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuKernelGetAttribute(&value, FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 1), CUDA_SUCCESS);
    EXPECT_EQ(value, 50000);
    EXPECT_EQ(cuKernelGetAttribute(&value, FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0), CUDA_SUCCESS);
    EXPECT_EQ(value, 48 << 10);
    EXPECT_EQ(cuKernelGetAttribute(&value, FUNC_BINARY_VERSION, kernel, 1), CUDA_SUCCESS);
    EXPECT_EQ(value, 80);
    EXPECT_EQ(cuKernelGetAttribute(&value, FUNC_BINARY_VERSION, kernel, 2), CUDA_ERROR_INVALID_DEVICE);
  });
}

// A library that only the newer device can run.
TEST(Devices, CodeForSomeDevicesOnly) {
  in_process({{"RADDLE_DEVICE", "a100,tiny"}}, [] {
    std::string newer = kKernels;
    newer.replace(newer.find("sm_80"), 5, "sm_90");
    const On zero(0), one(1);
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;
    CUmodule module = nullptr;
    ASSERT_EQ(cuLibraryLoadData(&library, newer.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
    ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "count"), CUDA_SUCCESS);
    EXPECT_EQ(cuKernelGetFunction(&function, kernel), CUDA_SUCCESS);
    zero.use();
    const CUresult older = cuModuleLoadData(&module, newer.c_str());
    CUfunction none = nullptr;
    EXPECT_EQ(cuKernelGetFunction(&none, kernel),
              older == CUDA_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU);
  });
}

}  // namespace
}  // namespace raddle::driver
