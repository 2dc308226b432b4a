// Libraries, their kernels, and what is known of functions.
#include <cstdio>
#include <fstream>
#include <thread>

#include "driver_test.h"

namespace raddle::driver {
namespace {

constexpr const char* kLibrary = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 total = 5;
.visible .global .attribute(.managed) .align 8 .u64 shared_word = 11;
.extern .shared .align 4 .b8 more[];
.visible .entry store(.param .u64 p, .param .u8 small, .param .u32 value)
{
  .reg .b32 %r; .reg .b64 %d;
  ld.param.u64 %d, [p]; ld.param.u32 %r, [value];
  st.global.u32 [%d], %r;
  ret;
}
.visible .entry tiles()
{
  .shared .align 4 .b8 tile[1024];
  .reg .b32 %r;
  ld.shared.u32 %r, [tile];
  st.shared.u32 [more], %r;
  ret;
}
)";
/// With an instruction that there is not: on Raddle only its kernel cannot run.
constexpr const char* kFluffy = R"(
.visible .entry fluffy()
{
  fluffy.sync.b32;
  ret;
}
)";

class Libraries : public Driver {
 protected:
  void SetUp() override {
    Driver::SetUp();
    const std::string text = std::string(kLibrary) + (on_hardware() ? "" : kFluffy);
    ASSERT_EQ(cuLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
  }
  CUkernel kernel(const char* name) {
    CUkernel found = nullptr;
    EXPECT_EQ(cuLibraryGetKernel(&found, library, name), CUDA_SUCCESS) << name;
    return found;
  }
  static CUfunction as_function(CUkernel kernel) { return reinterpret_cast<CUfunction>(kernel); }
  static CUresult launch_store(CUfunction function, CUdeviceptr to, unsigned value) {
    unsigned char small = 1;
    void* parameters[] = {&to, &small, &value};
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
  }

  CUlibrary library = nullptr;
};

TEST_F(Libraries, AKernelRunsAsItselfAndAsAFunction) {
  const CUdeviceptr word = upload({0});
  EXPECT_EQ(launch_store(as_function(kernel("store")), word, 7), CUDA_SUCCESS);
  EXPECT_EQ(download(word, 1)[0], 7u);
  CUfunction function = nullptr, again = nullptr;
  EXPECT_EQ(cuKernelGetFunction(&function, kernel("store")), CUDA_SUCCESS);
  EXPECT_EQ(launch_store(function, word, 8), CUDA_SUCCESS);
  EXPECT_EQ(download(word, 1)[0], 8u);
  CUmodule module = nullptr;
  EXPECT_EQ(cuLibraryGetModule(&module, library), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunction(&again, module, "store"), CUDA_SUCCESS);
  EXPECT_EQ(function, again);
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_NOT_PERMITTED);
}

