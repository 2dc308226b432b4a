// The registers that functions report.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "driver_test.h"

namespace raddle::driver {
namespace {

/// Kernels that read 60 words, then add them up: one without directives, one of 40 registers, one of 32 by
/// its blocks.
std::string kernels_of_60_words() {
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
  return text;
}

int registers_of(CUmodule code, const char* name) {
  CUfunction found = nullptr;
  int value = 0;
  EXPECT_EQ(cuModuleGetFunction(&found, code, name), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncGetAttribute(&value, FUNC_NUM_REGS, found), CUDA_SUCCESS);
  return value;
}

// What a kernel reads once from its parameters or a constant needs no register for the rest of its time.
TEST_F(Driver, RegistersAreWhatAnAssemblerWouldTake) {
  SKIP_ON_HARDWARE("its assembler counts otherwise");
  CUmodule code = nullptr;
  ASSERT_EQ(cuModuleLoadData(&code, kernels_of_60_words().c_str()), CUDA_SUCCESS);
  EXPECT_THAT(registers_of(code, "wide"), testing::AllOf(testing::Ge(60), testing::Le(75)));
  EXPECT_EQ(registers_of(code, "capped"), 40);
  EXPECT_EQ(registers_of(code, "bound"), 32);
}

/// CU_JIT_MAX_REGISTERS
struct MostRegisters {
  explicit MostRegisters(std::uintptr_t most) : values{reinterpret_cast<void*>(most)} {}
  int options[1] = {0};
  void* values[1];
};

TEST_F(Driver, ProgramsMayLimitRegisters) {
  SKIP_ON_HARDWARE("its assembler counts otherwise");
  const std::string text = kernels_of_60_words();
  MostRegisters most(24);
  CUmodule code = nullptr;
  ASSERT_EQ(cuModuleLoadDataEx(&code, text.c_str(), 1, most.options, most.values), CUDA_SUCCESS);
  EXPECT_EQ(registers_of(code, "wide"), 24);
  EXPECT_EQ(registers_of(code, "capped"), 40);  // .maxnreg goes before the option
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  int value = 0;
  ASSERT_EQ(cuLibraryLoadData(&library, text.c_str(), most.options, most.values, 1, nullptr, nullptr, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "wide"), CUDA_SUCCESS);
  EXPECT_EQ(cuKernelGetAttribute(&value, FUNC_NUM_REGS, kernel, 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 24);
  EXPECT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
}

// A link's limit is for all that is added to it; an input may have its own. The cubin keeps them.
TEST_F(Driver, LinksMayLimitRegisters) {
  SKIP_ON_HARDWARE("its assembler counts otherwise");
  std::string text = kernels_of_60_words();
  for (const bool own : {false, true}) {
    MostRegisters of_link(24), of_input(28);
    CUlinkState state = nullptr;
    ASSERT_EQ(cuLinkCreate_v2(1, of_link.options, of_link.values, &state), CUDA_SUCCESS);
    ASSERT_EQ(cuLinkAddData_v2(state, JIT_INPUT_PTX, text.data(), text.size() + 1, "words", own,
                               of_input.options, of_input.values),
              CUDA_SUCCESS);
    void* cubin = nullptr;
    ASSERT_EQ(cuLinkComplete(state, &cubin, nullptr), CUDA_SUCCESS);
    CUmodule code = nullptr;
    ASSERT_EQ(cuModuleLoadData(&code, cubin), CUDA_SUCCESS);
    EXPECT_EQ(registers_of(code, "wide"), own ? 28 : 24);
    EXPECT_EQ(registers_of(code, "capped"), 40);
    EXPECT_EQ(cuLinkDestroy(state), CUDA_SUCCESS);
  }
}

}  // namespace
}  // namespace raddle::driver
