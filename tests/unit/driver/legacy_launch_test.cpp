// Launches as before CUDA 4, counts of a context's users, and what is free to be nothing.
#include "driver_test.h"

namespace raddle::driver {
namespace {

using Values = std::vector<unsigned>;

class LegacyLaunches : public Driver {
 protected:
  /// scale(p, k, n), its arguments set one by one.
  CUfunction scale(CUdeviceptr address, unsigned factor, unsigned count) {
    const CUfunction found = function("scale");
    EXPECT_EQ(cuParamSetv(found, 0, &address, sizeof address), CUDA_SUCCESS);
    EXPECT_EQ(cuParamSeti(found, 8, factor), CUDA_SUCCESS);
    EXPECT_EQ(cuParamSeti(found, 12, count), CUDA_SUCCESS);
    EXPECT_EQ(cuParamSetSize(found, 16), CUDA_SUCCESS);
    return found;
  }
};

TEST_F(LegacyLaunches, ShapeAndArgumentsStayWithTheFunction) {
  const CUdeviceptr a = upload({1, 2, 3, 4, 5});
  const CUfunction found = scale(a, 10, 5);
  EXPECT_EQ(cuFuncSetBlockShape(found, 4, 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncSetSharedSize(found, 16), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchGrid(found, 2, 1), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 5), (Values{10, 20, 30, 40, 50}));
  const CUstream in = stream();
  EXPECT_EQ(cuLaunchGridAsync(found, 2, 1, in), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(in), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 5), (Values{100, 200, 300, 400, 500}));
  // One block of four.
  EXPECT_EQ(cuParamSeti(found, 8, 2), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunch(found), CUDA_SUCCESS);
  EXPECT_EQ(download(a, 5), (Values{200, 400, 600, 800, 500}));
  EXPECT_EQ(cuStreamDestroy_v2(in), CUDA_SUCCESS);
}

TEST_F(LegacyLaunches, WrongShapesAndPlacesAreRefused) {
  SKIP_ON_HARDWARE("follows what it is given");
  const CUfunction found = scale(upload({1}), 2, 1);
  EXPECT_EQ(cuFuncSetBlockShape(found, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
  if (!on_hardware()) EXPECT_EQ(cuFuncSetBlockShape(nullptr, 1, 1, 1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLaunchGrid(found, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchGrid(found, 1, -1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuParamSeti(found, -4, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuParamSetf(found, 32764, 1.0f), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuParamSetf(found, 16, 1.0f), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(cuParamSetv(found, 0, nullptr, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuParamSetSize(found, 40000), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuParamSetSize(found, 12), CUDA_SUCCESS);  // less than the kernel takes
  EXPECT_EQ(cuLaunchGrid(found, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetSharedMemConfig(found, 2), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncSetSharedMemConfig(found, 3), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LegacyLaunches, AContextEndsWithItsLastUser) {
  CUcontext own = nullptr, again = nullptr;
  ASSERT_EQ(cuCtxCreate_v2(&own, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxAttach(&again, 1), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuCtxAttach(&again, 0), CUDA_SUCCESS);
  EXPECT_EQ(again, own);
  EXPECT_EQ(cuCtxDetach(own), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDetach(own), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDetach(own), CUDA_ERROR_INVALID_CONTEXT);
  CUcontext current = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, context);
}

TEST_F(LegacyLaunches, NothingMayBeFreed) {
  EXPECT_EQ(cuMemFreeAsync(0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(1, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LegacyLaunches, ThereAreNoUnifiedFunctions) {
  CUlibrary library = nullptr;
  void* found = nullptr;
  ASSERT_EQ(cuLibraryLoadData(&library, kKernels, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuLibraryGetUnifiedFunction(&found, library, "scale"),
            on_hardware() ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuLibraryGetUnifiedFunction(&found, nullptr, "scale"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
}

}  // namespace
}  // namespace raddle::driver