TEST_F(Libraries, KernelsAreListedInOrder) {
  unsigned count = 0;
  EXPECT_EQ(cuLibraryGetKernelCount(&count, library), CUDA_SUCCESS);
  ASSERT_EQ(count, on_hardware() ? 2u : 3u);
  CUkernel kernels[3]{};
  EXPECT_EQ(cuLibraryEnumerateKernels(kernels, 2, library), CUDA_SUCCESS);
  EXPECT_EQ(kernels[0], kernel("store"));
  EXPECT_EQ(kernels[1], kernel("tiles"));
  EXPECT_EQ(kernels[2], nullptr);
  const char* name = nullptr;
  EXPECT_EQ(cuKernelGetName(&name, kernels[1]), CUDA_SUCCESS);
  EXPECT_STREQ(name, "tiles");
  CUlibrary owner = nullptr;
  EXPECT_EQ(cuKernelGetLibrary(&owner, kernels[1]), CUDA_SUCCESS);
  EXPECT_EQ(owner, library);
  CUkernel none = kernels[0];
  EXPECT_EQ(cuLibraryGetKernel(&none, library, "stor"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuLibraryGetKernel(nullptr, library, "store"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLibraryEnumerateKernels(nullptr, 1, library), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Libraries, ParametersHaveTheirPlaces) {
  std::size_t offset = 99, bytes = 99;
  EXPECT_EQ(cuKernelGetParamInfo(kernel("store"), 1, &offset, &bytes), CUDA_SUCCESS);
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(bytes, 1u);
  EXPECT_EQ(cuKernelGetParamInfo(kernel("store"), 2, &offset, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(offset, 12u);
  EXPECT_EQ(cuKernelGetParamInfo(kernel("store"), 3, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
  CUcontext popped = nullptr;
  const CUkernel store = kernel("store");
  ASSERT_EQ(cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
  EXPECT_EQ(cuKernelGetParamInfo(store, 0, &offset, &bytes), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(cuCtxPushCurrent_v2(popped), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncGetParamInfo(function("scale"), 2, &offset, &bytes), CUDA_SUCCESS);
  EXPECT_EQ(offset, 12u);
  EXPECT_EQ(bytes, 4u);
}

TEST_F(Libraries, VariablesAreThoseOfTheContext) {
  CUdeviceptr here = 0, there = 0, managed = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(cuLibraryGetGlobal(&here, &bytes, library, "total"), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(download(here, 1)[0], 5u);
  EXPECT_EQ(cuLibraryGetManaged(&managed, &bytes, library, "shared_word"), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 8u);
  EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(managed), 11u);
  EXPECT_EQ(cuLibraryGetManaged(&managed, &bytes, library, "total"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuLibraryGetGlobal(&here, &bytes, library, "nothing"), CUDA_ERROR_NOT_FOUND);
  CUcontext second = nullptr;
  CUfunction here_function = nullptr, there_function = nullptr;
  EXPECT_EQ(cuKernelGetFunction(&here_function, kernel("store")), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxCreate_v4(&second, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuLibraryGetGlobal(&there, &bytes, library, "total"), CUDA_SUCCESS);
  EXPECT_NE(here, there);
  EXPECT_EQ(cuKernelGetFunction(&there_function, kernel("store")), CUDA_SUCCESS);
  EXPECT_NE(here_function, there_function);
  EXPECT_EQ(launch_store(here_function, there, 1), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(launch_store(as_function(kernel("store")), there, 6), CUDA_SUCCESS);
  EXPECT_EQ(download(there, 1)[0], 6u);
  EXPECT_EQ(cuCtxDestroy_v2(second), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(cuFuncLoad(there_function), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuKernelGetFunction(&here_function, kernel("store")), CUDA_SUCCESS);
}

TEST_F(Libraries, AFunctionsOwnLimitGoesBeforeItsKernels) {
  constexpr int kMore = 100 << 10;
  const CUkernel tiles = kernel("tiles");
  CUfunction function = nullptr;
  int value = 0;
  EXPECT_EQ(cuKernelGetFunction(&function, tiles), CUDA_SUCCESS);
  EXPECT_EQ(cuKernelGetAttribute(&value, FUNC_SHARED_SIZE_BYTES, tiles, 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, kMore, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuKernelSetAttribute(FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, kMore, tiles, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuKernelGetAttribute(&value, FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, tiles, 0), CUDA_SUCCESS);
  EXPECT_EQ(value, kMore);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, kMore, nullptr, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncSetAttribute(function, FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, 512), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncGetAttribute(&value, FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, as_function(tiles)), CUDA_SUCCESS);
  EXPECT_EQ(value, 512);
  EXPECT_EQ(cuKernelSetAttribute(FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20, tiles, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuKernelGetAttribute(&value, FUNC_NUM_REGS, tiles, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuKernelSetCacheConfig(tiles, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuKernelSetCacheConfig(tiles, 9, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Libraries, WhatCannotRunIsFoundWhenItIsLoaded) {
  SKIP_ON_HARDWARE("refuses the whole library");
  CUfunction function = nullptr, functions[3]{};
  CUmodule module = nullptr;
  unsigned count = 0;
  auto state = FUNCTION_LOADING_STATE_LOADED;
  auto mode = MODULE_EAGER_LOADING;
  EXPECT_EQ(cuKernelGetFunction(&function, kernel("fluffy")), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuLibraryGetModule(&module, library), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunctionCount(&count, module), CUDA_SUCCESS);
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(cuModuleEnumerateFunctions(functions, 3, module), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncIsLoaded(&state, functions[0]), CUDA_SUCCESS);
  EXPECT_EQ(state, FUNCTION_LOADING_STATE_UNLOADED);
  EXPECT_EQ(cuFuncLoad(functions[0]), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncIsLoaded(&state, functions[0]), CUDA_SUCCESS);
  EXPECT_EQ(state, FUNCTION_LOADING_STATE_LOADED);
  EXPECT_EQ(cuFuncLoad(functions[2]), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuModuleGetLoadingMode(&mode), CUDA_SUCCESS);
  EXPECT_EQ(mode, MODULE_LAZY_LOADING);
}

TEST_F(Libraries, UnloadingEndsAllThatCameFromIt) {
  const CUkernel store = kernel("store");
  CUfunction function = nullptr;
  CUmodule module = nullptr;
  const char* name = nullptr;
  EXPECT_EQ(cuKernelGetFunction(&function, store), CUDA_SUCCESS);
  EXPECT_EQ(cuLibraryGetModule(&module, library), CUDA_SUCCESS);
  EXPECT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
  SKIP_ON_HARDWARE("follows handles");
  EXPECT_EQ(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuKernelGetName(&name, store), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch_store(function, 0, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch_store(as_function(store), 0, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleGetFunction(&function, module, "store"), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Libraries, NeedNoContextToBeLoaded) {
  const std::string path = testing::TempDir() + "/raddle_library.ptx";
  std::ofstream(path) << kLibrary;
  std::thread([&] {
    CUlibrary from_file = nullptr;
    unsigned count = 0;
    CUmodule module = nullptr;
    EXPECT_EQ(cuLibraryLoadFromFile(&from_file, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
    EXPECT_EQ(cuLibraryGetKernelCount(&count, from_file), CUDA_SUCCESS);
    EXPECT_EQ(count, 2u);
    EXPECT_EQ(cuLibraryGetModule(&module, from_file), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuLibraryUnload(from_file), CUDA_SUCCESS);
  }).join();
  std::remove(path.c_str());
  CUlibrary none = nullptr;
  EXPECT_EQ(cuLibraryLoadFromFile(&none, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
            CUDA_ERROR_FILE_NOT_FOUND);
  if (!on_hardware())  // which looks when something is wanted of it
    EXPECT_EQ(cuLibraryLoadData(&none, ".version 9", nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(cuLibraryLoadData(&none, kLibrary, nullptr, nullptr, 1, nullptr, nullptr, 0),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace raddle::driver
