// The driver's linker, and the logs that programs ask for.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "driver_test.h"

namespace raddle::driver {
namespace {

constexpr const char* kCaller = R"(
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) twice(.param .b32 x);
.visible .entry store_twice(.param .u64 p)
{
  .reg .b32 %r; .reg .b64 %d;
  .param .b32 x, r;
  ld.param.u64 %d, [p];
  ld.global.u32 %r, [%d];
  st.param.b32 [x], %r;
  call (r), twice, (x);
  ld.param.b32 %r, [r];
  st.global.u32 [%d], %r;
  ret;
}
)";
/// Calls what is nowhere: on Raddle only this kernel cannot run.
constexpr const char* kLost = R"(
.extern .func nowhere();
.visible .entry lost() { call nowhere; ret; }
)";
constexpr const char* kCallee = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .func (.param .b32 r) twice(.param .b32 x)
{
  .reg .b32 %r;
  ld.param.u32 %r, [x];
  add.u32 %r, %r, %r;
  st.param.b32 [r], %r;
  ret;
}
)";

class Linker : public Driver {
 protected:
  static CUresult add(CUlinkState state, const char* text, const char* name,
                      CUjitInputType type = JIT_INPUT_PTX) {
    return cuLinkAddData_v2(state, type, const_cast<char*>(text), std::strlen(text) + 1, name, 0, nullptr,
                            nullptr);
  }
};

