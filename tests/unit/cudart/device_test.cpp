// Devices, errors, versions; functions and libraries.
#include <thread>

#include "cudart_test.h"

namespace raddle::cudart {
namespace {

TEST(Devices, HaveProperties) {
  int count = 0, device = -1;
  OK(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, 1);
  cudaDeviceProp properties;
  OK(cudaGetDeviceProperties(&properties, 0));
  EXPECT_EQ(properties.warpSize, 32);
  EXPECT_EQ(properties.major, 9);
  EXPECT_EQ(properties.maxThreadsDim[2], 64);
  EXPECT_EQ(std::string(properties.name).substr(0, 6), "Raddle");
  EXPECT_GT(properties.totalGlobalMem, 1u << 20);
  int major = 0;
  OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  EXPECT_EQ(major, properties.major);
  cudaDeviceProp wish = {};
  wish.major = 9;
  OK(cudaChooseDevice(&device, &wish));
  EXPECT_EQ(device, 0);
  char id[32];
  OK(cudaDeviceGetPCIBusId(id, sizeof id, 0));
  OK(cudaDeviceGetByPCIBusId(&device, id));
  EXPECT_EQ(device, 0);
}

TEST(Devices, AreChosenPerThread) {
  int device = -1;
  OK(cudaSetDevice(0));
  OK(cudaGetDevice(&device));
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  OK(cudaInitDevice(0, 0, 0));
  OK(cudaInitDevice(0, 0, 8));  // flags that there are not are ignored, as on an H200
  int devices[] = {0, 7};
  OK(cudaSetValidDevices(devices, 1));
  EXPECT_EQ(cudaSetValidDevices(devices, 2), cudaErrorInvalidValue);
  unsigned flags = 0;
  OK(cudaSetDeviceFlags(cudaDeviceScheduleYield));
  OK(cudaGetDeviceFlags(&flags));
  EXPECT_EQ(flags & cudaDeviceScheduleMask, unsigned{cudaDeviceScheduleYield});
  EXPECT_EQ(cudaSetDeviceFlags(1u << 20), cudaErrorInvalidValue);
  OK(cudaSetDeviceFlags(cudaDeviceScheduleAuto));
}

TEST(Devices, KnowVersions) {
  int version = 0;
  OK(cudaRuntimeGetVersion(&version));
  EXPECT_EQ(version, 13000);
  OK(cudaDriverGetVersion(&version));
  EXPECT_EQ(version, 13000);
  OK(cudaProfilerStart());
  OK(cudaProfilerStop());
}

TEST(Devices, HaveLimits) {
  std::size_t bytes = 0;
  OK(cudaDeviceGetLimit(&bytes, cudaLimitStackSize));
  EXPECT_GT(bytes, 0u);
  OK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
  OK(cudaDeviceGetLimit(&bytes, cudaLimitStackSize));
  EXPECT_EQ(bytes, 4096u);
}

TEST(Devices, TakePreferencesOfCaches) {
  cudaSharedMemConfig banks;
  OK(cudaDeviceGetSharedMemConfig(&banks));
  EXPECT_EQ(banks, cudaSharedMemBankSizeFourByte);
  OK(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte));
  EXPECT_EQ(cudaDeviceSetSharedMemConfig(static_cast<cudaSharedMemConfig>(9)), cudaErrorInvalidValue);
  cudaFuncCache cache;
  OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
  OK(cudaDeviceGetCacheConfig(&cache));
  EXPECT_EQ(cache, cudaFuncCachePreferL1);
  OK(cudaCtxResetPersistingL2Cache());
}

TEST(Devices, AreNoPeersOfThemselves) {
  int can = 1;
  OK(cudaDeviceCanAccessPeer(&can, 0, 0));
  EXPECT_EQ(can, 0);
  EXPECT_NE(cudaDeviceEnablePeerAccess(0, 0), cudaSuccess);
  EXPECT_NE(cudaDeviceDisablePeerAccess(0), cudaSuccess);
  EXPECT_NE(cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrAccessSupported, 0, 0), cudaSuccess);
  (void)cudaGetLastError();
}

