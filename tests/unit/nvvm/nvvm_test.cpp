// The libNVVM forwarder: LTO-IR is not asked for, the rest is NVIDIA's, for which a fake stands here.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace {

extern "C" {
int nvvmVersion(int* major, int* minor);
int nvvmCompileProgram(void* program, int count, const char* const* options);
int nvvmGetCompiledResultSize(void* program, std::size_t* bytes);
int nvvmGetCompiledResult(void* program, char* code);
int nvvmVerifyProgram(void* program, int count, const char* const* options);
const char* nvvmGetErrorString(int result);
}

constexpr int kCreationFailure = 2, kInvalidInput = 4;

/// A child's exit status: a process loads the library once, so each try is a process.
int in_child(const char* library, int (*function)()) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("RADDLE_NVVM", library, 1);
    _exit(function());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Nvvm, LtoIrBecomesPtx) {
  EXPECT_EQ(in_child(RADDLE_FAKE_NVVM,
                     [] {
                       const char* options[] = {"-arch=compute_90", "-gen-lto", "-opt=3"};
                       if (nvvmCompileProgram(nullptr, 3, options) != 0) return 1;
                       std::size_t bytes = 0;
                       if (nvvmGetCompiledResultSize(nullptr, &bytes) != 0) return 2;
                       std::string code(bytes, '\0');
                       if (nvvmGetCompiledResult(nullptr, code.data()) != 0) return 3;
                       return code.c_str() == std::string("-arch=compute_90 -opt=3 ") ? 0 : 4;
                     }),
            0);
}

TEST(Nvvm, TheRestIsNvidias) {
  EXPECT_EQ(in_child(RADDLE_FAKE_NVVM,
                     [] {
                       int major = 0, minor = 0;
                       if (nvvmVersion(&major, &minor) != 0 || major != 2) return 1;
                       if (nvvmGetErrorString(0) != std::string("the fake's")) return 2;
                       if (nvvmCompileProgram(nullptr, 1, nullptr) != kInvalidInput) return 3;
                       // What its version lacks fails, and does not end the program.
                       return nvvmVerifyProgram(nullptr, 0, nullptr) == kCreationFailure ? 0 : 4;
                     }),
            0);
}

TEST(Nvvm, WithoutNvidiasCallsFail) {
  EXPECT_EQ(in_child("/nowhere/libnvvm.so.4",
                     [] {
                       int major = 7, minor = 7;
                       const bool refused = nvvmVersion(&major, &minor) == kCreationFailure && major == 7;
                       return refused && std::string(nvvmGetErrorString(0)).find("not there") !=
                                             std::string::npos
                                  ? 0
                                  : 1;
                     }),
            0);
}

}  // namespace
