// Streams, events, callbacks, the legacy stream's rules, and hosts that talk to running kernels.
#include <atomic>
#include <thread>

#include "driver_test.h"
#include "wait_until.h"

namespace raddle::driver {
namespace {

using Values = std::vector<unsigned>;

class Streams : public Driver {
 protected:
  void SetUp() override {
    Driver::SetUp();
    gate = upload({0, 0});
  }
  /// Starts a kernel that runs until open().
  void block(CUstream stream) { ASSERT_EQ(launch("wait", stream, gate, gate + 4), CUDA_SUCCESS); }
  void open() {
    const CUstream other = stream(STREAM_NON_BLOCKING);
    const unsigned one = 1;
    ASSERT_EQ(cuMemcpyHtoDAsync_v2(gate, &one, 4, other), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(other), CUDA_SUCCESS);
  }
  CUdeviceptr gate = 0;
};

TEST_F(Streams, AKernelEndsBecauseTheHostWroteAFlag) {
  const CUstream s = stream(STREAM_NON_BLOCKING);
  block(s);
  EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
  open();
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(s), CUDA_SUCCESS);
  EXPECT_EQ(download(gate + 4, 1), Values{1});
}

// What ends while work may use it keeps its memory until then; some wait behind that work gives it back.
TEST_F(Streams, AWaitGivesBackTheMemoryOfWhatHasEnded) {
  if (on_hardware()) GTEST_SKIP() << "destroying an array waits for work there";
  const CUstream s = stream(STREAM_NON_BLOCKING);
  std::size_t before = 0, during = 0, total = 0;
  ASSERT_EQ(cuMemGetInfo_v2(&before, &total), CUDA_SUCCESS);
  const CUDA_ARRAY_DESCRIPTOR shape{.Width = 1024, .Height = 1024, .Format = FORMAT_FLOAT, .NumChannels = 1};
  CUarray array = nullptr;
  ASSERT_EQ(cuArrayCreate_v2(&array, &shape), CUDA_SUCCESS);
  block(s);
  ASSERT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
  ASSERT_EQ(cuMemGetInfo_v2(&during, &total), CUDA_SUCCESS);
  EXPECT_LT(during, before);
  open();
  EXPECT_TRUE(wait_until([&] {
    std::size_t after = 0;
    return cuStreamSynchronize(s) == CUDA_SUCCESS && cuMemGetInfo_v2(&after, &total) == CUDA_SUCCESS &&
           after == before;
  }));
}

TEST_F(Streams, KernelsOfTwoStreamsOverlap) {
  const CUstream first = stream(STREAM_NON_BLOCKING), second = stream(STREAM_NON_BLOCKING);
  block(first);
  const CUdeviceptr other = upload({0, 0});
  const unsigned one = 1;
  ASSERT_EQ(cuMemcpyHtoD_v2(other, &one, 4), CUDA_SUCCESS);
  ASSERT_EQ(launch("wait", second, other, gate), CUDA_SUCCESS);  // opens the first one's gate
  EXPECT_EQ(cuStreamSynchronize(first), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(second), CUDA_SUCCESS);
}

TEST_F(Streams, TheLegacyStreamWaitsForBlockingOnesAndTheyForIt) {
  const CUstream blocking = stream(), independent = stream(STREAM_NON_BLOCKING);
  CUevent legacy = nullptr, after = nullptr, alone = nullptr;
  for (CUevent* event : {&legacy, &after, &alone})
    ASSERT_EQ(cuEventCreate(event, EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  block(blocking);
  EXPECT_EQ(cuEventRecord(legacy, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(after, stream()), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(alone, independent), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(alone), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(legacy), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuEventQuery(after), CUDA_ERROR_NOT_READY);
  open();
  EXPECT_EQ(cuEventSynchronize(after), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(legacy), CUDA_SUCCESS);
}

TEST_F(Streams, ThreadsOwnDefaultStreams) {
  CUevent event = nullptr;
  ASSERT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  block(reinterpret_cast<CUstream>(kPerThreadStream));
  std::thread([&] {
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(cuEventRecord_ptsz(event, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);  // another stream than the blocked one
  }).join();
  EXPECT_EQ(cuStreamQuery_ptsz(nullptr), CUDA_ERROR_NOT_READY);
  open();
  EXPECT_EQ(cuStreamSynchronize_ptsz(nullptr), CUDA_SUCCESS);
}

TEST_F(Streams, WaitForEvents) {
  const CUstream first = stream(STREAM_NON_BLOCKING), second = stream(STREAM_NON_BLOCKING);
  CUevent event = nullptr;
  ASSERT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);  // never recorded
  block(first);
  EXPECT_EQ(cuEventRecordWithFlags(event, first, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuStreamQuery(second), CUDA_ERROR_NOT_READY);
  open();
  EXPECT_EQ(cuStreamSynchronize(second), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy_v2(event), CUDA_SUCCESS);
  SKIP_ON_HARDWARE("follows handles");
  EXPECT_EQ(cuEventDestroy_v2(event), CUDA_ERROR_INVALID_HANDLE);
}

// proves: K-16a
TEST_F(Streams, WaitingForAnEventWaits) {
  CUevent event = nullptr;
  ASSERT_EQ(cuEventCreate(&event, EVENT_BLOCKING_SYNC), CUDA_SUCCESS);
  const CUstream s = stream(STREAM_NON_BLOCKING);
  block(s);
  ASSERT_EQ(cuEventRecord(event, s), CUDA_SUCCESS);
  std::thread later([&] {
    give_others_a_chance();
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    open();
  });
  EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
  later.join();
}

TEST_F(Streams, EventsMeasureTime) {
  CUevent start = nullptr, end = nullptr, untimed = nullptr;
  ASSERT_EQ(cuEventCreate(&start, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&end, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&untimed, EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  const CUstream s = stream(STREAM_NON_BLOCKING);
  float time = -1, second = -1;
  EXPECT_EQ(cuEventElapsedTime(&time, start, end), CUDA_ERROR_INVALID_HANDLE);  // not recorded
  EXPECT_EQ(cuEventRecord(start, s), CUDA_SUCCESS);
  block(s);
  EXPECT_EQ(cuEventRecord(end, s), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&time, start, end), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuEventSynchronize(start), CUDA_SUCCESS);
  give_others_a_chance();
  open();
  EXPECT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&time, start, end), CUDA_SUCCESS);
  EXPECT_GE(time, 5);
  EXPECT_EQ(cuEventElapsedTime_v2(&second, start, end), CUDA_SUCCESS);
  EXPECT_EQ(time, second);
  EXPECT_EQ(cuEventRecord(untimed, s), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&time, start, untimed), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventCreate(&start, 0x80), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Streams, CallTheHostInOrder) {
  const CUstream s = stream(STREAM_NON_BLOCKING);
  std::atomic<int> steps{0};
  block(s);
  EXPECT_EQ(
      cuLaunchHostFunc(s, [](void* data) { ++*static_cast<std::atomic<int>*>(data); }, &steps), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamAddCallback(
                s,
                [](CUstream, CUresult status, void* data) {
                  auto& count = *static_cast<std::atomic<int>*>(data);
                  count = status == CUDA_SUCCESS && count == 1 ? 2 : -1;
                },
                &steps, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(steps, 0);
  open();
  EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(steps, 2);
  EXPECT_EQ(cuLaunchHostFunc(s, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Streams, CallbacksHearOfFaultsAndHostFunctionsDoNotRun) {
  const CUstream s = stream(STREAM_NON_BLOCKING);
  CUresult heard = CUDA_SUCCESS;
  bool ran = false;
  EXPECT_EQ(launch("fault", s, CUdeviceptr{16}), CUDA_SUCCESS);
  // The fault may have happened already; then the calls say so.
  const CUresult first = cuLaunchHostFunc(s, [](void* data) { *static_cast<bool*>(data) = true; }, &ran);
  const CUresult second = cuStreamAddCallback(
      s, [](CUstream, CUresult status, void* data) { *static_cast<CUresult*>(data) = status; }, &heard, 0);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_FALSE(ran);
  EXPECT_TRUE(first == CUDA_SUCCESS || first == CUDA_ERROR_ILLEGAL_ADDRESS);
  SKIP_ON_HARDWARE("does not call back");
  EXPECT_EQ(second == CUDA_SUCCESS ? heard : second, CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(Streams, SayWhatTheyAre) {
  CUstream s = nullptr;
  int priority = 7;
  unsigned flags = 7;
  CUcontext owner = nullptr;
  ASSERT_EQ(cuStreamCreateWithPriority(&s, STREAM_NON_BLOCKING, -100), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamGetPriority(s, &priority), CUDA_SUCCESS);
  EXPECT_EQ(priority, kGreatestPriority);
  EXPECT_EQ(cuStreamGetFlags(s, &flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, 1u);
  EXPECT_EQ(cuStreamGetCtx(s, &owner), CUDA_SUCCESS);
  EXPECT_EQ(owner, context);
  EXPECT_EQ(cuStreamDestroy_v2(s), CUDA_SUCCESS);
  if (!on_hardware()) {
    EXPECT_EQ(cuStreamDestroy_v2(s), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
  }
  EXPECT_EQ(cuStreamDestroy_v2(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamCreate(&s, 0x40), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace raddle::driver
