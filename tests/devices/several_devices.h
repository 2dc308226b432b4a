// A process with several devices, for tests that see the driver as programs do. The test's own process never
// initialises the driver: each body runs in a child.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "driver/exported.h"

namespace raddle::driver {

/// The engines of this build, as RADDLE_ENGINE names them.
inline std::vector<std::string> engines() {
#ifdef RADDLE_TEST_JIT
  return {"interp", "jit"};
#else
  return {"interp"};
#endif
}

using Environment = std::map<std::string, std::string>;

/// Runs a body in a process with an environment; its failures are the test's.
inline void in_process(const Environment& environment, const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    body();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::string where;
  for (const auto& [name, value] : environment) where += name + "=" + value + " ";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "in the process with " << where;
}

/// add(p, k): *p += k. fault(p): writes to p. wait(p, q): until *p is not 0, then *q = *p. touch(p, n): reads
/// *p n times. mix(p, q): adds 1 to *p, and puts the sum of what an atomic, an asynchronous copy and a load
/// of four words find at p into *q. count(): counter += 1, of a managed variable.
inline constexpr const char* kKernels = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 counter = 40;
.visible .entry add(.param .u64 p, .param .u32 k)
{
  .reg .b32 %r<3>; .reg .b64 %d;
  ld.param.u64 %d, [p]; ld.param.u32 %r1, [k];
  ld.global.u32 %r2, [%d]; add.u32 %r2, %r2, %r1; st.global.u32 [%d], %r2;
  ret;
}
.visible .entry fault(.param .u64 p)
{
  .reg .b64 %d;
  ld.param.u64 %d, [p];
  st.global.u32 [%d], 1;
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
.visible .entry touch(.param .u64 p, .param .u32 n)
{
  .reg .pred %q; .reg .b32 %r<3>; .reg .b64 %d;
  ld.param.u64 %d, [p]; ld.param.u32 %r1, [n];
again:
  ld.volatile.global.u32 %r2, [%d];
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %q, %r1, 0;
  @%q bra again;
  ret;
}
.visible .entry mix(.param .u64 p, .param .u64 q)
{
  .shared .align 16 .b8 tile[16];
  .reg .b32 %r<9>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q];
  atom.global.add.u32 %r1, [%d1], 1;
  mov.u32 %r8, tile;
  cp.async.ca.shared.global [%r8], [%d1], 16;
  cp.async.wait_all;
  ld.shared.u32 %r2, [tile];
  ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%d1];
  add.u32 %r1, %r1, %r2; add.u32 %r3, %r3, %r4; add.u32 %r5, %r5, %r6;
  add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r5;
  red.global.add.u32 [%d2], %r1;
  ret;
}
.visible .entry count()
{
  .reg .b32 %r;
  ld.global.u32 %r, [counter]; add.u32 %r, %r, 1; st.global.u32 [counter], %r;
  ret;
}
)";

/// A context of a device with the kernels in it.
class On {
 public:
  explicit On(CUdevice number) : device(number) {
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxCreate_v4(&context, nullptr, 0, device), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleLoadData(&module, kKernels), CUDA_SUCCESS);
  }
  void use() const { EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS); }
  CUfunction function(const char* name) const {
    CUfunction found = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&found, module, name), CUDA_SUCCESS) << name;
    return found;
  }
  template <class... Parameters>
  CUresult launch_in(CUstream stream, const char* name, Parameters... parameters) const {
    use();
    void* pointers[] = {&parameters..., nullptr};
    return cuLaunchKernel(function(name), 1, 1, 1, 1, 1, 1, 0, stream, pointers, nullptr);
  }
  /// One thread of a kernel, and what comes of it.
  template <class... Parameters>
  CUresult run(const char* name, Parameters... parameters) const {
    const CUresult launched = launch_in(nullptr, name, parameters...);
    return launched == CUDA_SUCCESS ? cuCtxSynchronize() : launched;
  }
  CUdeviceptr allocate(std::size_t bytes) const {
    use();
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc_v2(&address, bytes), CUDA_SUCCESS);
    return address;
  }
  CUdeviceptr word(unsigned value) const {
    const CUdeviceptr address = allocate(4);
    EXPECT_EQ(cuMemcpyHtoD_v2(address, &value, 4), CUDA_SUCCESS);
    return address;
  }
  CUstream stream() const {
    use();
    CUstream made = nullptr;
    EXPECT_EQ(cuStreamCreate(&made, 1), CUDA_SUCCESS);
    return made;
  }
  CUevent event() const {
    use();
    CUevent made = nullptr;
    EXPECT_EQ(cuEventCreate(&made, 0), CUDA_SUCCESS);
    return made;
  }

  const CUdevice device;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
};

inline unsigned read(CUdeviceptr address) {
  unsigned value = 0;
  EXPECT_EQ(cuMemcpy(reinterpret_cast<CUdeviceptr>(&value), address, 4), CUDA_SUCCESS);
  return value;
}

/// Memory that a device has left.
inline std::size_t left_on(CUdevice device) {
  CUcontext before = nullptr, primary = nullptr;
  std::size_t left = 0, all = 0;
  EXPECT_EQ(cuCtxGetCurrent(&before), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&primary, device), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(primary), CUDA_SUCCESS);
  EXPECT_EQ(cuMemGetInfo_v2(&left, &all), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(before), CUDA_SUCCESS);
  return left;
}

}  // namespace raddle::driver
