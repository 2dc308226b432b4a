// Streams, events, functions of the host.
#include <atomic>

#include "cudart_test.h"
#include "unit/limit.h"

namespace raddle::cudart {
namespace {

TEST_F(Runtime, StreamsHaveFlagsAndPriorities) {
  int least = -1, greatest = 1, priority = 1;
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_LT(greatest, least);
  cudaStream_t stream, other;
  OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  OK(cudaStreamCreateWithFlags(&other, cudaStreamDefault));
  unsigned flags = 0;
  OK(cudaStreamGetFlags(stream, &flags));
  EXPECT_EQ(flags, unsigned{cudaStreamNonBlocking});
  OK(cudaStreamGetPriority(stream, &priority));
  EXPECT_EQ(priority, greatest);
  EXPECT_EQ(cudaStreamCreateWithFlags(&other, 64), cudaErrorInvalidValue);
  OK(cudaStreamDestroy(stream));
  EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
}

// None of these calls waits for the kernel, and the kernel keeps what it uses.
TEST_F(Runtime, WhatIsUsedCanBeEnded) {
  const TimeLimit limit("cudaStreamDestroy, cudaEventDestroy, cudaFreeHost or cudaFreeAsync");
  cudaStream_t stream;
  cudaEvent_t event;
  int *word, *pinned, *pooled, *out;
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  OK(cudaEventCreate(&event));
  OK(cudaMallocManaged(reinterpret_cast<void**>(&word), 4, cudaMemAttachGlobal));
  OK(cudaMallocManaged(reinterpret_cast<void**>(&out), 4, cudaMemAttachGlobal));
  OK(cudaMallocHost(reinterpret_cast<void**>(&pinned), 4));
  OK(cudaMallocAsync(reinterpret_cast<void**>(&pooled), 4, stream));
  *word = 0, *pinned = 21, *out = 0;
  void* arguments[] = {&word};
  OK(cudaLaunchKernel(&wait, dim3(1), dim3(1), arguments, 0, stream));
  OK(launch_scale(pinned, 2, dim3(1), dim3(1), stream));
  OK(cudaMemcpyAsync(out, pinned, 4, cudaMemcpyDefault, stream));
  OK(cudaEventRecord(event, stream));
  OK(cudaFreeAsync(pooled, stream));
  OK(cudaFreeHost(pinned));
  OK(cudaEventDestroy(event));
  OK(cudaStreamDestroy(stream));
  EXPECT_EQ(*out, 0);
  __atomic_store_n(word, 1, __ATOMIC_RELEASE);
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(*out, 42);
}

TEST_F(Runtime, AResetEndsAKernelThatWaits) {
  const TimeLimit limit("cudaDeviceReset");
  int* word;
  OK(cudaMallocManaged(reinterpret_cast<void**>(&word), 4, cudaMemAttachGlobal));
  *word = 0;
  void* arguments[] = {&word};
  OK(cudaLaunchKernel(&wait, dim3(1), dim3(1), arguments, 0, nullptr));
  OK(cudaDeviceReset());
  OK(cudaMallocManaged(reinterpret_cast<void**>(&word), 4, cudaMemAttachGlobal));
  *word = 21;
  OK(launch_scale(word, 2, dim3(1), dim3(1), nullptr));
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(*word, 42);
}

TEST_F(Runtime, StreamsHaveNumbersAndDevices) {
  cudaStream_t stream, other;
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamCreate(&other));
  unsigned long long id = 0, other_id = 0;
  OK(cudaStreamGetId(stream, &id));
  OK(cudaStreamGetId(other, &other_id));
  EXPECT_NE(id, other_id);
  int device = -1;
  OK(cudaStreamGetDevice(stream, &device));
  EXPECT_EQ(device, 0);
}

TEST_F(Runtime, StreamsHaveAttributes) {
  cudaStream_t stream, other;
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamCreate(&other));
  cudaLaunchAttributeValue value = {};
  value.syncPolicy = cudaSyncPolicyYield;
  OK(cudaStreamSetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &value));
  OK(cudaStreamCopyAttributes(other, stream));
  value = {};
  OK(cudaStreamGetAttribute(other, cudaLaunchAttributeSynchronizationPolicy, &value));
  EXPECT_EQ(value.syncPolicy, cudaSyncPolicyYield);
}

TEST_F(Runtime, EventsOrderStreams) {
  cudaStream_t first, second;
  OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  cudaEvent_t start, end;
  OK(cudaEventCreate(&start));
  OK(cudaEventCreateWithFlags(&end, cudaEventBlockingSync));
  int* words;
  OK(cudaMallocManaged(reinterpret_cast<void**>(&words), 8, cudaMemAttachGlobal));
  words[0] = 0, words[1] = 5;
  void* arguments[] = {&words};
  OK(cudaLaunchKernel(&wait, dim3(1), dim3(1), arguments, 0, first));
  OK(cudaEventRecord(start, first));
  OK(cudaStreamWaitEvent(second, start, cudaEventWaitDefault));
  OK(launch_scale(words + 1, 2, dim3(1), dim3(1), second));
  OK(cudaEventRecordWithFlags(end, second, cudaEventRecordDefault));
  EXPECT_EQ(cudaEventQuery(end), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(second), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "what is not ready is no error that stays";
  EXPECT_EQ(words[1], 5);
  __atomic_store_n(words, 1, __ATOMIC_RELEASE);
  OK(cudaEventSynchronize(end));
  EXPECT_EQ(words[1], 10);
  OK(cudaStreamQuery(second));
  float milliseconds = -1;
  OK(cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 0);
  OK(cudaEventDestroy(start));
  EXPECT_EQ(cudaEventRecord(start, first), cudaErrorInvalidResourceHandle);
  OK(cudaEventDestroy(end));
}

TEST_F(Runtime, FunctionsOfTheHostRunInOrder) {
  cudaStream_t stream;
  OK(cudaStreamCreate(&stream));
  std::vector<int> order;
  OK(cudaLaunchHostFunc(
      stream, [](void* list) { static_cast<std::vector<int>*>(list)->push_back(1); }, &order));
  OK(cudaStreamAddCallback(
      stream,
      [](cudaStream_t, cudaError_t status, void* list) {
        static_cast<std::vector<int>*>(list)->push_back(status == cudaSuccess ? 2 : -1);
      },
      &order, 0));
  OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(order, (std::vector{1, 2}));
}

TEST_F(Runtime, ThreadsHaveDefaultStreamsOfTheirOwn) {
  int* word;
  OK(cudaMallocManaged(reinterpret_cast<void**>(&word), 4, cudaMemAttachGlobal));
  *word = 0;
  cudaKernel_t kernel;
  OK(__cudaGetKernel(&kernel, &wait));
  void* arguments[] = {&word};
  cudaStream_t other;
  OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  OK(__cudaLaunchKernel_ptsz(kernel, dim3(1), dim3(1), arguments, 0, nullptr));
  EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(other), cudaSuccess);
  __atomic_store_n(word, 1, __ATOMIC_RELEASE);
  OK(cudaStreamSynchronize_ptsz(nullptr));
  EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaSuccess);
  int copy = 0;
  OK(cudaMemcpy_ptds(&copy, word, 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(copy, 1);
}

}  // namespace
}  // namespace raddle::cudart