TEST(Errors, HaveNamesAndTexts) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidConfiguration), "invalid configuration argument");
  EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
  EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(12345)), "unrecognized error code");
}

TEST(Errors, LastOneIsTheThreads) {
  (void)cudaGetLastError();
  EXPECT_EQ(cudaMemcpy(nullptr, nullptr, 1, static_cast<cudaMemcpyKind>(77)),
            cudaErrorInvalidMemcpyDirection);
  std::thread([] { EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess); }).join();
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(Errors, EntriesThatAreNotThereSaySo) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaGraphicsUnregisterResource(nullptr), cudaErrorNotSupported);
  EXPECT_EQ(cudaGraphicsUnregisterResource(nullptr), cudaErrorNotSupported);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "raddle: cudaGraphicsUnregisterResource is not there yet: cudaErrorNotSupported "
            "(docs/generated/cudart.md)\n");
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
}

TEST_F(Runtime, FunctionsHaveAttributes) {
  cudaFuncAttributes attributes;
  OK(cudaFuncGetAttributes(&attributes, &scale));
  EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
  EXPECT_EQ(attributes.ptxVersion, 90);  // of kKernels; other targets are in the driver's tests
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, this), cudaErrorInvalidDeviceFunction);
  OK(cudaFuncSetAttribute(&scale, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10));
  OK(cudaFuncGetAttributes(&attributes, &scale));
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 64 << 10);
  OK(cudaFuncSetCacheConfig(&scale, cudaFuncCachePreferShared));
  OK(cudaFuncSetSharedMemConfig(&scale, cudaSharedMemBankSizeDefault));
  EXPECT_EQ(cudaFuncSetSharedMemConfig(&scale, static_cast<cudaSharedMemConfig>(5)), cudaErrorInvalidValue);
  const char* name = nullptr;
  OK(cudaFuncGetName(&name, &scale));
  EXPECT_STREQ(name, "scale");
  std::size_t offset = 0, bytes = 0;
  OK(cudaFuncGetParamInfo(&scale, 1, &offset, &bytes));
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(bytes, 4u);
}

TEST_F(Runtime, FunctionsFitSomeTimesOnAMultiprocessor) {
  int blocks = 0, with_flags = 0;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &scale, 512, 0));
  EXPECT_EQ(blocks, 4);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&with_flags, &scale, 512, 0,
                                                            cudaOccupancyDisableCachingOverride));
  EXPECT_EQ(with_flags, blocks);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, &scale, 512, 0, 6),
            cudaErrorInvalidValue);
  std::size_t bytes = 0;
  OK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, &scale, 2, 128));
  EXPECT_GT(bytes, 0u);
}

