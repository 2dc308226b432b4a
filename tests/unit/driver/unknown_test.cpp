// A module with instructions that nobody knows: its other kernels run, and the user is told once which
// cannot.
#include <cstring>

#include "driver_test.h"

namespace raddle::driver {
namespace {

constexpr const char* kModule = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry good(.param .u64 p)
{
  .reg .b64 %d;
  ld.param.u64 %d, [p];
  st.global.u32 [%d], 7;
  ret;
}
.visible .entry bad(.param .u64 p)
{
  .reg .b64 %d<3>;
  ld.param.u64 %d1, [p];
  fluffy.sync.b32;
  add.sat.u64 %d2, %d1, %d1;
  fluffy.sync.b32;
  st.global.u32 [%d1], 9;
  ret;
}
.func helper() { mul.wide.u64 %a, %b, %c; ret; }
.visible .entry calls(.param .u64 p) { call helper, (); ret; }
)";

class Unknown : public Driver {
 protected:
  /// What goes to stderr meanwhile.
  template <class Body>
  static std::string told(Body body) {
    testing::internal::CaptureStderr();
    body();
    return testing::internal::GetCapturedStderr();
  }
  static unsigned count(const std::string& text, const std::string& part) {
    unsigned found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
  static void expect_told(const std::string& text) {
    EXPECT_EQ(count(text, "kernel 'bad' of <memory> cannot run"), 1u) << text;
    EXPECT_EQ(count(text, "fluffy.sync.b32 (2 times)"), 1u) << text;
    EXPECT_EQ(count(text, "add.sat.u64 (1 time)"), 1u) << text;
    EXPECT_EQ(count(text, "kernel 'calls' of <memory> cannot run"), 1u) << text;
    EXPECT_EQ(count(text, "mul.wide.u64 (1 time)"), 1u) << text;
    EXPECT_EQ(count(text, "'good'"), 0u) << text;
  }
};

// proves: K-17g, K-17h
TEST_F(Unknown, AModulesOtherKernelsRun) {
  SKIP_ON_HARDWARE("refuses the whole module");
  expect_told(told([&] { ASSERT_EQ(cuModuleLoadData(&module, kModule), CUDA_SUCCESS); }));
  const CUdeviceptr word = upload({1});
  CUfunction found = nullptr;
  const std::string more = told([&] {
    for (const char* name : {"bad", "calls", "bad"})
      EXPECT_EQ(cuModuleGetFunction(&found, module, name), CUDA_ERROR_NOT_SUPPORTED) << name;
    EXPECT_EQ(launch("good", nullptr, word), CUDA_SUCCESS);
  });
  EXPECT_EQ(more, "") << "it was told when the module was loaded";
  EXPECT_EQ(download(word, 1)[0], 7u);
}

TEST_F(Unknown, ALibrarysOtherKernelsRun) {
  SKIP_ON_HARDWARE("refuses the whole module");
  CUlibrary library = nullptr;
  CUkernel good = nullptr, bad = nullptr;
  CUcontext second = nullptr;
  expect_told(told([&] {
    ASSERT_EQ(cuLibraryLoadData(&library, kModule, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  }));
  CUdeviceptr word = upload({1});
  void* parameters[] = {&word};
  const auto launch_kernel = [&](CUkernel kernel) {
    return cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, nullptr, parameters,
                          nullptr);
  };
  const std::string more = told([&] {
    EXPECT_EQ(cuLibraryGetKernel(&good, library, "good"), CUDA_SUCCESS);
    EXPECT_EQ(cuLibraryGetKernel(&bad, library, "bad"), CUDA_SUCCESS);
    EXPECT_EQ(launch_kernel(bad), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(launch_kernel(good), CUDA_SUCCESS);
  });
  EXPECT_EQ(download(word, 1)[0], 7u);
  ASSERT_EQ(cuCtxCreate_v4(&second, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(more + told([&] { EXPECT_EQ(launch_kernel(bad), CUDA_ERROR_NOT_SUPPORTED); }), "");
  EXPECT_EQ(cuCtxDestroy_v2(second), CUDA_SUCCESS);
}

TEST_F(Unknown, ALinkedProgramIsToldWhenItIsLoaded) {
  SKIP_ON_HARDWARE("refuses the whole module");
  CUlinkState link = nullptr;
  void* cubin = nullptr;
  ASSERT_EQ(cuLinkCreate_v2(0, nullptr, nullptr, &link), CUDA_SUCCESS);
  EXPECT_EQ(told([&] {
              EXPECT_EQ(cuLinkAddData_v2(link, JIT_INPUT_PTX, const_cast<char*>(kModule),
                                         std::strlen(kModule) + 1, "<memory>", 0, nullptr, nullptr),
                        CUDA_SUCCESS);
              EXPECT_EQ(cuLinkComplete(link, &cubin, nullptr), CUDA_SUCCESS);
            }),
            "");
  expect_told(told([&] { ASSERT_EQ(cuModuleLoadData(&module, cubin), CUDA_SUCCESS); }));
  EXPECT_EQ(cuLinkDestroy(link), CUDA_SUCCESS);
}

}  // namespace
}  // namespace raddle::driver
