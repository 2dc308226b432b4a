// Limits that take effect, preferences, peers, identifiers, profilers and dumps.
#include "driver_test.h"

namespace raddle::driver {
namespace {

/// heap(n, p): *p = malloc(n). deep(n, p): *p = n calls inside one another, each with 64 bytes of its own.
/// print(n): n lines.
constexpr const char* kLimited = R"(
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 r) malloc (.param .b64 n);
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[6] = {108, 105, 110, 101, 10, 0};
.visible .entry heap(.param .u64 n, .param .u64 p)
{
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [n]; ld.param.u64 %d2, [p];
  { .param .b64 a; .param .b64 r; st.param.b64 [a], %d1; call.uni (r), malloc, (a); ld.param.b64 %d3, [r]; }
  st.global.u64 [%d2], %d3;
  ret;
}
.func (.param .b32 r) down (.param .b32 n)
{
  .local .align 8 .b8 own[64];
  .reg .pred %q; .reg .b32 %r<5>; .reg .b64 %d;
  ld.param.b32 %r1, [n];
  mov.u64 %d, own;
  st.local.u32 [%d], %r1;
  mov.u32 %r2, 0;
  setp.eq.u32 %q, %r1, 0;
  @%q bra done;
  sub.u32 %r3, %r1, 1;
  { .param .b32 a; .param .b32 s; st.param.b32 [a], %r3; call.uni (s), down, (a); ld.param.b32 %r2, [s]; }
  add.u32 %r2, %r2, 1;
done:
  st.param.b32 [r], %r2;
  ret;
}
.visible .entry deep(.param .u32 n, .param .u64 p)
{
  .reg .b32 %r<3>; .reg .b64 %d;
  ld.param.u32 %r1, [n]; ld.param.u64 %d, [p];
  { .param .b32 a; .param .b32 s; st.param.b32 [a], %r1; call.uni (s), down, (a); ld.param.b32 %r2, [s]; }
  st.global.u32 [%d], %r2;
  ret;
}
.visible .entry print(.param .u32 n)
{
  .reg .pred %q; .reg .b32 %r<3>; .reg .b64 %d<3>;
  ld.param.u32 %r1, [n];
  mov.u64 %d1, text; cvta.global.u64 %d1, %d1; mov.u64 %d2, 0;
again:
  { .param .b64 f; .param .b64 a; .param .b32 s; st.param.b64 [f], %d1; st.param.b64 [a], %d2;
    call.uni (s), vprintf, (f, a); ld.param.b32 %r2, [s]; }
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %q, %r1, 0;
  @%q bra again;
  ret;
}
)";

class State : public Driver {
 protected:
  void SetUp() override {
    Driver::SetUp();
    ASSERT_EQ(cuModuleLoadData(&module, kLimited), CUDA_SUCCESS);
  }
  std::size_t limit(CUlimit which) {
    std::size_t value = 0;
    EXPECT_EQ(cuCtxGetLimit(&value, which), CUDA_SUCCESS);
    return value;
  }
};

