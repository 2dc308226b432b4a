// Calls that end things while work still uses them: they return at once where CUDA documents no wait, and
// what they ended serves the work that was given before.
#include "ending_fixture.h"

namespace raddle::driver {
namespace {

TEST_P(Endings, OfStreams) {
  const CUdeviceptr in = upload({37});
  const CUstream legacy_blocks = stream();
  block(s);
  launch_other("sum", in, out);
  returns("cuStreamDestroy", [&] { return cuStreamDestroy_v2(s); });
  if (!on_hardware()) EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
  finish();
  EXPECT_EQ(download(out, 1), Values{42});  // its work was done all the same
  EXPECT_EQ(cuStreamDestroy_v2(legacy_blocks), CUDA_SUCCESS);
}

/// The legacy stream still waits for work of a blocking stream that was destroyed.
TEST_P(Endings, OfStreamsKeepTheLegacyStreamsOrder) {
  s = stream();
  const CUdeviceptr in = upload({1}), copy = upload({0});
  block(s);
  launch_other("sum", in, out);
  returns("cuStreamDestroy", [&] { return cuStreamDestroy_v2(s); });
  ASSERT_EQ(cuMemcpyDtoDAsync_v2(copy, out, 4, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  finish();
  EXPECT_EQ(download(copy, 1), Values{6});
}

TEST_P(Endings, OfModules) {
  SKIP_ON_HARDWARE("waits for all work");
  const CUdeviceptr in = upload({37});
  block(s);
  launch_other("sum", in, out);
  returns("cuModuleUnload", [&] { return cuModuleUnload(others); });
  finish();
  EXPECT_EQ(download(out, 1), Values{42});
}

TEST_P(Endings, OfLibraries) {
  SKIP_ON_HARDWARE("waits for all work");
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUdeviceptr in = upload({37});
  ASSERT_EQ(cuLibraryLoadData(&library, kOthers, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "sum"), CUDA_SUCCESS);
  block(s);
  void* pointers[] = {&in, &out};
  ASSERT_EQ(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, s, pointers, nullptr),
            CUDA_SUCCESS);
  returns("cuLibraryUnload", [&] { return cuLibraryUnload(library); });
  finish();
  EXPECT_EQ(download(out, 1), Values{42});
}

TEST_P(Endings, OfPinnedMemory) {
  SKIP_ON_HARDWARE("waits for all work");
  unsigned* in = nullptr;
  ASSERT_EQ(cuMemHostAlloc(reinterpret_cast<void**>(&in), 4, 0), CUDA_SUCCESS);
  *in = 37;
  block(s);
  launch_other("sum", in, out);
  returns("cuMemFreeHost", [&] { return cuMemFreeHost(in); });
  EXPECT_EQ(cuMemFreeHost(in), CUDA_ERROR_INVALID_VALUE);
  finish();
  EXPECT_EQ(download(out, 1), Values{42});
}

TEST_P(Endings, OfRegistrations) {
  SKIP_ON_HARDWARE("waits for all work");
  std::vector<unsigned> in(1024, 37);
  ASSERT_EQ(cuMemHostRegister_v2(in.data(), 4096, 0), CUDA_SUCCESS);
  block(s);
  launch_other("sum", in.data(), out);
  returns("cuMemHostUnregister", [&] { return cuMemHostUnregister(in.data()); });
  finish();
  EXPECT_EQ(download(out, 1), Values{42});
}

TEST_P(Endings, OfMappings) {
  SKIP_ON_HARDWARE("unmaps at once");
  const CUmemAllocationProp props{ALLOCATION_PINNED, HANDLE_TYPE_NONE, {LOCATION_DEVICE, 0}};
  const CUmemAccessDesc access{{LOCATION_DEVICE, 0}, ACCESS_READ_WRITE};
  constexpr std::size_t kBytes = 2 << 20;
  CUmemGenericAllocationHandle first = 0, second = 0;
  CUdeviceptr in = 0;
  ASSERT_EQ(cuMemCreate(&first, kBytes, &props, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemCreate(&second, kBytes, &props, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAddressReserve(&in, kBytes, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(in, kBytes, 0, first, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemSetAccess(in, kBytes, &access, 1), CUDA_SUCCESS);
  const unsigned value = 37;
  ASSERT_EQ(cuMemcpyHtoD_v2(in, &value, 4), CUDA_SUCCESS);
  block(s);
  launch_other("sum", in, out);
  returns("cuMemUnmap", [&] { return cuMemUnmap(in, kBytes); });
  EXPECT_EQ(cuMemcpyHtoD_v2(in, &value, 4), CUDA_ERROR_INVALID_VALUE);
  returns("cuMemRelease", [&] { return cuMemRelease(first); });
  returns("cuMemAddressFree", [&] { return cuMemAddressFree(in, kBytes); });
  finish();
  EXPECT_EQ(download(out, 1), Values{42});
  EXPECT_EQ(cuMemRelease(second), CUDA_SUCCESS);
}

/// Other memory can be mapped where some was: after what used that.
TEST_P(Endings, OfMappingsThatOthersFollow) {
  SKIP_ON_HARDWARE("unmaps at once");
  const CUmemAllocationProp props{ALLOCATION_PINNED, HANDLE_TYPE_NONE, {LOCATION_DEVICE, 0}};
  const CUmemAccessDesc access{{LOCATION_DEVICE, 0}, ACCESS_READ_WRITE};
  constexpr std::size_t kBytes = 2 << 20;
  CUmemGenericAllocationHandle handles[2] = {};
  CUdeviceptr in = 0;
  for (auto& handle : handles) ASSERT_EQ(cuMemCreate(&handle, kBytes, &props, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAddressReserve(&in, kBytes, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(in, kBytes, 0, handles[0], 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemSetAccess(in, kBytes, &access, 1), CUDA_SUCCESS);
  unsigned value = 37;
  ASSERT_EQ(cuMemcpyHtoD_v2(in, &value, 4), CUDA_SUCCESS);
  block(s);
  launch_other("sum", in, out);
  returns("cuMemUnmap", [&] { return cuMemUnmap(in, kBytes); });
  open();
  const TimeLimit limit("cuMemMap");
  ASSERT_EQ(cuMemMap(in, kBytes, 0, handles[1], 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemSetAccess(in, kBytes, &access, 1), CUDA_SUCCESS);
  EXPECT_EQ(download(out, 1), Values{42});
  value = 1;
  ASSERT_EQ(cuMemcpyHtoD_v2(in, &value, 4), CUDA_SUCCESS);
  EXPECT_EQ(download(in, 1), Values{1});
  EXPECT_EQ(cuMemUnmap(in, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(in, kBytes), CUDA_SUCCESS);
  for (const auto handle : handles) EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
}

TEST_P(Endings, OfMemoryOfPools) {
  SKIP_ON_HARDWARE("gives its address again");
  CUmemoryPool pool = nullptr;
  const CUmemPoolProps props{ALLOCATION_PINNED, HANDLE_TYPE_NONE, {LOCATION_DEVICE, 0}};
  ASSERT_EQ(cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
  CUdeviceptr in = 0, other = 0, next = 0;
  ASSERT_EQ(cuMemAllocFromPoolAsync(&in, 4, pool, s), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAllocFromPoolAsync(&other, 4, pool, s), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD32Async(in, 37, 1, s), CUDA_SUCCESS);
  block(s);
  launch_other("sum", in, out);
  returns("cuMemFree", [&] { return cuMemFree_v2(in); });
  returns("cuMemFreeAsync", [&] { return cuMemFreeAsync(other, s); });
  const CUstream another = stream(STREAM_NON_BLOCKING);
  ASSERT_EQ(cuMemAllocFromPoolAsync(&next, 4, pool, another), CUDA_SUCCESS);
  EXPECT_NE(next, in);  // which is in use
  EXPECT_NE(next, other);
  returns("cuMemPoolDestroy", [&] { return cuMemPoolDestroy(pool); });
  finish();
  EXPECT_EQ(download(out, 1), Values{42});
}

TEST_P(Endings, OfTexturesAndArrays) {
  SKIP_ON_HARDWARE("waits for all work");
  const CUDA_ARRAY3D_DESCRIPTOR shape{4, 0, 0, FORMAT_UNSIGNED_INT32, 1, ARRAY3D_SURFACE_LDST};
  const unsigned texels[] = {42, 1, 2, 3};
  CUarray array = nullptr;
  CUtexObject texture = 0;
  CUsurfObject surface = 0;
  ASSERT_EQ(cuArray3DCreate_v2(&array, &shape), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyHtoA_v2(array, 0, texels, sizeof texels), CUDA_SUCCESS);
  CUDA_RESOURCE_DESC resource{};
  resource.resType = RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  CUDA_TEXTURE_DESC descriptor{};
  descriptor.flags = TRSF_READ_AS_INTEGER;
  ASSERT_EQ(cuTexObjectCreate(&texture, &resource, &descriptor, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuSurfObjectCreate(&surface, &resource), CUDA_SUCCESS);
  block(s);
  launch_other("fetch", texture, out);
  returns("cuTexObjectDestroy", [&] { return cuTexObjectDestroy(texture); });
  returns("cuSurfObjectDestroy", [&] { return cuSurfObjectDestroy(surface); });
  returns("cuArrayDestroy", [&] { return cuArrayDestroy(array); });
  EXPECT_EQ(cuTexObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
  finish();
  EXPECT_EQ(download(out, 1), Values{42});
}

TEST_P(Endings, OfMipmappedArrays) {
  SKIP_ON_HARDWARE("waits for all work");
  const CUDA_ARRAY3D_DESCRIPTOR shape{4, 4, 0, FORMAT_UNSIGNED_INT32, 1, 0};
  CUmipmappedArray mipmap = nullptr;
  ASSERT_EQ(cuMipmappedArrayCreate(&mipmap, &shape, 2), CUDA_SUCCESS);
  block(s);
  returns("cuMipmappedArrayDestroy", [&] { return cuMipmappedArrayDestroy(mipmap); });
  finish();
}

TEST_P(Endings, OfEvents) {
  CUevent event = nullptr;
  const CUstream waits = stream(STREAM_NON_BLOCKING);
  const CUdeviceptr in = upload({37});
  ASSERT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  block(s);
  ASSERT_EQ(cuEventRecord(event, s), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(waits, event, 0), CUDA_SUCCESS);
  returns("cuEventDestroy", [&] { return cuEventDestroy_v2(event); });
  EXPECT_EQ(cuStreamQuery(waits), CUDA_ERROR_NOT_READY);
  launch_other("sum", in, out);
  finish();
  EXPECT_EQ(cuStreamQuery(waits), CUDA_SUCCESS);
}

/// cuMemFree waits for the work of its context, for no other's.
TEST_P(Endings, OfDeviceMemoryWaitForTheContext) {
  SKIP_ON_HARDWARE("waits for all work");
  for (const bool is_managed : {false, true}) {
    CUdeviceptr in = upload({37});
    if (is_managed) {
      ASSERT_EQ(cuMemAllocManaged(&in, 4, MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
      *reinterpret_cast<unsigned*>(in) = 37;
    }
    word() = 0;
    opened = false;
    block(s);
    launch_other("sum", in, out);
    CUcontext another = nullptr;
    CUdeviceptr there = 0;
    ASSERT_EQ(cuCtxCreate_v4(&another, nullptr, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(is_managed ? cuMemAllocManaged(&there, 4, MEM_ATTACH_GLOBAL) : cuMemAlloc_v2(&there, 4),
              CUDA_SUCCESS);
    returns("cuMemFree", [&] { return cuMemFree_v2(there); });
    {
      const TimeLimit limit("cuCtxDestroy");
      ASSERT_EQ(cuCtxDestroy_v2(another), CUDA_SUCCESS);
    }
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    std::thread opener([&] { open(); });
    {
      const TimeLimit limit("cuMemFree");
      EXPECT_EQ(cuMemFree_v2(in), CUDA_SUCCESS);
      EXPECT_TRUE(opened);
    }
    opener.join();
    EXPECT_EQ(download(out, 1), Values{42});
  }
}

INSTANTIATE_TEST_SUITE_P(Behind, Endings, testing::Values(Blocker::kernel, Blocker::value, Blocker::function),
                         [](const auto& info) { return kBlockers[static_cast<int>(info.param)]; });

}  // namespace
}  // namespace raddle::driver
