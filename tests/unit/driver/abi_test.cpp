// Our layout of the driver's types against the real header, where NVIDIA's toolkit is installed.
#include "driver/abi.h"

#include <gtest/gtest.h>

#include <cstddef>

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace {

static_assert(sizeof(::CUlaunchAttribute) == sizeof(raddle::driver::CUlaunchAttribute));
static_assert(offsetof(::CUlaunchAttribute, value) == offsetof(raddle::driver::CUlaunchAttribute, value));
static_assert(sizeof(::CUlaunchConfig) == sizeof(raddle::driver::CUlaunchConfig));
static_assert(offsetof(::CUlaunchConfig, attrs) == offsetof(raddle::driver::CUlaunchConfig, attrs));
static_assert(sizeof(::CUuuid) == sizeof(raddle::driver::CUuuid));
static_assert(sizeof(::CUDA_ARRAY_DESCRIPTOR) == sizeof(raddle::driver::CUDA_ARRAY_DESCRIPTOR));
static_assert(sizeof(::CUDA_ARRAY3D_DESCRIPTOR) == sizeof(raddle::driver::CUDA_ARRAY3D_DESCRIPTOR));
static_assert(offsetof(::CUDA_ARRAY3D_DESCRIPTOR, Flags) ==
              offsetof(raddle::driver::CUDA_ARRAY3D_DESCRIPTOR, Flags));
static_assert(sizeof(::CUDA_ARRAY_MEMORY_REQUIREMENTS) ==
              sizeof(raddle::driver::CUDA_ARRAY_MEMORY_REQUIREMENTS));
static_assert(sizeof(::CUDA_RESOURCE_DESC) == sizeof(raddle::driver::CUDA_RESOURCE_DESC));
static_assert(offsetof(::CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes) ==
              offsetof(raddle::driver::CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes));
static_assert(offsetof(::CUDA_RESOURCE_DESC, flags) == offsetof(raddle::driver::CUDA_RESOURCE_DESC, flags));
static_assert(sizeof(::CUDA_TEXTURE_DESC) == sizeof(raddle::driver::CUDA_TEXTURE_DESC));
static_assert(offsetof(::CUDA_TEXTURE_DESC, borderColor) ==
              offsetof(raddle::driver::CUDA_TEXTURE_DESC, borderColor));
static_assert(sizeof(::CUDA_RESOURCE_VIEW_DESC) == sizeof(raddle::driver::CUDA_RESOURCE_VIEW_DESC));
static_assert(offsetof(::CUDA_RESOURCE_VIEW_DESC, firstLayer) ==
              offsetof(raddle::driver::CUDA_RESOURCE_VIEW_DESC, firstLayer));
static_assert(sizeof(::CUresult) == sizeof(raddle::driver::CUresult));

static_assert(sizeof(::CUctxCreateParams) == sizeof(raddle::driver::CUctxCreateParams));
static_assert(offsetof(::CUctxCreateParams, cigParams) ==
              offsetof(raddle::driver::CUctxCreateParams, cigParams));
#define SAME_SIZE(type) static_assert(sizeof(::type) == sizeof(raddle::driver::type))
#define SAME_PLACE(type, member) \
  static_assert(offsetof(::type, member) == offsetof(raddle::driver::type, member))
SAME_PLACE(CUlaunchConfig, hStream);
SAME_PLACE(CUlaunchConfig, numAttrs);
SAME_PLACE(CUDA_ARRAY3D_DESCRIPTOR, Format);
SAME_PLACE(CUDA_RESOURCE_DESC, res.linear.sizeInBytes);
SAME_PLACE(CUDA_TEXTURE_DESC, flags);
SAME_SIZE(CUtensorMap);
static_assert(alignof(::CUtensorMap) == alignof(raddle::driver::CUtensorMap));
SAME_SIZE(CUDA_MEMCPY2D);
SAME_PLACE(CUDA_MEMCPY2D, srcArray);
SAME_PLACE(CUDA_MEMCPY2D, dstDevice);
SAME_PLACE(CUDA_MEMCPY2D, Height);
SAME_SIZE(CUDA_MEMCPY3D);
SAME_PLACE(CUDA_MEMCPY3D, srcHeight);
SAME_PLACE(CUDA_MEMCPY3D, dstMemoryType);
SAME_PLACE(CUDA_MEMCPY3D, dstXInBytes);
SAME_PLACE(CUDA_MEMCPY3D, srcDevice);
SAME_PLACE(CUDA_MEMCPY3D, dstHeight);
SAME_PLACE(CUDA_MEMCPY3D, Depth);
SAME_SIZE(CUDA_MEMCPY3D_PEER);
SAME_PLACE(CUDA_MEMCPY3D_PEER, srcContext);
SAME_PLACE(CUDA_MEMCPY3D_PEER, dstContext);
SAME_PLACE(CUDA_MEMCPY3D_PEER, dstPitch);
SAME_SIZE(CUmemLocation);
SAME_SIZE(CUmemcpyAttributes);
SAME_PLACE(CUmemcpyAttributes, flags);
SAME_SIZE(CUmemcpy3DOperand);
SAME_PLACE(CUmemcpy3DOperand, op.ptr.locHint);
SAME_PLACE(CUmemcpy3DOperand, op.array.array);
SAME_SIZE(CUDA_MEMCPY3D_BATCH_OP);
SAME_PLACE(CUDA_MEMCPY3D_BATCH_OP, srcAccessOrder);
SAME_SIZE(CUmemAllocationProp);
SAME_PLACE(CUmemAllocationProp, allocFlags);
SAME_SIZE(CUmulticastObjectProp);
SAME_PLACE(CUmulticastObjectProp, flags);
SAME_SIZE(CUmemAccessDesc);
SAME_SIZE(CUmemPoolProps);
SAME_PLACE(CUmemPoolProps, maxSize);
SAME_PLACE(CUmemPoolProps, reserved);
SAME_SIZE(CUmemPoolPtrExportData);
static_assert(sizeof(::CUDA_KERNEL_NODE_PARAMS_v1) == sizeof(raddle::driver::CUDA_KERNEL_NODE_PARAMS_v1));
static_assert(offsetof(::CUDA_KERNEL_NODE_PARAMS_v1, extra) ==
              offsetof(raddle::driver::CUDA_KERNEL_NODE_PARAMS_v1, extra));
static_assert(sizeof(::CUDA_KERNEL_NODE_PARAMS_v3) == sizeof(raddle::driver::CUDA_KERNEL_NODE_PARAMS));
static_assert(sizeof(::CUDA_MEMSET_NODE_PARAMS_v1) == sizeof(raddle::driver::CUDA_MEMSET_NODE_PARAMS_v1));
static_assert(offsetof(::CUDA_MEMSET_NODE_PARAMS_v1, width) ==
              offsetof(raddle::driver::CUDA_MEMSET_NODE_PARAMS_v1, width));
static_assert(sizeof(::CUDA_MEMSET_NODE_PARAMS_v2) == sizeof(raddle::driver::CUDA_MEMSET_NODE_PARAMS));
static_assert(sizeof(::CUDA_HOST_NODE_PARAMS_v2) == sizeof(raddle::driver::CUDA_HOST_NODE_PARAMS));
static_assert(sizeof(::CUDA_MEM_ALLOC_NODE_PARAMS_v2) == sizeof(raddle::driver::CUDA_MEM_ALLOC_NODE_PARAMS));
static_assert(offsetof(::CUDA_MEM_ALLOC_NODE_PARAMS_v2, dptr) ==
              offsetof(raddle::driver::CUDA_MEM_ALLOC_NODE_PARAMS, dptr));
static_assert(sizeof(::CUDA_BATCH_MEM_OP_NODE_PARAMS_v2) ==
              sizeof(raddle::driver::CUDA_BATCH_MEM_OP_NODE_PARAMS));
static_assert(sizeof(::CUDA_EVENT_WAIT_NODE_PARAMS) == sizeof(raddle::driver::CUDA_EVENT_NODE_PARAMS));
SAME_SIZE(CUDA_MEMCPY_NODE_PARAMS);
SAME_PLACE(CUDA_MEMCPY_NODE_PARAMS, copyParams);
SAME_SIZE(CUDA_CHILD_GRAPH_NODE_PARAMS);
SAME_SIZE(CUDA_CONDITIONAL_NODE_PARAMS);
SAME_PLACE(CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out);
SAME_SIZE(CUgraphNodeParams);
SAME_SIZE(CUgraphEdgeData);
SAME_SIZE(CUDA_GRAPH_INSTANTIATE_PARAMS);
SAME_PLACE(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out);
SAME_SIZE(CUgraphExecUpdateResultInfo);
SAME_SIZE(CUstreamBatchMemOpParams);
SAME_SIZE(CUstreamAttrValue);
SAME_SIZE(CUexecAffinityParam);
static_assert(offsetof(::CUstreamBatchMemOpParams, waitValue.flags) ==
              offsetof(raddle::driver::CUstreamBatchMemOpParams, value.flags));
static_assert(offsetof(::CUstreamBatchMemOpParams, waitValue.value64) ==
              offsetof(raddle::driver::CUstreamBatchMemOpParams, value.value));
static_assert(offsetof(::CUstreamAttrValue, accessPolicyWindow.num_bytes) ==
              offsetof(raddle::driver::CUstreamAttrValue, window.num_bytes));
SAME_SIZE(CUipcMemHandle);
SAME_SIZE(CUipcEventHandle);

TEST(Abi, ResultsHaveTheHeadersNumbers) {
#define RESULT(name, number, text) EXPECT_EQ(static_cast<int>(::name), number);
#include "driver/results.def"
#undef RESULT
}

TEST(Abi, AttributesHaveTheHeadersNumbers) {
#define ATTRIBUTE(name, number, value) EXPECT_EQ(static_cast<int>(::CU_DEVICE_ATTRIBUTE_##name), number);
#include "driver/attributes.def"
#undef ATTRIBUTE
#define LAUNCH_ATTRIBUTE(name, number, how, text) \
  EXPECT_EQ(static_cast<int>(::CU_LAUNCH_ATTRIBUTE_##name), number);
#include "driver/launch_attributes.def"
#undef LAUNCH_ATTRIBUTE
  using namespace raddle::driver;
  EXPECT_EQ(static_cast<int>(::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
            FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_EQ(static_cast<int>(::CU_POINTER_ATTRIBUTE_RANGE_SIZE), POINTER_RANGE_SIZE);
  EXPECT_EQ(static_cast<int>(::CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID), POINTER_MEMORY_BLOCK_ID);
  EXPECT_EQ(static_cast<unsigned>(::CU_MEMORYTYPE_UNIFIED), MEMORYTYPE_UNIFIED);
  EXPECT_EQ(static_cast<int>(::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT), LOCATION_HOST_NUMA_CURRENT);
  EXPECT_EQ(static_cast<int>(::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID),
            RANGE_LAST_PREFETCH_LOCATION_ID);
  EXPECT_EQ(static_cast<int>(::CU_MEM_ADVISE_UNSET_ACCESSED_BY), ADVISE_UNSET_ACCESSED_BY);
  EXPECT_EQ(static_cast<int>(::CU_MEMPOOL_ATTR_USED_MEM_HIGH), POOL_USED_HIGH);
  EXPECT_EQ(static_cast<int>(::CU_LIMIT_MALLOC_HEAP_SIZE), LIMIT_MALLOC_HEAP_SIZE);
  EXPECT_EQ(static_cast<unsigned>(::CU_STREAM_NON_BLOCKING), STREAM_NON_BLOCKING);
  EXPECT_EQ(static_cast<unsigned>(::CU_EVENT_DISABLE_TIMING), EVENT_DISABLE_TIMING);
}

TEST(Abi, ArraysHaveTheHeadersNumbers) {
  using namespace raddle::driver;
  EXPECT_EQ(static_cast<int>(::CU_AD_FORMAT_SIGNED_INT32), FORMAT_SIGNED_INT32);
  EXPECT_EQ(static_cast<int>(::CU_AD_FORMAT_HALF), FORMAT_HALF);
  EXPECT_EQ(static_cast<int>(::CU_AD_FORMAT_FLOAT), FORMAT_FLOAT);
  EXPECT_EQ(static_cast<int>(::CU_AD_FORMAT_UNORM_INT8X1), FORMAT_UNORM_INT8X1);
  EXPECT_EQ(static_cast<int>(::CU_AD_FORMAT_SNORM_INT16X4), FORMAT_SNORM_INT16X4);
  EXPECT_EQ(static_cast<unsigned>(CUDA_ARRAY3D_CUBEMAP), ARRAY3D_CUBEMAP);
  EXPECT_EQ(static_cast<unsigned>(CUDA_ARRAY3D_COLOR_ATTACHMENT), ARRAY3D_COLOR_ATTACHMENT);
  EXPECT_EQ(static_cast<int>(::CU_RESOURCE_TYPE_PITCH2D), RESOURCE_TYPE_PITCH2D);
  EXPECT_EQ(static_cast<int>(::CU_TR_ADDRESS_MODE_BORDER), ADDRESS_BORDER);
  EXPECT_EQ(static_cast<int>(::CU_TR_FILTER_MODE_LINEAR), FILTER_LINEAR);
  EXPECT_EQ(static_cast<unsigned>(CU_TRSF_READ_AS_INTEGER), TRSF_READ_AS_INTEGER);
  EXPECT_EQ(static_cast<unsigned>(CU_TRSF_SEAMLESS_CUBEMAP), TRSF_SEAMLESS_CUBEMAP);
  EXPECT_EQ(static_cast<int>(::CU_RES_VIEW_FORMAT_FLOAT_4X32), RES_VIEW_FORMAT_FLOAT_4X32);
}

}  // namespace
#else
TEST(Abi, MatchesTheRealHeader) { GTEST_SKIP() << "no cuda.h on this machine"; }
#endif
