// Initialisation, errors, entry points, devices and contexts.
#include <dlfcn.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "driver_test.h"

namespace raddle::driver {
namespace {

TEST(Uninitialised, CallsSaySo) {
  // In a child: other tests initialise this process.
  const pid_t child = fork();
  if (child == 0) {
    int count = 7;
    CUcontext context = nullptr;
    const bool right = cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED && count == 7 &&
                       cuCtxGetCurrent(&context) == CUDA_ERROR_NOT_INITIALIZED &&
                       cuInit(1) == CUDA_ERROR_INVALID_VALUE;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Driver, AForkedChildHasNoDriver) {
  const pid_t child = fork();
  if (child == 0) {
    std::size_t bytes = 0;
    CUdeviceptr address = 0;
    _exit(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                  cuMemAlloc_v2(&address, 4) == CUDA_ERROR_NOT_INITIALIZED &&
                  cuMemGetInfo_v2(&bytes, &bytes) == CUDA_ERROR_NOT_INITIALIZED
              ? 0
              : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Driver, VersionAndErrorTexts) {
  int version = 0;
  EXPECT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_EQ(version, 13000);
  const char* text = nullptr;
  EXPECT_EQ(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "an illegal memory access was encountered");
  EXPECT_EQ(cuGetErrorName(CUDA_ERROR_INVALID_HANDLE, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_INVALID_HANDLE");
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
  if (!on_hardware()) EXPECT_EQ(cuGetErrorString(CUDA_SUCCESS, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, EntryPointsByNameAndVersion) {
  void* found = nullptr;
  auto status = PROC_NOT_FOUND;
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAlloc", &found, 13000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(found, reinterpret_cast<void*>(&cuMemAlloc_v2));
  EXPECT_EQ(status, PROC_SUCCESS);
  EXPECT_EQ(cuGetProcAddress("cuCtxCreate", &found, 4000, 0), CUDA_SUCCESS);
  EXPECT_EQ(found, reinterpret_cast<void*>(&cuCtxCreate_v2));
  EXPECT_EQ(cuGetProcAddress_v2("cuLaunchKernel", &found, 12000, 2, &status), CUDA_SUCCESS);
  EXPECT_EQ(found, reinterpret_cast<void*>(&cuLaunchKernel_ptsz));
  EXPECT_EQ(cuGetProcAddress_v2("cuLaunchKernelEx", &found, 11000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(found, nullptr);
  EXPECT_EQ(status, PROC_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(cuGetProcAddress_v2("cuNothing", &found, 13000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, PROC_NOT_FOUND);
  EXPECT_EQ(cuGetProcAddress("cuNothing", &found, 13000, 0), CUDA_ERROR_NOT_FOUND);
}

TEST_F(Driver, WhatIsNotThereSaysSo) {
  SKIP_ON_HARDWARE("has it");
  EXPECT_EQ(cuGraphicsMapResources(), CUDA_ERROR_NOT_SUPPORTED);
  const void* table = this;
  const CUuuid id{};
  EXPECT_EQ(cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(table, nullptr);
}

TEST_F(Driver, OneDeviceOfTheModelledShape) {
  int count = 0, value = 0, major = 0, minor = 7, can = 7;
  CUdevice device = 7;
  char name[64] = "", bus[16] = "";
  std::size_t bytes = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(cuDeviceGet(&device, 0), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetName(name, sizeof name, 0), CUDA_SUCCESS);
  EXPECT_STREQ(name, on_hardware() ? "NVIDIA H200" : "Raddle h200");
  EXPECT_EQ(cuDeviceGetPCIBusId(bus, sizeof bus, 0), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_STREQ(bus, "0000:00:00.0");
  EXPECT_EQ(cuDeviceTotalMem_v2(&bytes, 0), CUDA_SUCCESS);
  EXPECT_GT(bytes, std::size_t{1} << 28);
  EXPECT_EQ(cuDeviceComputeCapability(&major, &minor, 0), CUDA_SUCCESS);
  EXPECT_EQ(major * 10 + minor, 90);
  EXPECT_EQ(cuDeviceCanAccessPeer(&can, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(can, 0);
  const int expected[][2] = {{1, 1024},  {8, 48 << 10}, {10, 32},        {16, 132},
                             {39, 2048}, {75, 9},       {97, 227 << 10}, {120, 1}};
  for (const auto& [attribute, wanted] : expected) {
    EXPECT_EQ(cuDeviceGetAttribute(&value, attribute, 0), CUDA_SUCCESS);
    EXPECT_EQ(value, wanted) << attribute;
  }
  EXPECT_EQ(cuDeviceGetAttribute(&value, 100000, 0), CUDA_ERROR_INVALID_VALUE);
  CUuuid id{}, second{};
  EXPECT_EQ(cuDeviceGetUuid(&id, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuDeviceGetUuid_v2(&second, 0), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(std::memcmp(id.bytes, "raddleh200", 10), 0);
  EXPECT_EQ(std::memcmp(&id, &second, sizeof id), 0);
}

TEST_F(Driver, ContextsStack) {
  CUcontext current = nullptr, second = nullptr, popped = nullptr;
  CUdevice device = 7;
  unsigned version = 0, flags = 7;
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, context);
  EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuCtxGetApiVersion(context, &version), CUDA_SUCCESS);
  EXPECT_EQ(version, 3020u);  // of contexts since the second form of their entries (an H200, 2026-11-26)
  EXPECT_EQ(cuCtxCreate_v2(&second, 4, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetFlags(&flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, 4u);
  EXPECT_EQ(cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, context);
  EXPECT_EQ(cuCtxDestroy_v2(second), CUDA_SUCCESS);  // current, so also popped
  EXPECT_EQ(cuCtxDestroy_v2(second),
            on_hardware() ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT);
  if (!on_hardware()) EXPECT_EQ(cuCtxSetCurrent(second), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  CUctxCreateParams parameters{};
  ASSERT_EQ(cuCtxCreate_v4(&second, &parameters, 0, 0), CUDA_SUCCESS);  // as samples do: nothing is asked for
  EXPECT_EQ(cuCtxDestroy_v2(second), CUDA_SUCCESS);
  SKIP_ON_HARDWARE("reads what is no parameters");
  parameters.cigParams = &flags;
  EXPECT_EQ(cuCtxCreate_v4(&second, &parameters, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
}

// A program may bring an LLVM of its own, of any version.
TEST(Library, BringsNoSharedLlvm) {
  std::vector<std::string> loaded;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* names) {
        static_cast<std::vector<std::string>*>(names)->push_back(object->dlpi_name);
        return 0;
      },
      &loaded);
  bool has_driver = false;
  for (const std::string& name : loaded) {
    has_driver |= name.find("libcuda.so") != std::string::npos;
    EXPECT_EQ(name.find("libLLVM"), std::string::npos) << name;
  }
  EXPECT_TRUE(has_driver);
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "LLVMContextCreate"), nullptr);
}

TEST_F(Driver, ThreadsHaveTheirOwnCurrentContext) {
  std::thread([&] {
    CUcontext current = context;
    EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, nullptr);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }).join();
}

TEST_F(Driver, ThePrimaryContextIsCounted) {
  unsigned flags = 7;
  int active = 7;
  CUcontext first = nullptr, again = nullptr;
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuDevicePrimaryCtxSetFlags_v2(0, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
  EXPECT_EQ(first, again);
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
  EXPECT_EQ(flags, 4u);
  EXPECT_EQ(active, 1);
  EXPECT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
  EXPECT_EQ(active, 0);
  if (!on_hardware()) EXPECT_EQ(cuCtxPushCurrent_v2(first), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Driver, DestroyingAContextEndsWhatItMade) {
  CUcontext second = nullptr;
  CUmodule gone = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleLoadData(&gone, kKernels), CUDA_SUCCESS);
  const CUstream old = stream();
  EXPECT_EQ(cuCtxDestroy_v2(second), CUDA_SUCCESS);
  CUfunction found = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&found, gone, "scale"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamSynchronize(old),
            on_hardware() ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Driver, Limits) {
  std::size_t value = 0;
  EXPECT_EQ(cuCtxGetLimit(&value, LIMIT_MALLOC_HEAP_SIZE), CUDA_SUCCESS);
  EXPECT_EQ(value, 8u << 20);
  EXPECT_EQ(cuCtxGetLimit(&value, LIMIT_STACK_SIZE), CUDA_SUCCESS);
  EXPECT_EQ(value, on_hardware() ? 1u << 10 : 16u << 10);
  EXPECT_EQ(cuCtxGetLimit(&value, static_cast<CUlimit>(99)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxSetLimit(static_cast<CUlimit>(99), 1), CUDA_ERROR_INVALID_VALUE);
  int least = 7, greatest = 7;
  EXPECT_EQ(cuCtxGetStreamPriorityRange(&least, &greatest), CUDA_SUCCESS);
  EXPECT_EQ(least, 0);
  EXPECT_LT(greatest, 0);
}

// What is wrong is said in one order, whatever the call: null pointers, the device, the current context,
// handles, and then what the call checks itself (ADR 41).
TEST_F(Driver, ChecksComeInOneOrder) {
  SKIP_ON_HARDWARE("follows handles");
  const auto wrong = reinterpret_cast<CUstream>(0x1234);
  const auto wrong_array = reinterpret_cast<CUarray>(0x1234);
  int priority = 0;
  CUdeviceptr address = 0;
  CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
  EXPECT_EQ(cuStreamGetPriority(wrong, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamGetPriority(wrong, &priority), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamWaitEvent(wrong, nullptr, 99), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamWaitEvent(nullptr, nullptr, 99), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMemAlloc_v2(&address, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuArrayGetMemoryRequirements(nullptr, wrong_array, 7), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuCtxPopCurrent_v2(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamGetPriority(wrong, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamGetPriority(wrong, &priority), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemAlloc_v2(&address, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuArrayGetMemoryRequirements(&needs, wrong_array, 7), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuArrayGetMemoryRequirements(&needs, wrong_array, 0), CUDA_ERROR_INVALID_CONTEXT);
}

// The table's own consistency: one symbol each, and every name found at its own version.
TEST_F(Driver, EverySymbolOnce) {
  const struct {
    const char *name, *symbol;
    int since;
  } all[] = {
#define EARLY_ENTRY(name, symbol, since, parameters, arguments) {#name, #symbol, since},
#define ENTRY EARLY_ENTRY
#define CONTEXT_ENTRY EARLY_ENTRY
#define STREAM_ENTRY(name, symbol, since, streams_since, variant, parameters, arguments) \
  {#name, #symbol, since},
#define MISSING(name, symbol, since) {#name, #symbol, since},
#define STREAM_MISSING(name, symbol, since, variant) {#name, #symbol, since},
#include "driver/entries.def"
#include "driver/missing.def"
#undef STREAM_MISSING
#undef MISSING
#undef STREAM_ENTRY
#undef CONTEXT_ENTRY
#undef ENTRY
#undef EARLY_ENTRY
  };
  std::set<std::string> symbols;
  for (const auto& [name, symbol, since] : all) {
    EXPECT_TRUE(symbols.insert(symbol).second) << symbol;
    void* found = nullptr;
    EXPECT_EQ(cuGetProcAddress(name, &found, since, 0), CUDA_SUCCESS) << symbol;
  }
  EXPECT_GT(symbols.size(), 500u);
}

}  // namespace
}  // namespace raddle::driver