TEST_F(State, TheHeapsLimitHoldsUntilTheFirstKernelThatUsesIt) {
  const CUdeviceptr result = allocate(8);
  const auto get = [&](std::uint64_t bytes) {
    EXPECT_EQ(launch("heap", nullptr, bytes, result), CUDA_SUCCESS);
    std::uint64_t address = 0;
    EXPECT_EQ(cuMemcpyDtoH_v2(&address, result, 8), CUDA_SUCCESS);
    return address;
  };
  if (!on_hardware())
    EXPECT_EQ(cuCtxSetLimit(LIMIT_MALLOC_HEAP_SIZE, ~std::size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuCtxSetLimit(LIMIT_MALLOC_HEAP_SIZE, 32 << 20), CUDA_SUCCESS);
  EXPECT_EQ(limit(LIMIT_MALLOC_HEAP_SIZE), 32u << 20);
  EXPECT_NE(get(20 << 20), 0u);
  EXPECT_EQ(get(20 << 20), 0u);
  EXPECT_EQ(cuCtxSetLimit(LIMIT_MALLOC_HEAP_SIZE, 64 << 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(limit(LIMIT_MALLOC_HEAP_SIZE), 32u << 20);
}

TEST_F(State, TheStacksLimitIsForTheNextLaunch) {
  const CUdeviceptr result = upload({0});
  const auto descend = [&](unsigned depth) {
    const CUresult launched = launch("deep", nullptr, depth, result);
    return launched != CUDA_SUCCESS ? launched : cuCtxSynchronize();
  };
  EXPECT_EQ(descend(20), CUDA_SUCCESS);
  EXPECT_EQ(download(result, 1)[0], 20u);
  EXPECT_EQ(cuCtxSetLimit(LIMIT_STACK_SIZE, 256 << 10), CUDA_SUCCESS);
  EXPECT_EQ(limit(LIMIT_STACK_SIZE), 256u << 10);
  EXPECT_EQ(descend(700), CUDA_SUCCESS);  // more than the 16 KiB of before can hold
  EXPECT_EQ(download(result, 1)[0], 700u);
  EXPECT_EQ(cuCtxSetLimit(LIMIT_STACK_SIZE, 1 << 30), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxSetLimit(LIMIT_STACK_SIZE, 2048), CUDA_SUCCESS);
  EXPECT_NE(descend(700), CUDA_SUCCESS);
}

TEST_F(State, ALimitedPrintBufferKeepsTheLastLines) {
  EXPECT_EQ(limit(LIMIT_PRINTF_FIFO_SIZE), 8'650'752u);  // an H200's (2026-11-26)
  SKIP_ON_HARDWARE("takes half a MiB at least");
  EXPECT_EQ(cuCtxSetLimit(LIMIT_PRINTF_FIFO_SIZE, 64), CUDA_SUCCESS);
  EXPECT_EQ(limit(LIMIT_PRINTF_FIFO_SIZE), 64u);
  testing::internal::CaptureStdout();
  EXPECT_EQ(launch("print", nullptr, 100u), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(text.size(), 60u);  // twelve lines of five
  EXPECT_EQ(cuCtxSetLimit(LIMIT_PRINTF_FIFO_SIZE, 128), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(State, OtherLimitsAreRememberedOrUnknown) {
  EXPECT_EQ(limit(LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT), 2048u);
  EXPECT_EQ(cuCtxSetLimit(LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 100), CUDA_SUCCESS);
  EXPECT_EQ(limit(LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT), 100u);
  EXPECT_EQ(cuCtxSetLimit(LIMIT_MAX_L2_FETCH_GRANULARITY, 32), CUDA_SUCCESS);
  EXPECT_EQ(limit(LIMIT_MAX_L2_FETCH_GRANULARITY), 32u);
  EXPECT_EQ(cuCtxSetLimit(LIMIT_MAX_L2_FETCH_GRANULARITY, 129), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(limit(LIMIT_PERSISTING_L2_CACHE_SIZE), 11'796'480u);  // three tenths of what may be, on an H200
  EXPECT_EQ(cuCtxSetLimit(LIMIT_PERSISTING_L2_CACHE_SIZE, 4 << 20), CUDA_SUCCESS);
  EXPECT_EQ(limit(LIMIT_PERSISTING_L2_CACHE_SIZE),
            on_hardware() ? limit(LIMIT_PERSISTING_L2_CACHE_SIZE) : 4u << 20);
}

TEST_F(State, PreferencesAndFlagsAreRemembered) {
  int config = 7;
  unsigned flags = 0;
  EXPECT_EQ(cuCtxGetCacheConfig(&config), CUDA_SUCCESS);
  EXPECT_EQ(config, 0);
  EXPECT_EQ(cuCtxSetCacheConfig(2), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetCacheConfig(&config), CUDA_SUCCESS);
  EXPECT_EQ(config, 2);
  EXPECT_EQ(cuCtxSetCacheConfig(4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxSetSharedMemConfig(1), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetSharedMemConfig(&config), CUDA_SUCCESS);
  EXPECT_EQ(config, 1);
  EXPECT_EQ(cuCtxSetSharedMemConfig(3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxSetFlags(0x84), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetFlags(&flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, 0x84u);
  EXPECT_EQ(cuCtxSetFlags(0x100), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxResetPersistingL2Cache(), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxResetPersistingL2Cache(), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
}

TEST_F(State, ContextsByHandle) {
  CUcontext other = nullptr;
  unsigned long long one = 0, two = 0;
  CUdevice device = 7;
  ASSERT_EQ(cuCtxCreate_v3(&other, nullptr, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetId(context, &one), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetId(nullptr, &two), CUDA_SUCCESS);
  EXPECT_NE(one, two);
  EXPECT_EQ(cuCtxGetDevice_v2(&device, context), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuCtxEnablePeerAccess(context, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  EXPECT_EQ(cuCtxEnablePeerAccess(context, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxEnablePeerAccess(other, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);  // an H200 (2026-11-26)
  EXPECT_EQ(cuCtxDisablePeerAccess(context), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  const auto wrong = reinterpret_cast<CUcontext>(0x1235);
  if (!on_hardware()) {
    EXPECT_EQ(cuCtxDisablePeerAccess(wrong), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxGetId(wrong, &one), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxGetDevice_v2(&device, wrong), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxSynchronize_v2(wrong), CUDA_ERROR_INVALID_CONTEXT);
  }
  // A fault of the other context, found from here.
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  CUmodule plain = nullptr;
  ASSERT_EQ(cuModuleLoadData(&plain, kKernels), CUDA_SUCCESS);
  module = plain;
  EXPECT_EQ(launch("stop", nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(other), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize_v2(context), CUDA_ERROR_LAUNCH_FAILED);
  SKIP_ON_HARDWARE("breaks every context of the process");
  CUexecAffinityParam affinity{EXEC_AFFINITY_SM_COUNT, 3};
  CUcontext none = nullptr;
  EXPECT_EQ(cuCtxCreate_v3(&none, &affinity, 1, 0, 0), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
  EXPECT_EQ(cuCtxGetExecAffinity(&affinity, EXEC_AFFINITY_SM_COUNT), CUDA_SUCCESS);
  int count = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&count, 16, 0), CUDA_SUCCESS);
  EXPECT_EQ(affinity.sm_count, static_cast<unsigned>(count));
  EXPECT_EQ(cuCtxGetExecAffinity(&affinity, CUexecAffinityType(1)), CUDA_ERROR_INVALID_VALUE);
  int supported = 7;
  EXPECT_EQ(cuDeviceGetExecAffinitySupport(&supported, EXEC_AFFINITY_SM_COUNT, 0), CUDA_SUCCESS);
  EXPECT_EQ(supported, 0);
  EXPECT_EQ(cuCtxDestroy_v2(other), CUDA_SUCCESS);
}

TEST_F(State, DevicesHaveNoPeersAndOneIdentifier) {
  int value = 0;
  char id[16], luid[8];
  unsigned nodes = 0;
  CUdevice device = 7;
  std::size_t width = 0;
  EXPECT_EQ(cuDeviceGetP2PAttribute(&value, 2, 0, 0), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetP2PAttribute(&value, 9, 0, 0),
            CUDA_ERROR_INVALID_DEVICE);  // an H200 looks there first
  ASSERT_EQ(cuDeviceGetPCIBusId(id, sizeof id, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuDeviceGetByPCIBusId(&device, id), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  device = 7;
  EXPECT_EQ(cuDeviceGetByPCIBusId(&device, id + 5), CUDA_SUCCESS);  // without the domain
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuDeviceGetByPCIBusId(&device, "0000:03:00.0"), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetByPCIBusId(&device, "nonsense"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetLuid(luid, &nodes, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuDeviceGetLuid(nullptr, &nodes, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetTexture1DLinearMaxWidth(&width, FORMAT_UNSIGNED_INT32, 4, 0), CUDA_SUCCESS);
  EXPECT_EQ(width, std::size_t{1} << 28);
  EXPECT_EQ(cuDeviceGetTexture1DLinearMaxWidth(&width, FORMAT_UNSIGNED_INT32, 3, 0),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(State, HostMemoryHasTheAtomicsOfKernels) {
  SKIP_ON_HARDWARE("has none over PCIe");
  const CUatomicOperation operations[] = {ATOMIC_INTEGER_ADD,       ATOMIC_XOR,       ATOMIC_CAS,
                                          ATOMIC_INTEGER_INCREMENT, ATOMIC_FLOAT_ADD, ATOMIC_FLOAT_MIN};
  unsigned capabilities[6] = {9, 9, 9, 9, 9, 9};
  EXPECT_EQ(cuDeviceGetHostAtomicCapabilities(capabilities, operations, 6, 0), CUDA_SUCCESS);
  const unsigned wanted[6] = {31, 30, 58, 14, 93, 0};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(capabilities[i], wanted[i]) << i;
  const auto unknown = CUatomicOperation(13);
  EXPECT_EQ(cuDeviceGetHostAtomicCapabilities(capabilities, &unknown, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetHostAtomicCapabilities(capabilities, operations, 1, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetP2PAtomicCapabilities(capabilities, operations, 1, 0, 0), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetP2PAtomicCapabilities(nullptr, operations, 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(State, ProfilersAreNotThereAndDoNoHarm) {
  EXPECT_EQ(cuProfilerStart(), CUDA_SUCCESS);
  EXPECT_EQ(cuProfilerStop(), CUDA_SUCCESS);
  EXPECT_EQ(cuProfilerInitialize("a", "b", 0), CUDA_ERROR_NOT_SUPPORTED);
  ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuProfilerStart(), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuProfilerStop(), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
}

TEST_F(State, DumpsCanBeLeftOff) {
  SKIP_ON_HARDWARE("makes them");
  bool on = true;
  char name[300] = "";
  std::size_t bytes = 1, room = sizeof name, little = 3;
  EXPECT_EQ(cuCoredumpGetAttribute(COREDUMP_ENABLE_ON_EXCEPTION, &on, &bytes), CUDA_SUCCESS);
  EXPECT_FALSE(on);
  on = true;
  EXPECT_EQ(cuCoredumpSetAttribute(COREDUMP_ENABLE_ON_EXCEPTION, &on, &bytes), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuCoredumpSetAttributeGlobal(COREDUMP_ENABLE_ON_EXCEPTION, &on, &bytes),
            CUDA_ERROR_NOT_SUPPORTED);
  on = false;
  EXPECT_EQ(cuCoredumpSetAttribute(COREDUMP_ENABLE_ON_EXCEPTION, &on, &bytes), CUDA_SUCCESS);
  EXPECT_EQ(cuCoredumpSetAttributeGlobal(COREDUMP_ENABLE_USER_TRIGGER, &on, &bytes), CUDA_SUCCESS);
  EXPECT_EQ(cuCoredumpGetAttributeGlobal(COREDUMP_FILE, name, &room), CUDA_SUCCESS);
  EXPECT_EQ(std::string(name).rfind("core.cuda.", 0), 0u);
  EXPECT_EQ(room, std::strlen(name) + 1);
  EXPECT_EQ(cuCoredumpGetAttribute(COREDUMP_FILE, name, &little), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCoredumpGetAttribute(12, name, &room), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace raddle::driver
