// nvJitLink's interface: what links, what is refused and how, and that the result runs the driver's way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>

#include "fatbin/cubin.h"
#include "nvjitlink/abi.h"

namespace raddle::nvjitlink {
namespace {

extern "C" {
#define ENTRY(name, parameters, arguments)    \
  nvJitLinkResult nvJitLink##name parameters; \
  nvJitLinkResult __nvJitLink##name##_13_0 parameters;
#include "nvjitlink/entries.def"
#undef ENTRY
nvJitLinkResult nvJitLinkVersion(unsigned* major, unsigned* minor);
}

constexpr const char* kHead = ".version 8.0\n.target sm_90\n.address_size 64\n";
const std::string kCaller = std::string(kHead) +
                            ".extern .func (.param .b32 r) twice(.param .b32 x);\n"
                            ".visible .entry k(.param .u64 p) {\n"
                            "  .reg .b32 %r; .reg .b64 %d; .param .b32 x, r;\n"
                            "  ld.param.u64 %d, [p]; ld.global.u32 %r, [%d]; st.param.b32 [x], %r;\n"
                            "  call (r), twice, (x);\n"
                            "  ld.param.b32 %r, [r]; st.global.u32 [%d], %r; ret;\n}\n";
const std::string kCallee = std::string(kHead) +
                            ".visible .func (.param .b32 r) twice(.param .b32 x) {\n"
                            "  .reg .b32 %r; ld.param.u32 %r, [x]; add.u32 %r, %r, %r;\n"
                            "  st.param.b32 [r], %r; ret;\n}\n";

nvJitLinkResult create(std::vector<const char*> options, nvJitLinkHandle* link) {
  return nvJitLinkCreate(link, static_cast<std::uint32_t>(options.size()), options.data());
}

class NvJitLink : public testing::Test {
 protected:
  void open(std::vector<const char*> options) { ASSERT_EQ(create(options, &link), NVJITLINK_SUCCESS); }
  void TearDown() override {
    EXPECT_EQ(nvJitLinkDestroy(&link), NVJITLINK_SUCCESS);
    EXPECT_EQ(link, nullptr);
  }
  nvJitLinkResult add(const std::string& bytes, nvJitLinkInputType type = NVJITLINK_INPUT_PTX) {
    return nvJitLinkAddData(link, type, bytes.data(), bytes.size(), "given.ptx");
  }
  std::string cubin() {
    std::size_t bytes = 0;
    EXPECT_EQ(nvJitLinkGetLinkedCubinSize(link, &bytes), NVJITLINK_SUCCESS);
    std::string code(bytes, '\0');
    EXPECT_EQ(nvJitLinkGetLinkedCubin(link, code.data()), NVJITLINK_SUCCESS);
    return code;
  }
  std::string errors() {
    std::size_t bytes = 0;
    EXPECT_EQ(nvJitLinkGetErrorLogSize(link, &bytes), NVJITLINK_SUCCESS);
    std::string log(bytes, '\0');
    EXPECT_EQ(nvJitLinkGetErrorLog(link, log.data()), NVJITLINK_SUCCESS);
    return log;
  }
  nvJitLinkHandle link = nullptr;
};

TEST_F(NvJitLink, PtxBecomesACubinThatCarriesIt) {
  open({"-arch=sm_90", "-maxrregcount=32", "-O3"});
  ASSERT_EQ(add(kCaller), NVJITLINK_SUCCESS);
  ASSERT_EQ(add(kCallee + '\0'), NVJITLINK_SUCCESS);
  ASSERT_EQ(nvJitLinkComplete(link), NVJITLINK_SUCCESS) << errors();
  const auto texts = fatbin::read_cubin(cubin()).value();
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_NE(texts[0].text.find(".entry k"), std::string::npos);
  EXPECT_EQ(texts[0].max_registers, 32u);
  EXPECT_EQ(errors(), "");
  EXPECT_EQ(nvJitLinkComplete(link), NVJITLINK_ERROR_INTERNAL);
}

TEST_F(NvJitLink, CubinsAndFilesAreInputsToo) {
  const fatbin::NamedText texts[] = {{"callee.ptx", kCallee}};
  const std::string path = testing::TempDir() + "/nvjitlink_caller.ptx";
  std::ofstream(path) << kCaller;
  open({"-arch=sm_90"});
  ASSERT_EQ(add(fatbin::write_cubin(texts, 90), NVJITLINK_INPUT_CUBIN), NVJITLINK_SUCCESS);
  ASSERT_EQ(nvJitLinkAddFile(link, NVJITLINK_INPUT_ANY, path.c_str()), NVJITLINK_SUCCESS);
  ASSERT_EQ(nvJitLinkComplete(link), NVJITLINK_SUCCESS) << errors();
  EXPECT_EQ(fatbin::read_cubin(cubin()).value().size(), 2u);
}

TEST_F(NvJitLink, LtoIrIsWhatRaddlesCompilersHandOut) {
  const fatbin::NamedText texts[] = {{"callee.ptx", kCallee}};
  open({"-arch=compute_90", "-lto", "-ptx"});
  ASSERT_EQ(add(fatbin::write_cubin(texts, 90), NVJITLINK_INPUT_LTOIR), NVJITLINK_SUCCESS);
  ASSERT_EQ(add(kCaller, NVJITLINK_INPUT_LTOIR), NVJITLINK_SUCCESS);
  ASSERT_EQ(nvJitLinkComplete(link), NVJITLINK_SUCCESS) << errors();
  std::size_t bytes = 0;
  ASSERT_EQ(nvJitLinkGetLinkedPtxSize(link, &bytes), NVJITLINK_SUCCESS);
  std::string text(bytes, 'x');
  ASSERT_EQ(nvJitLinkGetLinkedPtx(link, text.data()), NVJITLINK_SUCCESS);
  EXPECT_EQ(text.back(), '\0');
  EXPECT_THAT(text, testing::AllOf(testing::HasSubstr(".entry k"), testing::HasSubstr("twice")));
  EXPECT_EQ(nvJitLinkGetLinkedCubinSize(link, &bytes), NVJITLINK_ERROR_INTERNAL);
  EXPECT_EQ(nvJitLinkGetLinkedLTOIRSize(link, &bytes), NVJITLINK_ERROR_INVALID_INPUT);
  EXPECT_EQ(nvJitLinkGetLinkedLTOIR(link, text.data()), NVJITLINK_ERROR_INVALID_INPUT);
}

TEST_F(NvJitLink, MistakesAreToldWhereTheyAreGiven) {
  open({"-arch=sm_80"});
  EXPECT_EQ(add(kCallee), NVJITLINK_ERROR_PTX_COMPILE);
  EXPECT_THAT(errors(), testing::HasSubstr("'.target sm_90' is newer than sm_80"));
  const std::string old = ".version 8.0\n.target sm_80\n.address_size 64\n";
  EXPECT_EQ(add(old + ".visible .entry k() { bogus.u32 1; ret; }\n"), NVJITLINK_ERROR_PTX_COMPILE);
  EXPECT_THAT(errors(), testing::HasSubstr("bogus"));
  EXPECT_EQ(add(old + ".visible .entry k( { ret; }\n"), NVJITLINK_ERROR_PTX_COMPILE);
  EXPECT_EQ(add("rubbish", NVJITLINK_INPUT_ANY), NVJITLINK_ERROR_UNRECOGNIZED_INPUT);
  for (const auto type : {NVJITLINK_INPUT_CUBIN, NVJITLINK_INPUT_LTOIR, NVJITLINK_INPUT_FATBIN,
                          NVJITLINK_INPUT_OBJECT, NVJITLINK_INPUT_LIBRARY, NVJITLINK_INPUT_INDEX})
    EXPECT_EQ(add("rubbish", type), NVJITLINK_ERROR_INCORRECT_INPUT_TYPE);
  EXPECT_EQ(nvJitLinkAddFile(link, NVJITLINK_INPUT_PTX, "/nowhere"), NVJITLINK_ERROR_INVALID_INPUT);
  EXPECT_THAT(errors(), testing::HasSubstr("no such file: /nowhere"));
}

TEST_F(NvJitLink, WhatIsMissingIsNamedAtTheEnd) {
  open({"-arch=sm_90"});
  ASSERT_EQ(add(kCaller), NVJITLINK_SUCCESS);
  EXPECT_EQ(nvJitLinkComplete(link), NVJITLINK_ERROR_INTERNAL);
  EXPECT_THAT(errors(), testing::HasSubstr("Undefined reference to 'twice'"));
}

// As NVIDIA's answers them.
TEST(NvJitLinkOptions, AreReadAsByNvidias) {
  struct Case {
    std::vector<const char*> options;
    nvJitLinkResult result;
  };
  const Case cases[] = {{{}, NVJITLINK_ERROR_MISSING_ARCH},
                        {{"-arch=compute_90"}, NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS},
                        {{"-arch=sm_90", "-ptx"}, NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS},
                        {{"-arch=sm_11"}, NVJITLINK_ERROR_UNSUPPORTED_ARCH},
                        {{"-arch=sm_200"}, NVJITLINK_ERROR_UNRECOGNIZED_ARCH},
                        {{"-arch=banana"}, NVJITLINK_ERROR_UNRECOGNIZED_OPTION},
                        {{"-arch=sm_90", "-O9"}, NVJITLINK_ERROR_UNRECOGNIZED_OPTION},
                        {{"-arch", "sm_90"}, NVJITLINK_ERROR_UNRECOGNIZED_OPTION},
                        {{"-arch=sm_90", "-foo"}, NVJITLINK_ERROR_UNRECOGNIZED_OPTION},
                        {{"-arch=sm_90a", "-g", "-lineinfo", "-ftz=true", "-time"}, NVJITLINK_SUCCESS},
                        {{"-dlto", "-arch=sm_90", "-Xptxas=-v", "-split-compile=0"}, NVJITLINK_SUCCESS}};
  for (const Case& each : cases) {
    nvJitLinkHandle link = nullptr;
    EXPECT_EQ(create(each.options, &link), each.result);
    EXPECT_EQ(link != nullptr, each.result == NVJITLINK_SUCCESS);
    EXPECT_EQ(nvJitLinkDestroy(&link), NVJITLINK_SUCCESS);
  }
}

TEST(NvJitLinkHandles, NullIsRefused) {
  nvJitLinkHandle link = nullptr;
  std::size_t bytes = 0;
  char text[1];
  EXPECT_EQ(nvJitLinkCreate(nullptr, 0, nullptr), NVJITLINK_ERROR_NULL_INPUT);
  EXPECT_EQ(nvJitLinkDestroy(nullptr), NVJITLINK_ERROR_NULL_INPUT);
  EXPECT_EQ(nvJitLinkComplete(nullptr), NVJITLINK_ERROR_NULL_INPUT);
  EXPECT_EQ(nvJitLinkAddData(nullptr, NVJITLINK_INPUT_PTX, text, 1, ""), NVJITLINK_ERROR_NULL_INPUT);
  EXPECT_EQ(nvJitLinkGetLinkedCubin(nullptr, text), NVJITLINK_ERROR_NULL_INPUT);
  EXPECT_EQ(nvJitLinkGetLinkedPtx(nullptr, text), NVJITLINK_ERROR_NULL_INPUT);
  EXPECT_EQ(nvJitLinkGetInfoLogSize(nullptr, &bytes), NVJITLINK_ERROR_NULL_INPUT);
  EXPECT_EQ(nvJitLinkGetInfoLog(nullptr, text), NVJITLINK_ERROR_NULL_INPUT);
  const char* option = "-arch=sm_90";
  EXPECT_EQ(__nvJitLinkCreate_13_0(&link, 1, &option), NVJITLINK_SUCCESS);
  EXPECT_EQ(nvJitLinkGetInfoLogSize(link, &bytes), NVJITLINK_SUCCESS);
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(__nvJitLinkDestroy_13_0(&link), NVJITLINK_SUCCESS);
  unsigned major = 0, minor = 7;
  EXPECT_EQ(nvJitLinkVersion(&major, &minor), NVJITLINK_SUCCESS);
  EXPECT_EQ(major, 13u);
}

}  // namespace
}  // namespace raddle::nvjitlink
