// Modules, functions, launches, faults.
#include <array>

#include "base/file.h"
#include "driver/launch_attributes.h"
#include "driver_test.h"
#include "unit/source_directory.h"

namespace raddle::driver {
namespace {

using Values = std::vector<unsigned>;

TEST_F(Driver, LaunchesWithPointersToArguments) {
  const CUdeviceptr a = upload({1, 2, 3, 4, 5});
  unsigned factor = 10, count = 5;
  CUdeviceptr address = a;
  void* parameters[] = {&address, &factor, &count};
  EXPECT_EQ(cuLaunchKernel(function("scale"), 2, 1, 1, 4, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(download(a, 5), (Values{10, 20, 30, 40, 50}));
  EXPECT_EQ(cuLaunchKernel_ptsz(function("scale"), 2, 1, 1, 4, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(download(a, 5), (Values{100, 200, 300, 400, 500}));
}

TEST_F(Driver, LaunchesWithAParameterBuffer) {
  const CUdeviceptr a = upload({1, 2});
  struct {
    CUdeviceptr address;
    unsigned factor, count;
  } block{a, 3, 2};
  std::size_t bytes = sizeof block;
  void* extra[] = {reinterpret_cast<void*>(kLaunchParameterBuffer), &block,
                   reinterpret_cast<void*>(kLaunchParameterBytes), &bytes, nullptr};
  EXPECT_EQ(cuLaunchKernel(function("scale"), 1, 1, 1, 2, 1, 1, 0, nullptr, nullptr, extra), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 2), (Values{3, 6}));
  SKIP_ON_HARDWARE("takes a short buffer");
  bytes = 8;
  EXPECT_EQ(cuLaunchKernel(function("scale"), 1, 1, 1, 2, 1, 1, 0, nullptr, nullptr, extra),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, LaunchesWithAttributes) {
  const CUdeviceptr a = upload({1});
  CUdeviceptr address = a;
  unsigned factor = 3, count = 1;
  void* parameters[] = {&address, &factor, &count};
  CUlaunchAttribute attribute{8, {}, {}};  // priority
  CUlaunchConfig config{1, 1, 1, 1, 1, 1, 0, nullptr, &attribute, 1};
  EXPECT_EQ(cuLaunchKernelEx(&config, function("scale"), parameters, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 1), Values{3});
  config.attrs = nullptr;
  EXPECT_EQ(cuLaunchKernelEx(&config, function("scale"), parameters, nullptr), CUDA_ERROR_INVALID_VALUE);
}

// Every attribute that the header knows: honoured, harmless, or refused by name.
TEST_F(Driver, EveryLaunchAttributeHasItsMeaning) {
  const CUdeviceptr a = upload({1});
  CUdeviceptr address = a;
  unsigned factor = 2, count = 1, product = 1;
  void* parameters[] = {&address, &factor, &count};
  CUlaunchAttribute attribute{};
  CUlaunchConfig config{1, 1, 1, 1, 1, 1, 0, nullptr, &attribute, 1};
  const auto launch = [&](int id, const auto& value) {
    attribute = {id, {}, {}};
    std::memcpy(attribute.value, &value, sizeof value);
    const CUresult result = cuLaunchKernelEx(&config, function("scale"), parameters, nullptr);
    if (result == CUDA_SUCCESS) product *= 2;
    EXPECT_EQ(download(a, 1)[0], product) << id;
    return result;
  };
  for (const int id : {LAUNCH_IGNORE, LAUNCH_ACCESS_POLICY_WINDOW, LAUNCH_COOPERATIVE,
                       LAUNCH_CLUSTER_SCHEDULING_POLICY_PREFERENCE, LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION,
                       LAUNCH_PRIORITY, LAUNCH_MEM_SYNC_DOMAIN, LAUNCH_PREFERRED_SHARED_MEMORY_CARVEOUT,
                       LAUNCH_NVLINK_UTIL_CENTRIC_SCHEDULING})
    EXPECT_EQ(launch(id, 1), CUDA_SUCCESS) << id;
  // What follows an H200 answered so (2026-11-26), where the manual leaves it open.
  EXPECT_EQ(launch(LAUNCH_SYNCHRONIZATION_POLICY, 1), CUDA_ERROR_INVALID_VALUE) << "of streams only";
  EXPECT_EQ(launch(LAUNCH_CLUSTER_DIMENSION, std::array{1u, 1u, 1u}), CUDA_SUCCESS);
  EXPECT_EQ(launch(LAUNCH_CLUSTER_DIMENSION, std::array{2u, 1u, 1u}), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(launch(LAUNCH_CLUSTER_DIMENSION, std::array{1u, 0u, 1u}), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(launch(LAUNCH_PREFERRED_CLUSTER_DIMENSION, std::array{1u, 1u, 1u}),
            on_hardware() ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS)
      << "nothing to be preferred to";
  EXPECT_EQ(launch(LAUNCH_PREFERRED_CLUSTER_DIMENSION, std::array{1u, 1u, 0u}),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(launch(LAUNCH_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(LAUNCH_DEVICE_UPDATABLE_KERNEL_NODE, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(launch(LAUNCH_DEVICE_UPDATABLE_KERNEL_NODE, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(launch(15, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(99, 1), CUDA_ERROR_INVALID_VALUE);
  for (const int id : {LAUNCH_PROGRAMMATIC_EVENT, LAUNCH_LAUNCH_COMPLETION_EVENT}) {
    CUevent event = nullptr, timed = nullptr, shared = nullptr;
    EXPECT_EQ(cuEventCreate(&event, EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    EXPECT_EQ(cuEventCreate(&timed, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuEventCreate(&shared, EVENT_DISABLE_TIMING | EVENT_INTERPROCESS), CUDA_SUCCESS);
    EXPECT_EQ(launch(id, event), CUDA_SUCCESS);
    EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
    EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
    // Nothing starts where the event is wrong.
    const unsigned before = product;
    EXPECT_EQ(launch(id, timed), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(launch(id, shared), CUDA_ERROR_NOT_SUPPORTED);
    const struct {
      CUevent event;
      int flags, at_start;
    } external{event, 1, 0};
    EXPECT_EQ(launch(id, external), CUDA_ERROR_ILLEGAL_STATE);
    EXPECT_EQ(cuEventDestroy_v2(event), CUDA_SUCCESS);
    if (!on_hardware()) EXPECT_EQ(launch(id, event), CUDA_ERROR_INVALID_HANDLE) << "stale";
    product = before;
    EXPECT_EQ(cuEventDestroy_v2(timed), CUDA_SUCCESS);
    EXPECT_EQ(cuEventDestroy_v2(shared), CUDA_SUCCESS);
  }
}

/// Each thread counts itself and waits until all have: ends only if all blocks are resident. p[1]: the
/// workspace's first word.
constexpr const char* kMeeting = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry meet(.param .u64 p)
{
  .reg .pred %z; .reg .b32 %r<8>; .reg .b64 %d<5>;
  ld.param.u64 %d1, [p];
  mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2;
  mov.b64 %d2, {%r2, %r1};
  mov.u32 %r6, 0;
  setp.eq.u64 %z, %d2, 0;
  @%z bra plain;
  ld.u32 %r6, [%d2];
  atom.add.release.gpu.u32 %r3, [%d2+4], 1;
  mov.u32 %r4, %nctaid.x; mov.u32 %r7, %ntid.x; mul.lo.u32 %r4, %r4, %r7;
again:
  ld.acquire.gpu.u32 %r5, [%d2+4];
  setp.lt.u32 %z, %r5, %r4;
  @%z bra again;
plain:
  atom.global.add.u32 %r3, [%d1], 1;
  st.global.u32 [%d1+4], %r6;
  ret;
}
)";

// proves: K-7e
TEST_F(Driver, CooperativeLaunchesAreResidentAtOnce) {
  ASSERT_EQ(cuModuleLoadData(&module, kMeeting), CUDA_SUCCESS);
  const CUfunction meet = function("meet");
  const CUdeviceptr a = upload({0, 77});
  CUdeviceptr address = a;
  void* parameters[] = {&address};
  int per_sm = 0, sms = 0, supported = 0;
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, meet, 1024, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuDeviceGetAttribute(&sms, 16, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuDeviceGetAttribute(&supported, 95, 0), CUDA_SUCCESS);
  EXPECT_EQ(supported, 1);
  const auto most = static_cast<unsigned>(per_sm * sms);
  const auto cooperative = [&](unsigned blocks) {
    return cuLaunchCooperativeKernel(meet, blocks, 1, 1, 1024, 1, 1, 0, nullptr, parameters);
  };
  EXPECT_EQ(cooperative(16), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 2), (Values{16 * 1024, on_hardware() ? 16u : 8u}));  // the library's own workspace
  EXPECT_EQ(cuLaunchCooperativeKernel_ptsz(meet, 3, 1, 1, 32, 1, 1, 0, nullptr, parameters), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cooperative(most + 1), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  CUlaunchAttribute attribute{LAUNCH_COOPERATIVE, {}, {1}};
  CUlaunchConfig config{most + 1, 1, 1, 1024, 1, 1, 0, nullptr, &attribute, 1};
  EXPECT_EQ(cuLaunchKernelEx(&config, meet, parameters, nullptr), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  attribute.value[0] = 0;
  EXPECT_EQ(cuLaunchKernelEx(&config, meet, parameters, nullptr), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(download(a, 2)[1], 0u) << "no workspace";
  EXPECT_EQ(cooperative(0), CUDA_ERROR_INVALID_VALUE);
  SKIP_ON_HARDWARE("follows the handle");
  EXPECT_EQ(cuLaunchCooperativeKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters),
            CUDA_ERROR_INVALID_HANDLE);
}

/// Asks the device runtime for attribute `which`: p[0] the value, p[1] the result.
constexpr const char* kAsking = R"(
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 result) __cudaCDP2DeviceGetAttribute(.param .b64 a, .param .b32 b, .param .b32 c);
.visible .entry ask(.param .u64 p, .param .u32 which)
{
  .reg .b32 %r<3>; .reg .b64 %d;
  ld.param.u64 %d, [p]; ld.param.u32 %r1, [which];
  {
    .param .b64 a; .param .b32 b; .param .b32 c; .param .b32 result;
    st.param.b64 [a], %d; st.param.b32 [b], %r1; st.param.b32 [c], 0;
    call.uni (result), __cudaCDP2DeviceGetAttribute, (a, b, c);
    ld.param.b32 %r2, [result];
  }
  st.global.u32 [%d+4], %r2;
  ret;
}
)";

TEST_F(Driver, KernelsMayAskForAttributes) {
  SKIP_ON_HARDWARE("its device runtime comes from nvcc");
  ASSERT_EQ(cuModuleLoadData(&module, kAsking), CUDA_SUCCESS);
  int sms = 0;
  ASSERT_EQ(cuDeviceGetAttribute(&sms, 16, 0), CUDA_SUCCESS);
  const CUdeviceptr a = upload({9, 9});
  EXPECT_EQ(launch("ask", nullptr, a, 16), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 2), (Values{static_cast<unsigned>(sms), 0}));
  EXPECT_EQ(launch("ask", nullptr, a, 9999), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 2)[1], 1u) << "cudaErrorInvalidValue";
}

TEST_F(Driver, OccupancyIsWhatTheDistributorGrants) {
  const CUfunction tiles = function("tiles"), scale = function("scale");
  int grid = 0, block = 0, blocks = 0, sms = 0;
  std::size_t bytes = 0;
  ASSERT_EQ(cuDeviceGetAttribute(&sms, 16, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, tiles, 64, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 32);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, tiles, 64, 0, 2),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, tiles, 1025, 0), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 0);
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, scale, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid, 2 * sms);
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, scale, nullptr, 0, 100), CUDA_SUCCESS);
  EXPECT_EQ(block, 64) << "21 blocks of 96 are fewer threads than 32 of 64";
  EXPECT_EQ(grid, 32 * sms);
  const auto per_thread = [](int threads) { return static_cast<std::size_t>(threads) * 512; };
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, scale, per_thread, 0, 0, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(block, 32) << "13 blocks of 17 KiB: the function may have 48 KiB, not more";
  ASSERT_EQ(cuFuncSetAttribute(scale, FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 << 10), CUDA_SUCCESS);
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, scale, per_thread, 0, 0, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(block, 448) << "one block of 224 KiB";
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, nullptr, scale, nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, tiles, 2, 64), CUDA_SUCCESS);
  EXPECT_EQ(bytes, (48u << 10) - 2048) << "what the function may have";
  ASSERT_EQ(cuFuncSetAttribute(tiles, FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200 << 10), CUDA_SUCCESS);
  EXPECT_EQ(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, tiles, 2, 64), CUDA_SUCCESS);
  const unsigned reserved = on_hardware() ? 0 : 1024;  // without it, that many blocks do not fit
  EXPECT_EQ(bytes, (228u << 10) / 2 - reserved - 2048);
  for (const int each : {3, 5, 7}) {  // in units of 128 bytes
    EXPECT_EQ(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, tiles, each, 64), CUDA_SUCCESS);
    EXPECT_EQ(bytes, (228u << 10) / each / 128 * 128 - reserved - 2048) << each;
  }
  EXPECT_EQ(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, tiles, 33, 64), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, BadLaunchesAreRefused) {
  CUdeviceptr address = allocate(4);
  unsigned factor = 3, count = 0;
  void* parameters[] = {&address, &factor, &count};
  const CUfunction scale = function("scale");
  const auto launch = [&](unsigned grid, unsigned block, unsigned shared, CUstream stream, void** pointers) {
    return cuLaunchKernel(scale, grid, 1, 1, block, 1, 1, shared, stream, pointers, nullptr);
  };
  EXPECT_EQ(launch(0, 1, 0, nullptr, parameters), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 0, 0, nullptr, parameters), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1025, 0, nullptr, parameters), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 49 << 10, nullptr, parameters), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 0, nullptr, parameters), CUDA_SUCCESS);
  SKIP_ON_HARDWARE("follows handles");
  EXPECT_EQ(launch(1, 1, 0, reinterpret_cast<CUstream>(0x99), parameters), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(
      cuLaunchKernel(reinterpret_cast<CUfunction>(module), 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
      CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(1, 1, 0, nullptr, parameters), CUDA_SUCCESS);
}

TEST_F(Driver, FunctionsSayWhatTheyNeed) {
  int value = 7;
  const CUfunction tiles = function("tiles");
  const auto attribute = [&](CUfunction_attribute which) {
    EXPECT_EQ(cuFuncGetAttribute(&value, which, tiles), CUDA_SUCCESS);
    return value;
  };
  EXPECT_EQ(attribute(FUNC_SHARED_SIZE_BYTES), 2048);
  EXPECT_EQ(attribute(FUNC_MAX_THREADS_PER_BLOCK), 64);
  EXPECT_EQ(attribute(FUNC_LOCAL_SIZE_BYTES), 0);
  EXPECT_EQ(attribute(FUNC_CONST_SIZE_BYTES), 0);
  EXPECT_EQ(attribute(FUNC_BINARY_VERSION), 90);
  EXPECT_GE(attribute(FUNC_NUM_REGS), 1);
  EXPECT_EQ(attribute(FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES), (48 << 10) - 2048);
  EXPECT_EQ(cuFuncSetAttribute(tiles, FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200 << 10), CUDA_SUCCESS);
  EXPECT_EQ(attribute(FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES), 200 << 10);
  EXPECT_EQ(cuLaunchKernel(tiles, 1, 1, 1, 1, 1, 1, 100 << 10, nullptr, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncSetAttribute(tiles, FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 << 10),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(tiles, FUNC_NUM_REGS, 5), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetCacheConfig(tiles, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncSetCacheConfig(tiles, 99), CUDA_ERROR_INVALID_VALUE);
  int blocks = 0;
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, tiles, 64, 0), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 32);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, tiles, 1024, 100 << 10), CUDA_SUCCESS);
  EXPECT_EQ(blocks, 2);
  const char* name = nullptr;
  CUmodule owner = nullptr;
  EXPECT_EQ(cuFuncGetName(&name, tiles), CUDA_SUCCESS);
  EXPECT_STREQ(name, "tiles");
  EXPECT_EQ(cuFuncGetModule(&owner, tiles), CUDA_SUCCESS);
  EXPECT_EQ(owner, module);
}

// Libraries choose their code by it: CUB finds none for 90 in a program that was compiled for 75 alone.
TEST_F(Driver, FunctionsSayWhatTheyWereCompiledFor) {
  for (const auto& [target, version] : {std::pair{"sm_75", 75}, {"sm_80", 80}, {"sm_90a", 90}}) {
    const std::string text = std::string(".version 8.0\n.target ") + target + R"(
.address_size 64
.visible .entry nothing() { ret; })";
    CUmodule of = nullptr;
    CUfunction nothing = nullptr;
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    int of_function = 0, of_kernel = 0, binary = 0;
    ASSERT_EQ(cuModuleLoadData(&of, text.c_str()), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&nothing, of, "nothing"), CUDA_SUCCESS);
    EXPECT_EQ(cuFuncGetAttribute(&of_function, FUNC_PTX_VERSION, nothing), CUDA_SUCCESS);
    EXPECT_EQ(cuFuncGetAttribute(&binary, FUNC_BINARY_VERSION, nothing), CUDA_SUCCESS);
    ASSERT_EQ(cuLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
    ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "nothing"), CUDA_SUCCESS);
    EXPECT_EQ(cuKernelGetAttribute(&of_kernel, FUNC_PTX_VERSION, kernel, 0), CUDA_SUCCESS);
    EXPECT_EQ(of_function, version) << target;
    EXPECT_EQ(of_kernel, version) << target;
    EXPECT_EQ(binary, 90) << target;  // the device's: code is compiled when it is loaded
    EXPECT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
  }
}

