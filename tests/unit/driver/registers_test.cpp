// The registers that functions report.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "driver_test.h"

namespace raddle::driver {
namespace {

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

}  // namespace
}  // namespace raddle::driver
