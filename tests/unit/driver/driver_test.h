// What the driver's tests share: the exported symbols, as a program sees them, and a context with kernels in
// it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "driver/exported.h"

namespace raddle::driver {

inline constexpr CUmemLocation kDevice{LOCATION_DEVICE, 0};

/// Whether a GPU's driver answers (tests/hardware/ask), not Raddle's: it lacks what only Raddle promises
/// (docs/hardware.md), and follows handles that are none.
inline bool on_hardware() {
  char name[64] = "Raddle";
  return cuDeviceGetName(name, sizeof name, 0) == CUDA_SUCCESS && std::strncmp(name, "Raddle", 6) != 0;
}
/// Leaves out a test, or its rest, that hardware cannot pass, or not in time.
#define SKIP_ON_HARDWARE(why) \
  if (on_hardware()) GTEST_SKIP() << (why)

/// scale(p, k, n): p[i] *= k. wait(p, q): until *p is not 0, then *q = *p. fault(p): writes to p. total:
/// counts blocks.
inline constexpr const char* kKernels = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 total = 5;
.visible .entry scale(.param .u64 p, .param .u32 k, .param .u32 n)
{
  .reg .pred %q; .reg .b32 %r<8>; .reg .b64 %d<4>;
  ld.param.u64 %d1, [p]; ld.param.u32 %r1, [k]; ld.param.u32 %r2, [n];
  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
  mad.lo.u32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %q, %r6, %r2;
  @%q bra done;
  mul.wide.u32 %d2, %r6, 4; add.u64 %d3, %d1, %d2;
  ld.global.u32 %r7, [%d3]; mul.lo.u32 %r7, %r7, %r1; st.global.u32 [%d3], %r7;
done:
  ret;
}
.visible .entry wait(.param .u64 p, .param .u64 q)
{
  .reg .pred %z; .reg .b32 %r; .reg .b64 %d<3>;
  ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q];
again:
  ld.acquire.sys.global.u32 %r, [%d1];
  setp.eq.u32 %z, %r, 0;
  @%z bra again;
  st.release.sys.global.u32 [%d2], %r;
  ret;
}
.visible .entry fault(.param .u64 p)
{
  .reg .b64 %d;
  ld.param.u64 %d, [p];
  st.global.u32 [%d], 1;
  ret;
}
.visible .entry stop() { trap; }
.visible .entry tiles()
.maxntid 64, 1, 1
{
  .shared .align 4 .b8 tile[2048];
  .reg .b32 %r;
  ld.shared.u32 %r, [tile];
  st.shared.u32 [tile+4], %r;
  ret;
}
)";

class Driver : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxCreate_v4(&context, nullptr, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleLoadData(&module, kKernels), CUDA_SUCCESS);
  }
  void TearDown() override { EXPECT_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS); }

  CUfunction function(const char* name) {
    CUfunction found = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&found, module, name), CUDA_SUCCESS) << name;
    return found;
  }
  CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc_v2(&address, bytes), CUDA_SUCCESS);
    return address;
  }
  CUdeviceptr upload(const std::vector<unsigned>& values) {
    const CUdeviceptr address = allocate(values.size() * 4);
    EXPECT_EQ(cuMemcpyHtoD_v2(address, values.data(), values.size() * 4), CUDA_SUCCESS);
    return address;
  }
  std::vector<unsigned> download(CUdeviceptr address, std::size_t count) {
    std::vector<unsigned> values(count);
    EXPECT_EQ(cuMemcpyDtoH_v2(values.data(), address, count * 4), CUDA_SUCCESS);
    return values;
  }
  /// One thread of a kernel, in a stream.
  template <class... Parameters>
  CUresult launch(const char* name, CUstream stream, Parameters... parameters) {
    void* pointers[] = {&parameters..., nullptr};
    return cuLaunchKernel(function(name), 1, 1, 1, 1, 1, 1, 0, stream, pointers, nullptr);
  }
  CUstream stream(unsigned flags = 0) {
    CUstream made = nullptr;
    EXPECT_EQ(cuStreamCreate(&made, flags), CUDA_SUCCESS);
    return made;
  }

  CUcontext context = nullptr;
  CUmodule module = nullptr;
};

}  // namespace raddle::driver
