// Structures of the driver that the runtime hands on as its own, against the real header, where NVIDIA's
// toolkit is installed. The driver's are compared by its own test.
#include <gtest/gtest.h>

#include <cstddef>

#include "cudart/driver.h"

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace raddle::cudart {
namespace {

static_assert(sizeof(::CUDA_RESOURCE_VIEW_DESC) == sizeof(cudaResourceViewDesc));
static_assert(sizeof(::CUmemPoolProps) == sizeof(cudaMemPoolProps));
static_assert(offsetof(::CUmemPoolProps, maxSize) == offsetof(cudaMemPoolProps, maxSize));
static_assert(sizeof(::CUlaunchAttribute) == sizeof(cudaLaunchAttribute));
static_assert(sizeof(::CUmemLocation) == sizeof(cudaMemLocation));
static_assert(sizeof(::CUDA_ARRAY_MEMORY_REQUIREMENTS) == sizeof(cudaArrayMemoryRequirements));

TEST(DriverAbi, NumbersAreTheHeaders) {
  EXPECT_EQ(int{CU_RESOURCE_TYPE_PITCH2D}, int{cudaResourceTypePitch2D});
#define ATTRIBUTE(field, number) EXPECT_LE(number, int{CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT});
#define CLUSTER_ATTRIBUTE(field, number) EXPECT_LT(number, int{CU_FUNC_ATTRIBUTE_MAX});
#include "cudart/function_attributes.def"
#undef CLUSTER_ATTRIBUTE
#undef ATTRIBUTE
}

}  // namespace
}  // namespace raddle::cudart
#else
TEST(DriverAbi, NumbersAreTheHeaders) { GTEST_SKIP() << "no cuda.h on this machine"; }
#endif
