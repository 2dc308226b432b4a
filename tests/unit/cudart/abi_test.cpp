// Our layout of the driver's structures against the real header, where NVIDIA's toolkit is installed.
#include <gtest/gtest.h>

#include <cstddef>

#include "cudart/driver_structures.h"

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace raddle::cudart {
namespace {

#define SAME(theirs, their_field, ours, our_field) \
  static_assert(sizeof(::theirs) == sizeof(ours)); \
  static_assert(offsetof(::theirs, their_field) == offsetof(ours, our_field))

SAME(CUlaunchConfig, hStream, DriverLaunch, stream);
SAME(CUlaunchConfig, numAttrs, DriverLaunch, attribute_count);
SAME(CUDA_MEMCPY3D, dstXInBytes, DriverBox, to);
SAME(CUDA_MEMCPY3D, srcDevice, DriverBox, from.device);
SAME(CUDA_MEMCPY3D, dstHeight, DriverBox, to.height);
SAME(CUDA_MEMCPY3D, Depth, DriverBox, depth);
SAME(CUDA_MEMCPY3D_PEER, srcContext, DriverBox, from.context);
SAME(CUDA_MEMCPY3D_PEER, dstPitch, DriverBox, to.pitch);
SAME(CUDA_ARRAY3D_DESCRIPTOR, Format, DriverArray, format);
SAME(CUDA_ARRAY3D_DESCRIPTOR, Flags, DriverArray, flags);
SAME(CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes, DriverResource, memory.pitch);
SAME(CUDA_RESOURCE_DESC, res.linear.sizeInBytes, DriverResource, memory.bytes);
SAME(CUDA_RESOURCE_DESC, flags, DriverResource, flags);
SAME(CUDA_TEXTURE_DESC, flags, DriverTexture, flags);
SAME(CUDA_TEXTURE_DESC, borderColor, DriverTexture, border_color);
static_assert(sizeof(::CUDA_RESOURCE_VIEW_DESC) == sizeof(cudaResourceViewDesc));
static_assert(sizeof(::CUmemPoolProps) == sizeof(cudaMemPoolProps));
static_assert(offsetof(::CUmemPoolProps, maxSize) == offsetof(cudaMemPoolProps, maxSize));
static_assert(sizeof(::CUlaunchAttribute) == sizeof(cudaLaunchAttribute));
static_assert(sizeof(::CUmemLocation) == sizeof(cudaMemLocation));
static_assert(sizeof(::CUDA_ARRAY_MEMORY_REQUIREMENTS) == sizeof(cudaArrayMemoryRequirements));

TEST(DriverAbi, NumbersAreTheHeaders) {
  EXPECT_EQ(int{CU_TRSF_READ_AS_INTEGER}, int{kReadAsInteger});
  EXPECT_EQ(int{CU_TRSF_SEAMLESS_CUBEMAP}, int{kSeamlessCubemap});
  EXPECT_EQ(int{CU_MEMORYTYPE_UNIFIED}, int{kUnifiedMemory});
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
