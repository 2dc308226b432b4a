// The driver's log of errors, registers that functions report, and the old barrier of cooperative grids.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "driver_test.h"

namespace raddle::driver {
namespace {

void keep(void* data, CUlogLevel level, char* message, std::size_t length) {
  EXPECT_EQ(level, LOG_LEVEL_ERROR);
  static_cast<std::vector<std::string>*>(data)->emplace_back(message, length);
}

TEST_F(Driver, ErrorsAreLogged) {
  std::vector<std::string> told;
  CUlogsCallbackHandle handle = nullptr;
  CUlogIterator before = 0;
  ASSERT_EQ(cuLogsRegisterCallback(&keep, &told, &handle), CUDA_SUCCESS);
  EXPECT_EQ(cuLogsRegisterCallback(nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuLogsCurrent(&before, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuLogsCurrent(&before, 1), CUDA_ERROR_INVALID_VALUE);
  CUmodule wrong = nullptr;
  EXPECT_EQ(cuModuleLoadData(&wrong, ".version 8.0\n.target sm_90\n.address_size 64\nrubbish\n"),
            CUDA_ERROR_INVALID_PTX);
  ASSERT_FALSE(told.empty());
  EXPECT_THAT(told.back(), testing::HasSubstr("rubbish"));

  char text[1000];
  std::size_t bytes = sizeof text;
  CUlogIterator from = before;
  ASSERT_EQ(cuLogsDumpToMemory(&from, text, &bytes, 0), CUDA_SUCCESS);
  EXPECT_EQ(std::string(text), told.back() + "\n");
  EXPECT_EQ(bytes, told.back().size() + 1);
  bytes = sizeof text;
  ASSERT_EQ(cuLogsDumpToMemory(&from, text, &bytes, 0), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 0u);  // told already
  bytes = 0;
  EXPECT_EQ(cuLogsDumpToMemory(&from, text, &bytes, 0), CUDA_ERROR_INVALID_VALUE);

  const std::string path = testing::TempDir() + "/raddle_log.txt";
  ASSERT_EQ(cuLogsDumpToFile(&before, path.c_str(), 0), CUDA_SUCCESS);
  std::ifstream file(path);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(file), {}), testing::HasSubstr("rubbish"));
  EXPECT_EQ(cuLogsDumpToFile(nullptr, "/nowhere/log", 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLogsUnregisterCallback(handle), CUDA_SUCCESS);
  EXPECT_EQ(cuLogsUnregisterCallback(handle), CUDA_ERROR_INVALID_VALUE);
}

// What a kernel reads once from its parameters or a constant needs no register for the rest of its time.
TEST_F(Driver, RegistersAreWhatAnAssemblerWouldTake) {
  std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n";
  const auto kernel = [&](const std::string& name, const std::string& directives) {
    std::string sum, loads;
    for (int i = 0; i < 60; ++i) {
      loads += fmt::format("ld.global.u32 %v{}, [%p+{}];\n", i, 4 * i);
      sum += fmt::format("add.u32 %s, %s, %v{};\n", i);
    }
    text += ".visible .entry " + name + "(.param .u64 p) " + directives +
            "{ .reg .b64 %p; .reg .b32 %v<60>, %s; ld.param.u64 %p, [p]; mov.u32 %s, 0;\n" + loads + sum +
            "st.global.u32 [%p], %s; ret; }\n";
  };
  kernel("wide", "");
  kernel("capped", ".maxnreg 40 ");
  kernel("bound", ".maxntid 1024, 1, 1 .minnctapersm 2 ");
  CUmodule code = nullptr;
  ASSERT_EQ(cuModuleLoadData(&code, text.c_str()), CUDA_SUCCESS);
  const auto registers = [&](const char* name) {
    CUfunction found = nullptr;
    int value = 0;
    EXPECT_EQ(cuModuleGetFunction(&found, code, name), CUDA_SUCCESS);
    EXPECT_EQ(cuFuncGetAttribute(&value, FUNC_NUM_REGS, found), CUDA_SUCCESS);
    return value;
  };
  EXPECT_THAT(registers("wide"), testing::AllOf(testing::Ge(60), testing::Le(75)));
  EXPECT_EQ(registers("capped"), 40);
  EXPECT_EQ(registers("bound"), 32);
}

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

}  // namespace
}  // namespace raddle::driver
