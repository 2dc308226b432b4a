// What the tests of endings share: a stream that something keeps from getting on, and kernels for it.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <thread>

#include "driver_test.h"
#include "unit/limit.h"

namespace raddle::driver {

using Values = std::vector<unsigned>;

/// spin: never ends. sum(p, q): *q = *p + the module's variable.
inline constexpr const char* kOthers = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 term = 5;
.visible .entry spin()
{
again:
  bra again;
}
.visible .entry sum(.param .u64 p, .param .u64 q)
{
  .reg .b32 %r<3>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q];
  ld.global.u32 %r1, [%d1]; ld.global.u32 %r2, [term];
  add.u32 %r1, %r1, %r2;
  st.global.u32 [%d2], %r1;
  ret;
}
.visible .entry fetch(.param .u64 t, .param .u64 q)
{
  .reg .b32 %r<5>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [t]; ld.param.u64 %d2, [q];
  mov.u32 %r1, 0;
  tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%d1, {%r1}];
  st.global.u32 [%d2], %r1;
  ret;
}
)";

/// What keeps a stream from getting on.
enum class Blocker { kernel, value, function };
inline constexpr const char* kBlockers[] = {"AnEndlessKernel", "AValueNeverWritten", "ABlockedFunction"};

class Endings : public Driver, public testing::WithParamInterface<Blocker> {
 protected:
  void SetUp() override {
    Driver::SetUp();
    s = stream(STREAM_NON_BLOCKING);
    void* pinned = nullptr;  // which the host reaches on hardware, too
    ASSERT_EQ(cuMemHostAlloc(&pinned, 8, 0), CUDA_SUCCESS);
    std::memset(pinned, 0, 8);
    gate = reinterpret_cast<CUdeviceptr>(pinned);
    ASSERT_EQ(cuModuleLoadData(&others, kOthers), CUDA_SUCCESS);
    // Now, for loading may wait for what is blocked later.
    for (const char* name : {"spin", "sum", "fetch"}) {
      CUfunction found = nullptr;
      ASSERT_EQ(cuModuleGetFunction(&found, others, name), CUDA_SUCCESS);
      ASSERT_EQ(cuFuncLoad(found), CUDA_SUCCESS);
    }
    for (const char* name : {"wait", "scale"}) ASSERT_EQ(cuFuncLoad(function(name)), CUDA_SUCCESS);
    out = upload({0});
  }
  void TearDown() override {
    open();
    const TimeLimit limit("cuCtxDestroy");
    Driver::TearDown();
  }

  std::atomic_ref<unsigned> word() { return std::atomic_ref(*reinterpret_cast<unsigned*>(gate)); }
  void open() {
    word() = 1;
    opened = true;
  }
  void block(CUstream stream) {
    switch (GetParam()) {
      case Blocker::kernel:
        ASSERT_EQ(launch("wait", stream, gate, gate + 4), CUDA_SUCCESS);
        break;
      case Blocker::value:
        ASSERT_EQ(cuStreamWaitValue32_v2(stream, gate, 1, WAIT_VALUE_EQ), CUDA_SUCCESS);
        break;
      case Blocker::function:
        ASSERT_EQ(cuLaunchHostFunc(
                      stream,
                      [](void* flag) {
                        while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::yield();
                      },
                      &opened),
                  CUDA_SUCCESS);
        break;
    }
  }
  /// A kernel of the other module, in the blocked stream.
  template <class... Parameters>
  void launch_other(const char* name, Parameters... parameters) {
    CUfunction found = nullptr;
    ASSERT_EQ(cuModuleGetFunction(&found, others, name), CUDA_SUCCESS);
    void* pointers[] = {&parameters..., nullptr};
    ASSERT_EQ(cuLaunchKernel(found, 1, 1, 1, 1, 1, 1, 0, s, pointers, nullptr), CUDA_SUCCESS);
  }
  /// Makes a call that has to return while the stream is blocked.
  void returns(const char* name, const std::function<CUresult()>& call) {
    const TimeLimit limit(name);
    EXPECT_EQ(call(), CUDA_SUCCESS) << name;
    EXPECT_FALSE(opened) << name;
  }
  void finish() {
    open();
    const TimeLimit limit("cuCtxSynchronize");
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }

  CUstream s = nullptr;
  CUdeviceptr gate = 0, out = 0;
  CUmodule others = nullptr;
  /// Of this test alone: a function may look at it after the test.
  std::atomic<bool>& opened = []() -> std::atomic<bool>& {
    static std::deque<std::atomic<bool>> flags;
    return flags.emplace_back(false);
  }();
};

}  // namespace raddle::driver
