// Destroying a context ends what would never end by itself, and so does the end of the program.
#include "ending_fixture.h"

namespace raddle::driver {
namespace {

constexpr const char* kWaits = "cuCtxDestroy waits for whatever its context does";

/// Contexts that are destroyed while something in them would never end.
class ContextEndings : public Endings {
 protected:
  // Without the fixture's context, which is what ends; nor its memory.
  void TearDown() override { opened = true; }

  /// An event of the stream, which is blocked before it.
  CUevent blocked_event() {
    CUevent event = nullptr;
    EXPECT_EQ(cuEventCreate(&event, EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    block(s);
    EXPECT_EQ(cuEventRecord(event, s), CUDA_SUCCESS);
    return event;
  }
  /// Another context, current from now on, whose stream waits for such an event and then writes 2.
  struct Waiting {
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    CUdeviceptr written = 0;
  };
  Waiting wait_elsewhere() {
    const CUevent event = blocked_event();
    Waiting made;
    EXPECT_EQ(cuCtxCreate_v4(&made.context, nullptr, 0, 0), CUDA_SUCCESS);
    made.stream = stream();
    made.written = upload({1});
    EXPECT_EQ(cuStreamWaitEvent(made.stream, event, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD32Async(made.written, 2, 1, made.stream), CUDA_SUCCESS);
    return made;
  }
};

TEST_P(ContextEndings, CancelWhatDoesNotEnd) {
  SKIP_ON_HARDWARE(kWaits);
  block(s);
  launch_other("sum", gate, out);
  const CUstream another = stream();
  ASSERT_EQ(cuStreamWaitValue32_v2(another, gate, 7, WAIT_VALUE_EQ), CUDA_SUCCESS);
  {
    const TimeLimit limit("cuCtxDestroy");
    EXPECT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
  }
  EXPECT_FALSE(opened);
  EXPECT_EQ(cuCtxSetCurrent(context), CUDA_ERROR_INVALID_CONTEXT);
  CUcontext next = nullptr;  // others go on
  ASSERT_EQ(cuCtxCreate_v4(&next, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(download(upload({3}), 1), Values{3});
  opened = true;
  EXPECT_EQ(cuCtxDestroy_v2(next), CUDA_SUCCESS);
}

/// Streams that wait for an event of the blocked one, in this context and in another.
TEST_P(ContextEndings, EndWaitsForEventsThatNeverHappen) {
  SKIP_ON_HARDWARE(kWaits);
  const CUstream beside = stream(STREAM_NON_BLOCKING);
  ASSERT_EQ(cuStreamWaitEvent(beside, blocked_event(), 0), CUDA_SUCCESS);
  ASSERT_EQ(launch("scale", beside, out, 2u, 1u), CUDA_SUCCESS);
  const Waiting other = wait_elsewhere();
  {
    const TimeLimit limit("cuCtxDestroy of a context that waits for another");
    EXPECT_EQ(cuCtxDestroy_v2(other.context), CUDA_SUCCESS);
  }
  EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(beside), CUDA_ERROR_NOT_READY);  // the other context's end is not this one's
  const TimeLimit limit("cuCtxDestroy");
  EXPECT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
  EXPECT_FALSE(opened);
}

/// The end of a context ends others' waits for its events.
TEST_P(ContextEndings, LetOthersGetOn) {
  SKIP_ON_HARDWARE(kWaits);
  const Waiting other = wait_elsewhere();
  {
    const TimeLimit limit("cuCtxDestroy");
    EXPECT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
  }
  if (GetParam() == Blocker::function) opened = true;  // only its return ends it
  const TimeLimit limit("cuStreamSynchronize");
  EXPECT_EQ(cuStreamSynchronize(other.stream), CUDA_SUCCESS);
  EXPECT_EQ(download(other.written, 1), Values{2});
  EXPECT_EQ(cuCtxDestroy_v2(other.context), CUDA_SUCCESS);
}

TEST_P(ContextEndings, WakeThreadsThatWaitInThem) {
  SKIP_ON_HARDWARE(kWaits);
  block(s);
  CUresult result = CUDA_SUCCESS;
  std::atomic<bool> waits{false};
  std::thread waiter([&] {
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    waits = true;
    result = cuStreamSynchronize(s);
  });
  while (!waits) std::this_thread::yield();
  if (GetParam() == Blocker::function) {
    opened = true;  // such a function is the program's: nobody can end it
  } else {
    const TimeLimit limit("cuCtxDestroy");
    EXPECT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
  }
  const TimeLimit limit("cuStreamSynchronize");
  waiter.join();
  EXPECT_TRUE(result == CUDA_ERROR_CONTEXT_IS_DESTROYED || GetParam() == Blocker::function) << result;
  if (GetParam() == Blocker::function) EXPECT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
}

TEST_P(ContextEndings, OfThePrimaryContext) {
  SKIP_ON_HARDWARE(kWaits);
  EXPECT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
  for (const bool reset : {true, false}) {
    opened = false;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleLoadData(&module, kKernels), CUDA_SUCCESS);
    void* pinned = nullptr;
    ASSERT_EQ(cuMemHostAlloc(&pinned, 8, 0), CUDA_SUCCESS);
    std::memset(pinned, 0, 8);
    gate = reinterpret_cast<CUdeviceptr>(pinned);
    s = stream();
    block(s);
    {
      const TimeLimit limit(reset ? "cuDevicePrimaryCtxReset" : "cuDevicePrimaryCtxRelease");
      EXPECT_EQ(reset ? cuDevicePrimaryCtxReset_v2(0) : cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    }
    EXPECT_FALSE(opened);
    opened = true;  // the function, where there is one
  }
}

TEST_P(ContextEndings, OfALoopThatNothingCanLeave) {
  SKIP_ON_HARDWARE(kWaits);
  if (GetParam() != Blocker::kernel) return;
  launch_other("spin");
  const TimeLimit limit("cuCtxDestroy");
  EXPECT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
}

/// Work that gets on is done before its context goes.
TEST_P(ContextEndings, LetWorkFinishThatGetsOn) {
  SKIP_ON_HARDWARE(kWaits);
  unsigned* pinned = nullptr;
  ASSERT_EQ(cuMemHostAlloc(reinterpret_cast<void**>(&pinned), 4096, 0), CUDA_SUCCESS);
  std::vector<unsigned> result(1);
  *pinned = 37;
  launch_other("sum", pinned, result.data());  // memory of the program, which nothing ends
  EXPECT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
  EXPECT_EQ(result[0], 42u);
}

INSTANTIATE_TEST_SUITE_P(Behind, ContextEndings,
                         testing::Values(Blocker::kernel, Blocker::value, Blocker::function),
                         [](const auto& info) { return kBlockers[static_cast<int>(info.param)]; });

/// A program that ends does not wait for its kernels.
TEST(ProcessEnding, TakesKernelsAlong) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto end_while_a_kernel_runs = [] {
    const TimeLimit limit("exit");
    CUcontext context = nullptr;
    CUmodule others = nullptr;
    CUfunction spin = nullptr;
    if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v4(&context, nullptr, 0, 0) != CUDA_SUCCESS ||
        cuModuleLoadData(&others, kOthers) != CUDA_SUCCESS ||
        cuModuleGetFunction(&spin, others, "spin") != CUDA_SUCCESS ||
        cuLaunchKernel(spin, 64, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr) != CUDA_SUCCESS)
      std::exit(1);
    std::exit(42);
  };
  EXPECT_EXIT(end_while_a_kernel_runs(), testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace raddle::driver
