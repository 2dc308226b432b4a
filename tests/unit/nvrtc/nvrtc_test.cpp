// The NVRTC forwarder: programs ask for machine code and get a cubin that carries PTX. Compiling takes
// NVIDIA's NVRTC.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "fatbin/cubin.h"
#include "nvrtc/abi.h"

namespace raddle::nvrtc {
namespace {

extern "C" {
#define FORWARD(name, parameters, arguments) nvrtcResult name parameters;
#define ENTRY FORWARD
#include "nvrtc/entries.def"
#undef ENTRY
#undef FORWARD
const char* nvrtcGetErrorString(nvrtcResult result);
}

/// A child's exit status: a process loads the library once, so each try is a process.
int in_child(int (*function)()) {
  const pid_t child = fork();
  if (child == 0) _exit(function());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Nvrtc, WithoutNvidiasCallsFailAndSayWhy) {
  EXPECT_EQ(in_child([] {
              setenv("RADDLE_NVRTC", "/nowhere/libnvrtc.so.13", 1);
              int major = 7, minor = 7;
              const bool right =
                  nvrtcVersion(&major, &minor) == NVRTC_ERROR_INTERNAL_ERROR && major == 7 &&
                  nvrtcCompileProgram(nullptr, 0, nullptr) == NVRTC_ERROR_INTERNAL_ERROR &&
                  std::string(nvrtcGetErrorString(NVRTC_ERROR_INTERNAL_ERROR)).find("not there") !=
                      std::string::npos;
              return right ? 0 : 1;
            }),
            0);
}

class Forwarder : public testing::Test {
 protected:
  void SetUp() override {
    const int has = in_child([] {
      int major = 0, minor = 0;
      return nvrtcVersion(&major, &minor) == NVRTC_SUCCESS && major >= 12 ? 0 : 1;
    });
    if (has != 0) GTEST_SKIP() << "no NVIDIA NVRTC on this machine";
    ASSERT_EQ(nvrtcCreateProgram(&program, kSource, "scale.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
  }
  void TearDown() override {
    if (program != nullptr) EXPECT_EQ(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
  }
  std::string cubin() {
    std::size_t bytes = 0;
    EXPECT_EQ(nvrtcGetCUBINSize(program, &bytes), NVRTC_SUCCESS);
    std::string code(bytes, '\0');
    if (bytes != 0) EXPECT_EQ(nvrtcGetCUBIN(program, code.data()), NVRTC_SUCCESS);
    return code;
  }

  static constexpr const char* kSource =
      "template <class T> __global__ void scale(T* p, T k) { p[threadIdx.x] *= k; }\n";
  nvrtcProgram program = nullptr;
};

// proves: K-18c
TEST_F(Forwarder, CubinsCarryThePtx) {
  const char* options[] = {"--gpu-architecture=sm_90", "-default-device"};
  ASSERT_EQ(nvrtcAddNameExpression(program, "scale<float>"), NVRTC_SUCCESS);
  ASSERT_EQ(nvrtcCompileProgram(program, 2, options), NVRTC_SUCCESS);
  const auto texts = fatbin::read_cubin(cubin()).value();
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_NE(texts[0].text.find(".target sm_90"), std::string::npos);
  const char* name = nullptr;
  ASSERT_EQ(nvrtcGetLoweredName(program, "scale<float>", &name), NVRTC_SUCCESS);
  EXPECT_NE(texts[0].text.find(name), std::string::npos);
}

TEST_F(Forwarder, ArchitecturesInTwoWordsToo) {
  const char* options[] = {"-arch", "sm_80"};
  ASSERT_EQ(nvrtcCompileProgram(program, 2, options), NVRTC_SUCCESS);
  EXPECT_NE(fatbin::read_cubin(cubin()).value().at(0).text.find(".target sm_80"), std::string::npos);
  const char* virtual_only[] = {"-arch=compute_90"};
  ASSERT_EQ(nvrtcCompileProgram(program, 1, virtual_only), NVRTC_SUCCESS);
  EXPECT_TRUE(cubin().empty());
}

TEST_F(Forwarder, ErrorsAreNvidias) {
  const char* options[] = {"-arch=sm_90", "--no-such-option"};
  EXPECT_NE(nvrtcCompileProgram(program, 2, options), NVRTC_SUCCESS);
  std::size_t bytes = 0;
  EXPECT_EQ(nvrtcGetProgramLogSize(program, &bytes), NVRTC_SUCCESS);
  EXPECT_GT(bytes, 1u);
  EXPECT_EQ(nvrtcCompileProgram(program, 1, nullptr), NVRTC_ERROR_INVALID_INPUT);
  EXPECT_STREQ(nvrtcGetErrorString(NVRTC_ERROR_INVALID_INPUT), "NVRTC_ERROR_INVALID_INPUT");
}

}  // namespace
}  // namespace raddle::nvrtc