TEST_F(Runtime, ClustersFitSomeTimesOnADevice) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(2), config.blockDim = dim3(32);
  int blocks = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(&blocks, &scale, nullptr), cudaErrorInvalidValue);
  OK(cudaOccupancyMaxPotentialClusterSize(&blocks, &scale, &config));
  EXPECT_EQ(blocks, 8);
  OK(cudaOccupancyMaxActiveClusters(&blocks, &scale, &config));
  EXPECT_GT(blocks, 132) << "without a size each block is one";
  cudaLaunchAttribute size{};
  size.id = cudaLaunchAttributeClusterDimension;
  size.val.clusterDim.x = 2;
  size.val.clusterDim.y = size.val.clusterDim.z = 1;
  config.attrs = &size, config.numAttrs = 1;
  OK(cudaOccupancyMaxActiveClusters(&blocks, &scale, &config));
  EXPECT_GT(blocks, 132) << "several blocks on each of 132 multiprocessors";
  size.val.clusterDim.x = 16;
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(&blocks, &scale, &config), cudaErrorInvalidClusterSize);
  OK(cudaFuncSetAttribute(&scale, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  OK(cudaOccupancyMaxActiveClusters(&blocks, &scale, &config));
  cudaFuncAttributes attributes;
  OK(cudaFuncGetAttributes(&attributes, &scale));
  EXPECT_EQ(attributes.nonPortableClusterSizeAllowed, 1);
  EXPECT_EQ(attributes.requiredClusterWidth, 0);
}

TEST_F(Runtime, LaunchesByConfigurationAndCooperatively) {
  int* data;
  OK(cudaMallocManaged(reinterpret_cast<void**>(&data), 4, cudaMemAttachGlobal));
  *data = 1;
  unsigned three = 3;
  void* arguments[] = {&data, &three};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1), config.blockDim = dim3(1);
  OK(cudaLaunchKernelExC(&config, &scale, arguments));
  EXPECT_EQ(cudaLaunchKernelExC(nullptr, &scale, arguments), cudaErrorInvalidValue);
  config.blockDim = dim3(4096);
  EXPECT_EQ(cudaLaunchKernelExC(&config, &scale, arguments), cudaErrorInvalidValue);
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(*data, 3);
  OK(cudaLaunchCooperativeKernel(&scale, dim3(1), dim3(1), arguments, 0, nullptr));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(*data, 9);
}

TEST_F(Runtime, LibrariesHaveKernelsAndVariables) {
  cudaLibrary_t library;
  OK(cudaLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  unsigned count = 0;
  OK(cudaLibraryGetKernelCount(&count, library));
  EXPECT_EQ(count, 3u);
  cudaKernel_t kernels[3], kernel;
  OK(cudaLibraryEnumerateKernels(kernels, 3, library));
  OK(cudaLibraryGetKernel(&kernel, library, "scale"));
  EXPECT_EQ(cudaLibraryGetKernel(&kernel, library, "absent"), cudaErrorSymbolNotFound);
  OK(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024, 0));
  void *global = nullptr, *managed = nullptr;
  std::size_t bytes = 0;
  OK(cudaLibraryGetGlobal(&global, &bytes, library, "total"));
  EXPECT_EQ(bytes, 4u);
  unsigned four = 4;
  void* arguments[] = {&global, &four};
  OK(cudaLaunchKernel(kernel, dim3(1), dim3(1), arguments, 0, nullptr));  // a handle instead of a stand-in
  int value = 0;
  OK(cudaMemcpy(&value, global, 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(value, 20);
  OK(cudaLibraryGetManaged(&managed, &bytes, library, "both"));
  EXPECT_EQ(*static_cast<int*>(managed), 7);
  OK(cudaLibraryUnload(library));
  EXPECT_EQ(cudaLibraryLoadFromFile(&library, "/no/such.fatbin", nullptr, nullptr, 0, nullptr, nullptr, 0),
            cudaErrorFileNotFound);
  cudaFunction_t function;
  OK(cudaGetFuncBySymbol(&function, &scale));
  OK(cudaGetKernel(&kernel, &scale));
  EXPECT_EQ(cudaGetKernel(&kernel, this), cudaErrorInvalidDeviceFunction);
}

TEST(Driver, HasEntryPoints) {
  void *legacy = nullptr, *per_thread = nullptr;
  cudaDriverEntryPointQueryResult status;
  OK(cudaGetDriverEntryPoint("cuMemcpy", &legacy, cudaEnableLegacyStream, &status));
  EXPECT_EQ(status, cudaDriverEntryPointSuccess);
  OK(cudaGetDriverEntryPointByVersion("cuMemcpy", &per_thread, 13000, cudaEnablePerThreadDefaultStream,
                                      &status));
  EXPECT_NE(legacy, nullptr);
  EXPECT_NE(legacy, per_thread);
  OK(cudaGetDriverEntryPoint("cuNoSuchThing", &legacy, cudaEnableDefault, &status));
  EXPECT_EQ(status, cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(cudaGetDriverEntryPoint("cuMemcpy", &legacy, 5, &status), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace raddle::cudart