TEST_F(Driver, ModulesHaveFunctionsAndVariables) {
  CUfunction none = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&none, module, "nothing"), CUDA_ERROR_NOT_FOUND);
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(cuModuleGetGlobal_v2(&address, &bytes, module, "total"), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(download(address, 1), Values{5});
  EXPECT_EQ(cuModuleGetGlobal_v2(&address, &bytes, module, "nothing"), CUDA_ERROR_NOT_FOUND);
  const CUfunction scale = function("scale");
  EXPECT_EQ(function("scale"), scale);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  SKIP_ON_HARDWARE("follows handles");
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
  int value = 0;
  EXPECT_EQ(cuFuncGetAttribute(&value, FUNC_NUM_REGS, scale), CUDA_ERROR_INVALID_HANDLE);
}

// proves: K-18a
TEST_F(Driver, ModulesComeInEveryWrapping) {
  SKIP_ON_HARDWARE("the files are elsewhere");
  const std::string directory = source_directory() + "/tests/data/fatbin/";
  const std::string fatbin = read_file(directory + "lz4.fatbin").value();
  struct {
    unsigned magic, version;
    const void *container, *prelinked;
  } wrapper{0x466243b1, 1, fatbin.data(), nullptr};
  const void* prelinked[] = {fatbin.data(), nullptr};
  CUmodule loaded = nullptr;
  CUfunction scale = nullptr;
  // An H200 takes neither object files nor wrappers, with CUDA_ERROR_INVALID_IMAGE.
  const auto works = [&](CUresult result) {
    const CUmodule module = std::exchange(loaded, nullptr);
    return result == CUDA_SUCCESS && cuModuleGetFunction(&scale, module, "scale") == CUDA_SUCCESS;
  };
  EXPECT_TRUE(works(cuModuleLoadData(&loaded, fatbin.data())));
  EXPECT_TRUE(works(cuModuleLoadFatBinary(&loaded, fatbin.data())));
  if (!on_hardware()) {
    EXPECT_TRUE(works(cuModuleLoad(&loaded, (directory + "plain.o").c_str())));
    EXPECT_TRUE(works(cuModuleLoadFatBinary(&loaded, &wrapper)));
    wrapper = {0x466243b1, 2, nullptr, prelinked};
    EXPECT_TRUE(works(cuModuleLoadData(&loaded, &wrapper)));
  }
  int options[] = {5, 6, 7};  // error log, its size, optimisation level
  char log[16] = "unchanged";
  void* values[] = {log, reinterpret_cast<void*>(sizeof log), reinterpret_cast<void*>(4)};
  EXPECT_TRUE(works(cuModuleLoadDataEx(&loaded, kKernels, 3, options, values)));
  EXPECT_EQ(log[0], '\0');
  EXPECT_EQ(values[1], nullptr);
}

