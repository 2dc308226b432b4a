// Programmatic launches: dependent kernels that begin before the one before them has ended.
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "driver/launch_attributes.h"
#include "driver_test.h"

namespace raddle::driver {
namespace {

using Values = std::vector<unsigned>;

/// primary(flag, data): calls for its dependents, waits for one of them, then writes *data. unaware: the same
/// without a call. dependent(flag, data, out): lets it go on, waits for its end, copies *data.
constexpr const char* kDependent = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry primary(.param .u64 flag, .param .u64 data)
{
  .reg .pred %z; .reg .b32 %r; .reg .b64 %d<3>;
  ld.param.u64 %d1, [flag]; ld.param.u64 %d2, [data];
  griddepcontrol.launch_dependents;
again:
  ld.acquire.gpu.global.u32 %r, [%d1];
  setp.eq.u32 %z, %r, 0;
  @%z bra again;
  st.global.u32 [%d2], 7;
  ret;
}
.visible .entry unaware(.param .u64 flag, .param .u64 data)
{
  .reg .pred %z; .reg .b32 %r; .reg .b64 %d<3>;
  ld.param.u64 %d1, [flag]; ld.param.u64 %d2, [data];
again:
  ld.acquire.gpu.global.u32 %r, [%d1];
  setp.eq.u32 %z, %r, 0;
  @%z bra again;
  st.global.u32 [%d2], 7;
  ret;
}
.visible .entry dependent(.param .u64 flag, .param .u64 data, .param .u64 out)
{
  .reg .b32 %r; .reg .b64 %d<4>;
  ld.param.u64 %d1, [flag]; ld.param.u64 %d2, [data]; ld.param.u64 %d3, [out];
  st.release.gpu.global.u32 [%d1], 1;
  griddepcontrol.wait;
  ld.global.u32 %r, [%d2];
  st.global.u32 [%d3], %r;
  ret;
}
)";

class DependentLaunch : public Driver {
 protected:
  void SetUp() override {
    Driver::SetUp();
    ASSERT_EQ(cuModuleLoadData(&module, kDependent), CUDA_SUCCESS);
    // Now, for loading may wait for kernels that run.
    for (const char* name : {"primary", "unaware", "dependent"})
      ASSERT_EQ(cuFuncLoad(function(name)), CUDA_SUCCESS);
  }
  template <class Value>
  static CUlaunchAttribute attribute(int id, const Value& value) {
    CUlaunchAttribute made{id, {}, {}};
    std::memcpy(made.value, &value, sizeof value);
    return made;
  }
  /// One thread of a kernel with an attribute.
  template <class... Parameters>
  CUresult launch_with(CUlaunchAttribute attribute, const char* name, CUstream stream,
                       Parameters... parameters) {
    void* pointers[] = {&parameters...};
    const CUlaunchConfig config{1, 1, 1, 1, 1, 1, 0, stream, &attribute, 1};
    return cuLaunchKernelEx(&config, function(name), pointers, nullptr);
  }
  /// flag, data, out
  void expect_copied(CUdeviceptr words) {
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(download(words, 3), (Values{1, 7, 7}));
    EXPECT_EQ(cuMemsetD32_v2(words, 0, 3), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }
  struct ProgrammaticEvent {
    CUevent event;
    int flags, at_start;
  };
};

// The primary would not end before its dependent has begun. In a stream of its own and in the legacy one.
TEST_F(DependentLaunch, BeginsBeforeThePrimaryEnds) {
  const CUdeviceptr w = upload({0, 0, 0});
  for (const CUstream in : {stream(), CUstream{nullptr}}) {
    EXPECT_EQ(launch("primary", in, w, w + 4), CUDA_SUCCESS);
    EXPECT_EQ(
        launch_with(attribute(LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION, 1), "dependent", in, w, w + 4, w + 8),
        CUDA_SUCCESS);
    expect_copied(w);
  }
}

// Streams that wait for the event begin their kernels at the trigger, which may be the begin of each block.
TEST_F(DependentLaunch, EventsAtTheTrigger) {
  SKIP_ON_HARDWARE("waits for the primary");
  const CUdeviceptr w = upload({0, 0, 0});
  const CUstream first = stream(), second = stream();
  CUevent event = nullptr;
  ASSERT_EQ(cuEventCreate(&event, EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  for (const int at_start : {0, 1}) {
    const ProgrammaticEvent wanted{event, 0, at_start};
    EXPECT_EQ(launch_with(attribute(LAUNCH_PROGRAMMATIC_EVENT, wanted), at_start ? "unaware" : "primary",
                          first, w, w + 4),
              CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
    EXPECT_EQ(launch("dependent", second, w, w + 4, w + 8), CUDA_SUCCESS);
    EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
    EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
    expect_copied(w);
  }
  EXPECT_EQ(launch_with(attribute(LAUNCH_PROGRAMMATIC_EVENT, ProgrammaticEvent{event, 2, 0}), "dependent",
                        first, w, w + 4, w + 8),
            CUDA_ERROR_INVALID_VALUE);
  CUevent shared = nullptr;
  ASSERT_EQ(cuEventCreate(&shared, EVENT_DISABLE_TIMING | EVENT_INTERPROCESS), CUDA_SUCCESS);
  EXPECT_EQ(launch_with(attribute(LAUNCH_PROGRAMMATIC_EVENT, ProgrammaticEvent{shared, 0, 0}), "dependent",
                        first, w, w + 4, w + 8),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy_v2(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy_v2(shared), CUDA_SUCCESS);
}

// While its blocks still run: the host, and a kernel of another stream, see that all have begun. The kernel
// does not wait for their end.
TEST_F(DependentLaunch, EventsWhenAllBlocksHaveBegun) {
  const CUdeviceptr w = upload({0, 0, 0});
  const CUstream first = stream(), second = stream(), third = stream();
  CUevent event = nullptr;
  ASSERT_EQ(cuEventCreate(&event, EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  const std::array<std::uint64_t, 2> value{reinterpret_cast<std::uint64_t>(event), 0};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(launch_with(attribute(LAUNCH_LAUNCH_COMPLETION_EVENT, value), "unaware", first, w, w + 4),
              CUDA_SUCCESS);
    EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamQuery(first), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
    EXPECT_EQ(launch("dependent", second, w, w + 4, w + 8), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(download(w, 2), (Values{1, 7}));
    EXPECT_EQ(cuMemsetD32_v2(w, 0, 3), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }
  // Not before what comes before the launch in its stream.
  EXPECT_EQ(launch("unaware", first, w, w + 4), CUDA_SUCCESS);
  EXPECT_EQ(
      launch_with(attribute(LAUNCH_LAUNCH_COMPLETION_EVENT, value), "dependent", first, w, w + 4, w + 8),
      CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(launch("dependent", third, w, w + 4, w + 8), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy_v2(event), CUDA_SUCCESS);
}

// Some blocks that the device has no room for begin when others have ended.
TEST_F(DependentLaunch, EventsWhenTheLastBlocksHaveBegun) {
  SKIP_ON_HARDWARE("tells the host before");
  const CUdeviceptr w = upload({0, 0, 0});
  const CUstream first = stream();
  CUevent event = nullptr;
  ASSERT_EQ(cuEventCreate(&event, EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  const std::array<std::uint64_t, 2> value{reinterpret_cast<std::uint64_t>(event), 0};
  CUlaunchAttribute wanted = attribute(LAUNCH_LAUNCH_COMPLETION_EVENT, value);
  CUdeviceptr flag = w, data = w + 4;
  void* pointers[] = {&flag, &data};
  const CUlaunchConfig config{100'000, 1, 1, 1, 1, 1, 0, first, &wanted, 1};
  EXPECT_EQ(cuLaunchKernelEx(&config, function("unaware"), pointers, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuStreamQuery(first), CUDA_ERROR_NOT_READY);
  ASSERT_EQ(cuMemsetD32Async(w, 1, 1, stream(STREAM_NON_BLOCKING)), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy_v2(event), CUDA_SUCCESS);
}

}  // namespace
}  // namespace raddle::driver
