// The barrier of cooperative grids, and what threads know of their grid, by names of CUDA's older runtime.
#include "driver_test.h"

namespace raddle::driver {
namespace {

constexpr const char* kGridBarrier = R"(
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 h) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 e) cudaCGSynchronize(.param .b64 h, .param .b32 flags);
.visible .entry turn(.param .u64 p, .param .u64 errors)
{
  .reg .pred %q; .reg .b32 %b, %n, %v, %k, %e; .reg .b64 %p, %a, %h, %o;
  .param .b32 scope, flags, error; .param .b64 handle;
  ld.param.u64 %p, [p];
  ld.param.u64 %o, [errors];
  st.param.b32 [scope], 1;
  call (handle), cudaCGGetIntrinsicHandle, (scope);
  ld.param.b64 %h, [handle];
  mov.u32 %b, %ctaid.x;
  mov.u32 %n, %nctaid.x;
  mov.u32 %k, 0;
AGAIN:
  add.u32 %v, %b, 1;
  rem.u32 %v, %v, %n;
  mad.wide.u32 %a, %v, 4, %p;
  ld.relaxed.gpu.u32 %v, [%a];
  st.param.b64 [handle], %h;
  st.param.b32 [flags], 0;
  call (error), cudaCGSynchronize, (handle, flags);
  ld.param.b32 %e, [error];
  mad.wide.u32 %a, %b, 4, %p;
  st.relaxed.gpu.u32 [%a], %v;
  st.param.b64 [handle], %h;
  st.param.b32 [flags], 0;
  call (error), cudaCGSynchronize, (handle, flags);
  add.u32 %k, %k, 1;
  setp.lt.u32 %q, %k, 3;
  @%q bra AGAIN;
  st.global.u32 [%o], %e;
  ret;
}
)";

TEST_F(Driver, CooperativeGridsMeetByTheirOldNames) {
  SKIP_ON_HARDWARE("its device runtime comes from nvcc");
  CUmodule code = nullptr;
  CUfunction turn = nullptr;
  ASSERT_EQ(cuModuleLoadData(&code, kGridBarrier), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&turn, code, "turn"), CUDA_SUCCESS);
  CUdeviceptr values = upload({0, 1, 2, 3, 4, 5, 6, 7}), error = upload({9});
  void* parameters[] = {&values, &error};
  ASSERT_EQ(cuLaunchCooperativeKernel(turn, 8, 1, 1, 64, 1, 1, 0, nullptr, parameters), CUDA_SUCCESS);
  EXPECT_EQ(download(values, 8), (std::vector<unsigned>{3, 4, 5, 6, 7, 0, 1, 2}));
  EXPECT_EQ(download(error, 1)[0], 0u);
  // A grid that was not launched so has no barrier: cudaErrorInvalidValue.
  ASSERT_EQ(cuLaunchKernel(turn, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(download(error, 1)[0], 1u);
}

constexpr const char* kGridPlaces = R"(
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 e) cudaCGGetSize(.param .b64 threads, .param .b64 grids, .param .b64 handle);
.extern .func (.param .b32 e) cudaCGGetRank(.param .b64 thread, .param .b64 grid, .param .b64 handle);
.visible .entry places(.param .u64 p)
{
  .reg .b32 %b, %t, %i, %e; .reg .b64 %p, %a;
  .param .b32 error; .param .b64 first, second, handle;
  ld.param.u64 %p, [p];
  mov.u32 %b, %ctaid.y; mov.u32 %t, %nctaid.x; mov.u32 %i, %ctaid.x; mad.lo.u32 %b, %b, %t, %i;
  mov.u32 %t, %ntid.x; mul.lo.u32 %b, %b, %t; mov.u32 %t, %ntid.y; mul.lo.u32 %b, %b, %t;
  mov.u32 %t, %tid.y; mov.u32 %i, %ntid.x; mul.lo.u32 %t, %t, %i; mov.u32 %i, %tid.x; add.u32 %t, %t, %i;
  add.u32 %b, %b, %t;
  mad.wide.u32 %a, %b, 16, %p;
  st.param.b64 [first], %a; add.u64 %a, %a, 4; st.param.b64 [second], %a; st.param.b64 [handle], 1;
  call (error), cudaCGGetSize, (first, second, handle);
  add.u64 %a, %a, 4; st.param.b64 [first], %a; add.u64 %a, %a, 4; st.param.b64 [second], %a;
  call (error), cudaCGGetRank, (first, second, handle);
  st.param.b64 [first], 0; st.param.b64 [second], 0;
  call (error), cudaCGGetRank, (first, second, handle);
  call (error), cudaCGGetSize, (first, second, handle);
  ret;
}
)";

// Each thread writes how many there are, in how many grids, its number, and its grid's.
TEST_F(Driver, GridsKnowTheirSizeAndRanks) {
  SKIP_ON_HARDWARE("its device runtime comes from nvcc");
  CUmodule code = nullptr;
  CUfunction places = nullptr;
  ASSERT_EQ(cuModuleLoadData(&code, kGridPlaces), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&places, code, "places"), CUDA_SUCCESS);
  constexpr unsigned kThreads = 3 * 2 * 4 * 5;
  CUdeviceptr found = upload(std::vector<unsigned>(4 * kThreads, 77));
  void* parameters[] = {&found};
  ASSERT_EQ(cuLaunchKernel(places, 3, 2, 1, 4, 5, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
  const std::vector<unsigned> words = download(found, 4 * kThreads);
  for (unsigned thread = 0; thread < kThreads; ++thread)
    EXPECT_EQ((std::vector<unsigned>(words.begin() + 4 * thread, words.begin() + 4 * thread + 4)),
              (std::vector<unsigned>{kThreads, 1, thread, 0}));
}

}  // namespace
}  // namespace raddle::driver