TEST_F(Driver, BadModulesAreRefused) {
  CUmodule loaded = nullptr;
  EXPECT_EQ(cuModuleLoadData(&loaded, ".version 8.0\nwhat is this"), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(cuModuleLoadData(&loaded, "\x01\x02"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuModuleLoadData(&loaded, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoad(&loaded, "/nonexistent"), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(cuModuleLoad(&loaded, "/proc/self/exe"),
            on_hardware() ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(loaded, nullptr);
}

// Modules take memory of the device as allocations do, and what is refused takes none from other contexts.
TEST_F(Driver, VariablesThatDoNotFitAreRefusedWhenTheModuleIsLoaded) {
  SKIP_ON_HARDWARE("its assembler takes minutes");
  const auto load = [](const std::string& variables) {
    CUmodule loaded = nullptr;
    return cuModuleLoadData(&loaded, (".version 8.0\n.target sm_90\n.address_size 64\n" + variables +
                                      "\n.visible .entry k() { ret; }")
                                         .c_str());
  };
  std::size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(cuMemGetInfo_v2(&before, &total), CUDA_SUCCESS);
  CUcontext second = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(load(".const .b8 c[1099511627776];"), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(load(".const .b8 c[65537];"), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(load(".global .b8 g[1099511627776];"), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(cuMemGetInfo_v2(&after, &total), CUDA_SUCCESS);
  EXPECT_EQ(after, before);
  const std::string most = ".global .b8 g[" + std::to_string(total / 5 * 3) + "];";
  EXPECT_EQ(load(most), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPopCurrent_v2(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(load(most), CUDA_ERROR_OUT_OF_MEMORY);  // the other context has it
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc_v2(&address, total / 5), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy_v2(second), CUDA_SUCCESS);
  EXPECT_EQ(load(most), CUDA_SUCCESS);
}

TEST_F(Driver, AFaultIsStickyInItsContextOnly) {
  CUcontext second = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPopCurrent_v2(nullptr), CUDA_SUCCESS);
  const CUdeviceptr a = allocate(4);
  EXPECT_EQ(launch("fault", nullptr, CUdeviceptr{16}), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUdeviceptr b = 0;
  unsigned word = 0;
  EXPECT_EQ(cuMemAlloc_v2(&b, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuMemcpyDtoH_v2(&word, a, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
  SKIP_ON_HARDWARE("breaks every context of the process");
  ASSERT_EQ(cuCtxPushCurrent_v2(second), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc_v2(&b, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy_v2(second), CUDA_SUCCESS);
}

TEST_F(Driver, ATrapIsALaunchFailure) {
  EXPECT_EQ(launch("stop", nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_LAUNCH_FAILED);
}

}  // namespace
}  // namespace raddle::driver
