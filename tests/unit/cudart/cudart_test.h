// What the runtime's tests share: a fat binary as nvcc's constructors register one, with PTX in it, and
// stand-ins for its kernels and variables.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "raddle/cuda/cuda_runtime_api.h"

extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* stand_in, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*);
void __cudaRegisterVar(void** handle, char* stand_in, char*, const char* name, int, std::size_t bytes, int,
                       int);
void __cudaRegisterManagedVar(void** handle, void** pointer, char*, const char* name, int, std::size_t bytes,
                              int, int);
char __cudaInitModule(void** handle);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes, void* stream);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stand_in);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared_bytes, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                    std::size_t shared_bytes, cudaStream_t stream);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream);
cudaError_t cudaMemcpy_ptds(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
}

/// Ends the test when a call fails.
#define OK(call)                                                               \
  do {                                                                         \
    const cudaError_t error = (call);                                          \
    ASSERT_EQ(error, cudaSuccess) << #call << ": " << cudaGetErrorName(error); \
  } while (0)

namespace raddle::cudart {

/// scale(p, k): p[i] *= k, of threads i. wait(p): until *p is not 0. stop(): traps.
inline constexpr const char* kPtx = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .b32 total = 5;
.visible .const .align 4 .b8 table[16];
.visible .global .attribute(.managed) .align 4 .b32 both = 7;
.visible .entry scale(.param .u64 p, .param .u32 k)
{
  .reg .b32 %r<8>; .reg .b64 %d<4>;
  ld.param.u64 %d1, [p]; ld.param.u32 %r1, [k];
  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
  mad.lo.u32 %r6, %r3, %r4, %r5;
  mul.wide.u32 %d2, %r6, 4; add.u64 %d3, %d1, %d2;
  ld.global.u32 %r7, [%d3]; mul.lo.u32 %r7, %r7, %r1; st.global.u32 [%d3], %r7;
  ret;
}
.visible .entry wait(.param .u64 p)
{
  .reg .pred %z; .reg .b32 %r; .reg .b64 %d;
  ld.param.u64 %d, [p];
again:
  ld.acquire.sys.u32 %r, [%d];
  setp.eq.u32 %z, %r, 0;
  @%z bra again;
  ret;
}
.visible .entry stop() { trap; }
)";

/// A version-1 wrapper of a container with one stored PTX entry, without options, as nvcc writes it: NVIDIA's
/// driver looks for options wherever the entry points.
class Wrapper {
 public:
  explicit Wrapper(const std::string& ptx) {
    constexpr std::uint32_t kHeader = 80, kOptions = 64;
    const std::size_t payload = (ptx.size() + 1 + 7) / 8 * 8;
    put<std::uint32_t>(0xba55ed50), put<std::uint16_t>(1), put<std::uint16_t>(16);
    put<std::uint64_t>(kHeader + payload);
    put<std::uint16_t>(1), put<std::uint16_t>(0x101), put<std::uint32_t>(kHeader),
        put<std::uint64_t>(payload);
    put<std::uint32_t>(0), put<std::uint32_t>(kOptions), put<std::uint16_t>(0), put<std::uint16_t>(8);
    put<std::uint32_t>(90), put<std::uint64_t>(0), put<std::uint64_t>(0x11), put<std::uint64_t>(0);
    put<std::uint64_t>(0), put<std::uint32_t>(kOptions + 8), put<std::uint32_t>(0), put<std::uint64_t>(0);
    bytes_.resize(bytes_.size() + payload);
    std::memcpy(bytes_.data() + bytes_.size() - payload, ptx.data(), ptx.size());
    wrapper_.container = bytes_.data();
  }
  void* get() { return &wrapper_; }

 private:
  template <class T>
  void put(T value) {
    const auto* begin = reinterpret_cast<const char*>(&value);
    bytes_.insert(bytes_.end(), begin, begin + sizeof value);
  }
  std::vector<char> bytes_;
  struct {
    std::uint32_t magic = 0x466243b1, version = 1;
    const void* container = nullptr;
    const void* prelinked = nullptr;
  } wrapper_;
};

/// Registers the program above; a stand-in of a kernel or variable is the address of a member.
class Runtime : public testing::Test {
 protected:
  void SetUp() override {
    binary = __cudaRegisterFatBinary(wrapper.get());
    __cudaRegisterFunction(binary, &scale, const_cast<char*>("scale"), "scale", -1, nullptr, nullptr, nullptr,
                           nullptr, nullptr);
    __cudaRegisterFunction(binary, &wait, const_cast<char*>("wait"), "wait", -1, nullptr, nullptr, nullptr,
                           nullptr, nullptr);
    __cudaRegisterFunction(binary, &stop, const_cast<char*>("stop"), "stop", -1, nullptr, nullptr, nullptr,
                           nullptr, nullptr);
    __cudaRegisterFunction(binary, &absent, const_cast<char*>("absent"), "absent", -1, nullptr, nullptr,
                           nullptr, nullptr, nullptr);
    __cudaRegisterVar(binary, &total, const_cast<char*>("total"), "total", 0, 4, 0, 0);
    __cudaRegisterVar(binary, &table, const_cast<char*>("table"), "table", 0, 16, 1, 0);
    __cudaRegisterManagedVar(binary, &both, const_cast<char*>("both"), "both", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(binary);
    (void)cudaGetLastError();
  }
  void TearDown() override { __cudaUnregisterFatBinary(binary); }

  cudaError_t launch_scale(void* data, unsigned by, dim3 grid, dim3 block, cudaStream_t stream = nullptr) {
    void* arguments[] = {&data, &by};
    return cudaLaunchKernel(&scale, grid, block, arguments, 0, stream);
  }

  Wrapper wrapper{kPtx};
  void** binary = nullptr;
  char scale = 0, wait = 0, stop = 0, absent = 0, total = 0, table = 0;
  void* both = nullptr;
};

}  // namespace raddle::cudart