TEST_F(Linker, WhatItMakesRuns) {
  CUlinkState state = nullptr;
  void* cubin = nullptr;
  std::size_t bytes = 0;
  const std::string path = testing::TempDir() + "/raddle_callee.ptx";
  std::ofstream(path) << kCallee;
  ASSERT_EQ(cuLinkCreate_v2(0, nullptr, nullptr, &state), CUDA_SUCCESS);
  const std::string caller = std::string(kCaller) + (on_hardware() ? "" : kLost);
  EXPECT_EQ(add(state, caller.c_str(), "caller.ptx"), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkAddFile_v2(state, JIT_INPUT_PTX, path.c_str(), 0, nullptr, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuLinkComplete(state, &cubin, &bytes), CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(cubin, "\177ELF", 4), 0);
  EXPECT_GT(bytes, std::strlen(kCaller));
  CUmodule linked = nullptr;
  CUfunction function = nullptr;
  ASSERT_EQ(cuModuleLoadData(&linked, cubin), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkDestroy(state), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(cuLinkDestroy(state), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_EQ(cuModuleGetFunction(&function, linked, "store_twice"), CUDA_SUCCESS);
  CUdeviceptr word = upload({21});
  void* parameters[] = {&word};
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(download(word, 1)[0], 42u);
  if (!on_hardware()) EXPECT_EQ(cuModuleGetFunction(&function, linked, "lost"), CUDA_ERROR_NOT_SUPPORTED);
  std::remove(path.c_str());
}

TEST_F(Linker, OfALibraryTakesWhatIsNeeded) {
  SKIP_ON_HARDWARE("wants archives of nvcc's own kind");
  // A cubin in an archive, as nvcc -lib makes them of device code.
  CUlinkState first = nullptr, state = nullptr;
  void* cubin = nullptr;
  std::size_t bytes = 0;
  ASSERT_EQ(cuLinkCreate_v2(0, nullptr, nullptr, &first), CUDA_SUCCESS);
  EXPECT_EQ(add(first, kCallee, "callee.ptx"), CUDA_SUCCESS);
  ASSERT_EQ(cuLinkComplete(first, &cubin, &bytes), CUDA_SUCCESS);
  char header[61];
  std::snprintf(header, sizeof header, "%-16s%-12d%-6d%-6d%-8d%-10zu`\n", "callee.o/", 0, 0, 0, 644, bytes);
  std::string library = "!<arch>\n" + (header + std::string(static_cast<const char*>(cubin), bytes));
  ASSERT_EQ(cuLinkCreate_v2(0, nullptr, nullptr, &state), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkAddData_v2(state, JIT_INPUT_LIBRARY, library.data(), library.size(), "lib.a", 0, nullptr,
                             nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(add(state, kCaller, "caller.ptx"), CUDA_SUCCESS);
  char empty[] = "!<arch>\n";
  EXPECT_EQ(cuLinkAddData_v2(state, JIT_INPUT_LIBRARY, empty, 8, "empty.a", 0, nullptr, nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(cuLinkComplete(state, &cubin, &bytes), CUDA_SUCCESS);
  CUmodule linked = nullptr;
  CUfunction function = nullptr;
  ASSERT_EQ(cuModuleLoadData(&linked, cubin), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunction(&function, linked, "store_twice"), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkDestroy(state), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkDestroy(first), CUDA_SUCCESS);
}

/// A fat binary with one entry, PTX as it is.
std::string fat_binary(const char* text) {
  std::string content = text;
  content.resize((content.size() + 8) / 8 * 8);
  std::string bytes(16 + 0x40, '\0');
  const auto put = [&](std::size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  put(0, std::uint32_t{0xba55ed50});
  put(4, std::uint32_t{0x00100001});
  put(8, std::uint64_t{0x40 + content.size()});
  put(16, std::uint16_t{1});
  put(16 + 0x04, std::uint32_t{0x40});
  put(16 + 0x08, std::uint64_t{content.size()});
  put(16 + 0x1c, std::uint32_t{90});
  return bytes + content;
}

// proves: K-18e
TEST_F(Linker, RelocatableCodeOfAProgramIsLinked) {
  SKIP_ON_HARDWARE("takes no wrappers");
  const std::string caller = fat_binary(kCaller), callee = fat_binary(kCallee);
  const void* const prelinked[] = {caller.data(), callee.data(), nullptr};
  const struct {
    unsigned magic = 0x466243b1, version = 2;
    const void* linked;
    const void* const* parts;
  } wrapper{.linked = caller.data(), .parts = prelinked};
  CUmodule linked = nullptr;
  CUfunction function = nullptr;
  ASSERT_EQ(cuModuleLoadFatBinary(&linked, &wrapper), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&function, linked, "store_twice"), CUDA_SUCCESS);
  CUdeviceptr word = upload({4});
  void* parameters[] = {&word};
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(download(word, 1)[0], 8u);
}

TEST_F(Linker, LogsSayWhatIsWrong) {
  SKIP_ON_HARDWARE("says other things in other words");
  char errors[200] = "old", info[30] = "old";
  int options[] = {5, 6, 3, 4};  // CU_JIT_ERROR_LOG_BUFFER, its size, the same of the info log
  void* values[] = {errors, reinterpret_cast<void*>(sizeof errors), info,
                    reinterpret_cast<void*>(sizeof info)};
  CUlinkState state = nullptr;
  void* cubin = nullptr;
  ASSERT_EQ(cuLinkCreate_v2(4, options, values, &state), CUDA_SUCCESS);
  EXPECT_STREQ(errors, "");
  EXPECT_EQ(values[1], nullptr);
  EXPECT_EQ(add(state, kCallee, "a.ptx"), CUDA_SUCCESS);
  EXPECT_EQ(add(state, kCallee, "b.ptx"), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkComplete(state, &cubin, nullptr), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::strstr(errors, "'twice' is defined in a.ptx and in b.ptx"), nullptr) << errors;
  EXPECT_EQ(reinterpret_cast<std::size_t>(values[1]), std::strlen(errors) + 1);
  EXPECT_EQ(cuLinkDestroy(state), CUDA_SUCCESS);

  values[1] = reinterpret_cast<void*>(sizeof errors), values[3] = reinterpret_cast<void*>(sizeof info);
  ASSERT_EQ(cuLinkCreate_v2(4, options, values, &state), CUDA_SUCCESS);
  EXPECT_EQ(add(state, ".version 8.0\n.target sm_90\n.visible .entry k() { bogus; }\n.extern .global .u32 v;",
                "v.ptx"),
            CUDA_SUCCESS);
  EXPECT_EQ(cuLinkComplete(state, &cubin, nullptr), CUDA_ERROR_INVALID_PTX);
  EXPECT_STREQ(errors, "undefined variable 'v'\n");
  EXPECT_STREQ(info, "kernel 'k' of v.ptx cannot r\n") << "cut off where the buffer ends";
  EXPECT_EQ(add(state, "what?", "what.ptx"), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::strstr(errors, "what.ptx:1:1: "), nullptr) << errors;
  EXPECT_EQ(add(state, kCallee, "a.bc", static_cast<CUjitInputType>(5)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLinkAddFile_v2(state, JIT_INPUT_PTX, "/nowhere", 0, nullptr, nullptr),
            CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(cuLinkDestroy(state), CUDA_SUCCESS);
}

TEST(Dump, WritesWhatIsLoaded) {
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  SKIP_ON_HARDWARE("does not");
  // In another process, for the variable is read once: a test of this program, whose set-up loads kKernels.
  const std::string directory = testing::TempDir() + "/raddle_dump";
  std::filesystem::create_directory(directory);
  const std::string command = "RADDLE_DUMP='" + directory + "' '" +
                              std::filesystem::read_symlink("/proc/self/exe").string() +
                              "' --gtest_filter=Linker.LoadingFillsLogsToo >/dev/null 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream file(directory + "/001.<memory>.ptx");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), kKernels);
  std::filesystem::remove_all(directory);
}

TEST_F(Linker, LoadingFillsLogsToo) {
  SKIP_ON_HARDWARE("says other things in other words");
  char errors[100] = "";
  int options[] = {5, 6};
  void* values[] = {errors, reinterpret_cast<void*>(sizeof errors)};
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadDataEx(&module, ".version 9", 2, options, values), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::strstr(errors, "does not say its '.target'"), nullptr) << errors;
  CUlibrary library = nullptr;
  values[1] = reinterpret_cast<void*>(sizeof errors);
  EXPECT_EQ(
      cuLibraryLoadData(&library, ".version 8.0\n.target x\nwhat", options, values, 2, nullptr, nullptr, 0),
      CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::strstr(errors, "'what'"), nullptr) << errors;
  EXPECT_EQ(cuLinkCreate_v2(1, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace raddle::driver
