// Streams that wait for values and write them; attributes of streams; capture that never happens; callbacks
// that call.
#include <atomic>

#include "driver_test.h"
#include "wait_until.h"

namespace raddle::driver {
namespace {

using Values = std::vector<unsigned>;

class StreamValues : public Driver {
 protected:
  void SetUp() override {
    Driver::SetUp();
    s = stream(STREAM_NON_BLOCKING);
    other = stream(STREAM_NON_BLOCKING);
    void* pinned = nullptr;  // which the host reaches on hardware, too
    ASSERT_EQ(cuMemHostAlloc(&pinned, 8, 0), CUDA_SUCCESS);
    word = reinterpret_cast<CUdeviceptr>(pinned);
    host(0);
  }
  /// The word as the host sees and writes it.
  std::atomic_ref<std::uint64_t> at() { return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(word)); }
  void host(std::uint64_t value) { at() = value; }
  bool waits() {
    give_others_a_chance();
    return cuStreamQuery(s) == CUDA_ERROR_NOT_READY;
  }
  void goes_on() { EXPECT_EQ(cuStreamSynchronize(s), CUDA_SUCCESS); }
  CUstream s = nullptr, other = nullptr;
  CUdeviceptr word = 0;
};

TEST_F(StreamValues, WaitsEndWhenTheHostWrites) {
  host(5);
  EXPECT_EQ(cuStreamWaitValue32_v2(s, word, 7, WAIT_VALUE_GEQ), CUDA_SUCCESS);
  EXPECT_TRUE(waits());
  host(6);
  EXPECT_TRUE(waits());
  host(8);
  goes_on();
  host(0x80000008);  // numbers go around: 7 is not behind this
  EXPECT_EQ(cuStreamWaitValue32_v2(s, word, 7, WAIT_VALUE_GEQ), CUDA_SUCCESS);
  EXPECT_TRUE(waits());
  EXPECT_EQ(cuStreamWaitValue32_v2(other, word, 0x7fffffff, WAIT_VALUE_GEQ), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(other), CUDA_SUCCESS);
  host(7);
  goes_on();
  EXPECT_EQ(cuStreamWaitValue32_v2(s, word, 9, WAIT_VALUE_EQ), CUDA_SUCCESS);
  EXPECT_TRUE(waits());
  host(9);
  goes_on();
  EXPECT_EQ(cuStreamWaitValue32_v2(s, word, 6, WAIT_VALUE_AND), CUDA_SUCCESS);
  EXPECT_TRUE(waits());
  host(2);
  goes_on();
  host(0xffffffff);
  EXPECT_EQ(cuStreamWaitValue32_v2(s, word, 1, WAIT_VALUE_NOR | (on_hardware() ? 0 : 1u << 30)),
            CUDA_SUCCESS);
  EXPECT_TRUE(waits());
  host(0xfffffffd);
  goes_on();
}

TEST_F(StreamValues, OfEightBytesToo) {
  const std::uint64_t big = std::uint64_t{1} << 40;
  EXPECT_EQ(cuStreamWaitValue64_v2(s, word, big, WAIT_VALUE_GEQ), CUDA_SUCCESS);
  EXPECT_TRUE(waits());
  EXPECT_EQ(cuStreamWriteValue64_v2(other, word, big + 1, 0), CUDA_SUCCESS);
  goes_on();
  EXPECT_EQ(cuStreamWaitValue64_v2(s, word, big, WAIT_VALUE_EQ), CUDA_SUCCESS);
  EXPECT_TRUE(waits());
  EXPECT_EQ(cuStreamWriteValue64_v2(other, word, big, 0), CUDA_SUCCESS);
  goes_on();
  EXPECT_EQ(at(), big);
}

// The entries of CUDA 8. Drivers of today serve them only where a parameter of the kernel module says so: an
// H200 answered CUDA_ERROR_NOT_SUPPORTED (2026-11-26).
TEST_F(StreamValues, OldEntriesServe) {
  SKIP_ON_HARDWARE("not supported");
  EXPECT_EQ(cuStreamWaitValue32(s, word, 7, WAIT_VALUE_GEQ), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32(other, word, 7, 0), CUDA_SUCCESS);
  goes_on();
  EXPECT_EQ(cuStreamWaitValue64(s, word, 9, WAIT_VALUE_EQ), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue64(other, word, 9, WRITE_VALUE_NO_BARRIER), CUDA_SUCCESS);
  goes_on();
  EXPECT_EQ(at(), 9u);
  CUstreamBatchMemOpParams ops[2]{};
  ops[0].value = {MEM_OP_WRITE_VALUE_32, word, 5, 0, 0};
  ops[1].flags_only = {MEM_OP_BARRIER, 0};
  EXPECT_EQ(cuStreamBatchMemOp(s, 2, ops, 0), CUDA_ERROR_INVALID_VALUE);  // barriers came later
  ops[1].flags_only = {MEM_OP_FLUSH_REMOTE_WRITES, 0};
  EXPECT_EQ(cuStreamBatchMemOp(s, 2, ops, 0), CUDA_SUCCESS);
  goes_on();
  EXPECT_EQ(at(), 5u);
}

TEST_F(StreamValues, KernelsAndStreamsAnswerEachOther) {
  const CUdeviceptr reply = allocate(8);
  EXPECT_EQ(cuMemsetD32_v2(reply, 0, 2), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(launch("wait", other, word, reply), CUDA_SUCCESS);  // until the word is not 0, then writes it
  EXPECT_EQ(cuStreamWaitValue32_v2(s, reply, 3, WAIT_VALUE_EQ), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32_v2(s, reply, 4, 0), CUDA_SUCCESS);
  EXPECT_TRUE(waits());
  const CUstream third = stream(STREAM_NON_BLOCKING);
  EXPECT_EQ(cuStreamWriteValue32_v2(third, word, 3, 0), CUDA_SUCCESS);
  goes_on();
  EXPECT_EQ(download(reply, 1), Values{4});
}

TEST_F(StreamValues, WaitsDoNotHoldUpOtherStreams) {
  std::atomic<bool> called{false};
  EXPECT_EQ(cuStreamWaitValue32_v2(s, word, 1, WAIT_VALUE_EQ), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(allocate(4), 1, 1, other), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchHostFunc(
                other, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &called),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(other), CUDA_SUCCESS);
  EXPECT_TRUE(called);
  EXPECT_TRUE(waits());
  host(1);
  goes_on();
}

TEST_F(StreamValues, AWaitEndsWithItsContextsFault) {
  SKIP_ON_HARDWARE("it does not");
  EXPECT_EQ(cuStreamWaitValue32_v2(s, word, 1, WAIT_VALUE_EQ), CUDA_SUCCESS);
  EXPECT_EQ(launch("fault", other, CUdeviceptr{16}), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(StreamValues, BatchesRunInOrder) {
  CUstreamBatchMemOpParams ops[4]{};
  ops[0].value = {MEM_OP_WRITE_VALUE_32, word, 5, 0, 0};
  ops[1].value = {MEM_OP_WAIT_VALUE_32, word, 6, WAIT_VALUE_EQ, 0};
  ops[2].value = {MEM_OP_WRITE_VALUE_64, word, 1ull << 33, 0, 0};
  ops[3].flags_only = {MEM_OP_BARRIER, 0};
  EXPECT_EQ(cuStreamBatchMemOp_v2(s, 4, ops, 0), CUDA_SUCCESS);
  ASSERT_TRUE(wait_until([this] { return at() == 5u; }));
  EXPECT_TRUE(waits());
  host(6);
  goes_on();
  EXPECT_EQ(at(), 1ull << 33);
  if (!on_hardware()) ops[3].flags_only = {MEM_OP_FLUSH_REMOTE_WRITES, 0};
  ops[1].value = {MEM_OP_WAIT_VALUE_64, word, 5, WAIT_VALUE_GEQ, 0};
  EXPECT_EQ(cuStreamBatchMemOp_v2(s, 4, ops, 0), CUDA_SUCCESS);
  goes_on();
  host(77);
  ops[2].value.address = 3;
  EXPECT_EQ(cuStreamBatchMemOp_v2(s, 4, ops, 0), CUDA_ERROR_INVALID_VALUE);
  goes_on();
  EXPECT_EQ(at(), 77u);  // none of a wrong batch
  if (!on_hardware()) EXPECT_EQ(cuStreamBatchMemOp_v2(s, 0, ops, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamBatchMemOp_v2(s, 257, ops, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamBatchMemOp_v2(s, 1, ops, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StreamValues, AddressesAndFlagsAreChecked) {
  std::uint64_t plain = 0;
  EXPECT_EQ(cuStreamWaitValue32_v2(s, word + 2, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWaitValue64_v2(s, word + 4, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWaitValue32_v2(s, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWriteValue32_v2(s, reinterpret_cast<CUdeviceptr>(&plain), 1, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWriteValue32_v2(s, word, 1, WRITE_VALUE_NO_BARRIER), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWaitValue32_v2(s, word, 1, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWriteValue64_v2(s, word, 1, 2), CUDA_ERROR_INVALID_VALUE);
  if (!on_hardware())
    EXPECT_EQ(cuStreamWriteValue32_v2(reinterpret_cast<CUstream>(0x777), word, 1, 0),
              CUDA_ERROR_INVALID_HANDLE);
  goes_on();
  EXPECT_EQ(at(), 0u);
}

TEST_F(StreamValues, StreamsHaveNumbersAndPlaces) {
  unsigned long long one = 0, two = 0, legacy = 0;
  CUdevice device = 7;
  CUcontext of = nullptr;
  auto green = reinterpret_cast<CUgreenCtx>(7);
  EXPECT_EQ(cuStreamGetId(s, &one), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamGetId(other, &two), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamGetId(nullptr, &legacy), CUDA_SUCCESS);
  EXPECT_TRUE(one != two && two != legacy && legacy != one);
  EXPECT_EQ(cuStreamGetDevice(s, &device), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuStreamGetCtx_v2(s, &of, &green), CUDA_SUCCESS);
  EXPECT_EQ(of, context);
  EXPECT_EQ(green, nullptr);
  green = reinterpret_cast<CUgreenCtx>(7);
  EXPECT_EQ(cuStreamGetGreenCtx(s, &green), CUDA_SUCCESS);
  EXPECT_EQ(green, nullptr);
  SKIP_ON_HARDWARE("follows the handle");
  EXPECT_EQ(cuStreamGetId(reinterpret_cast<CUstream>(0x777), &one), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(StreamValues, AttributesAreKeptAndCopied) {
  CUstreamAttrValue value{};
  int priority = 7;
  EXPECT_EQ(cuStreamGetAttribute(s, STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(value.number, 1);  // an H200's driver leaves what the program had there
  value.number = 4;
  EXPECT_EQ(cuStreamSetAttribute(s, STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value), CUDA_SUCCESS);
  value.number = -2;
  EXPECT_EQ(cuStreamSetAttribute(s, STREAM_ATTRIBUTE_PRIORITY, &value), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamGetPriority(s, &priority), CUDA_SUCCESS);
  EXPECT_EQ(priority, -2);
  EXPECT_EQ(cuStreamCopyAttributes(other, s), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamGetAttribute(other, STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.number, 4);
  EXPECT_EQ(cuStreamGetAttribute(other, STREAM_ATTRIBUTE_PRIORITY, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.number, -2);
  EXPECT_EQ(cuStreamGetAttribute(s, STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.domains[1], 1);
  value = {};
  value.number = 9;
  EXPECT_EQ(cuStreamSetAttribute(s, STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamSetAttribute(s, 2, &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamGetAttribute(s, 99, &value), CUDA_ERROR_INVALID_VALUE);
  value.window = {reinterpret_cast<void*>(word), 8, 1.0f, 0, 0};
  EXPECT_EQ(cuStreamSetAttribute(s, STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value), CUDA_SUCCESS);
  value.window.num_bytes = (128 << 20) + 1;
  if (!on_hardware())
    EXPECT_EQ(cuStreamSetAttribute(s, STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value),
              CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StreamValues, FunctionsThatStreamsCallMustNotCallBack) {
  SKIP_ON_HARDWARE("waits for ever");
  CUresult results[2] = {CUDA_SUCCESS, CUDA_SUCCESS};
  EXPECT_EQ(cuLaunchHostFunc(
                s, [](void* result) { *static_cast<CUresult*>(result) = cuCtxSynchronize(); }, &results[0]),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamAddCallback(
                s,
                [](CUstream stream, CUresult, void* result) {
                  *static_cast<CUresult*>(result) = cuStreamSynchronize(stream);
                },
                &results[1], 0),
            CUDA_SUCCESS);
  goes_on();
  EXPECT_EQ(results[0], CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(results[1], CUDA_ERROR_NOT_PERMITTED);
}

}  // namespace
}  // namespace raddle::driver
