// Texture and surface objects of the driver API: made, described, read by kernels, ended.
#include <thread>

#include "driver_test.h"
#include "wait_until.h"

namespace raddle::driver {
namespace {

/// fill(surface, width): row y of a 2-D surface of f32 becomes x + 10 y. read(texture, x, y, out): out =
/// texel. wait(p): until *p is not 0.
constexpr const char* kTextureKernels = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry fill(.param .u64 surface, .param .u32 add)
{
  .reg .b64 %s; .reg .b32 %x, %y, %v, %a; .reg .f32 %f;
  ld.param.u64 %s, [surface]; ld.param.u32 %a, [add];
  mov.u32 %x, %tid.x; mov.u32 %y, %tid.y;
  mad.lo.u32 %v, %y, 10, %x; add.u32 %v, %v, %a;
  cvt.rn.f32.u32 %f, %v;
  mul.lo.u32 %x, %x, 4;
  sust.b.2d.b32.trap [%s, {%x, %y}], {%f};
  ret;
}
.visible .entry read(.param .u64 texture, .param .f32 x, .param .f32 y, .param .f32 level, .param .u64 out)
{
  .reg .b64 %t, %o; .reg .f32 %x, %y, %l, %r, %g, %b, %a;
  ld.param.u64 %t, [texture]; ld.param.f32 %x, [x]; ld.param.f32 %y, [y]; ld.param.f32 %l, [level];
  ld.param.u64 %o, [out];
  tex.level.2d.v4.f32.f32 {%r, %g, %b, %a}, [%t, {%x, %y}], %l;
  st.global.f32 [%o], %r;
  ret;
}
.visible .entry fetch(.param .u64 texture, .param .u32 x, .param .u64 out)
{
  .reg .b64 %t, %o; .reg .b32 %x, %r, %g, %b, %a;
  ld.param.u64 %t, [texture]; ld.param.u32 %x, [x]; ld.param.u64 %o, [out];
  tex.1d.v4.u32.s32 {%r, %g, %b, %a}, [%t, {%x}];
  st.global.u32 [%o], %r;
  ret;
}
.visible .entry wait(.param .u64 p)
{
  .reg .pred %z; .reg .b32 %r; .reg .b64 %d;
  ld.param.u64 %d, [p];
again:
  ld.acquire.sys.global.u32 %r, [%d];
  setp.eq.u32 %z, %r, 0;
  @%z bra again;
  ret;
}
)";

CUDA_TEXTURE_DESC plain(unsigned flags = 0) {
  CUDA_TEXTURE_DESC d{};
  d.addressMode[0] = d.addressMode[1] = d.addressMode[2] = ADDRESS_CLAMP;
  d.flags = flags;
  d.maxMipmapLevelClamp = 100;
  return d;
}
CUDA_RESOURCE_DESC of_array(CUarray array) {
  CUDA_RESOURCE_DESC r{};
  r.resType = RESOURCE_TYPE_ARRAY;
  r.res.array.hArray = array;
  return r;
}
CUDA_RESOURCE_DESC of_linear(CUdeviceptr address, CUarray_format format, std::size_t bytes) {
  CUDA_RESOURCE_DESC r{};
  r.resType = RESOURCE_TYPE_LINEAR;
  r.res.linear = {address, format, 1, bytes};
  return r;
}

class DriverTextures : public Driver {
 protected:
  void SetUp() override {
    Driver::SetUp();
    ASSERT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleLoadData(&module, kTextureKernels), CUDA_SUCCESS);
    out_ = allocate(4);
  }
  CUarray array(std::size_t width, std::size_t height) {
    const CUDA_ARRAY3D_DESCRIPTOR d{width, height, 0, FORMAT_FLOAT, 1, ARRAY3D_SURFACE_LDST};
    CUarray made = nullptr;
    EXPECT_EQ(cuArray3DCreate_v2(&made, &d), CUDA_SUCCESS);
    return made;
  }
  void fill(CUarray array, unsigned width, unsigned height, unsigned add) {
    const CUDA_RESOURCE_DESC resource = of_array(array);
    CUsurfObject surface = 0;
    ASSERT_EQ(cuSurfObjectCreate(&surface, &resource), CUDA_SUCCESS);
    void* parameters[] = {&surface, &add};
    ASSERT_EQ(cuLaunchKernel(function("fill"), 1, 1, 1, width, height, 1, 0, nullptr, parameters, nullptr),
              CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    ASSERT_EQ(cuSurfObjectDestroy(surface), CUDA_SUCCESS);
  }
  float read(CUtexObject texture, float x, float y, float level = 0) {
    EXPECT_EQ(launch("read", nullptr, texture, x, y, level, out_), CUDA_SUCCESS);
    const unsigned bits = download(out_, 1)[0];
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  CUdeviceptr out_ = 0;
};

// proves: K-19d, K-19g, K-19h
TEST_F(DriverTextures, ArraysAreWrittenAsSurfacesAndReadAsTextures) {
  const CUarray a = array(8, 4);
  fill(a, 8, 4, 0);
  const CUDA_RESOURCE_DESC resource = of_array(a);
  CUDA_TEXTURE_DESC d = plain();
  CUtexObject point = 0, linear = 0;
  ASSERT_EQ(cuTexObjectCreate(&point, &resource, &d, nullptr), CUDA_SUCCESS);
  d.filterMode = FILTER_LINEAR;
  d.flags = TRSF_NORMALIZED_COORDINATES;
  d.addressMode[0] = ADDRESS_BORDER;
  d.borderColor[0] = 1000;
  ASSERT_EQ(cuTexObjectCreate(&linear, &resource, &d, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(read(point, 3.9f, 2.1f), 23);
  EXPECT_EQ(read(point, 99, 99), 37);
  EXPECT_EQ(read(linear, 0.5f, 0.5f), 3.5f + 15);
  EXPECT_EQ(read(linear, 0, 0.125f), 500);
  CUDA_RESOURCE_DESC same{};
  CUDA_TEXTURE_DESC again{};
  CUDA_RESOURCE_VIEW_DESC view{};
  EXPECT_EQ(cuTexObjectGetResourceDesc(&same, point), CUDA_SUCCESS);
  EXPECT_EQ(same.res.array.hArray, a);
  EXPECT_EQ(cuTexObjectGetTextureDesc(&again, linear), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(again.borderColor[0], 1000);
  EXPECT_EQ(cuTexObjectGetResourceViewDesc(&view, point),
            on_hardware() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexObjectDestroy(point), CUDA_SUCCESS);
  SKIP_ON_HARDWARE("knows nothing of objects that ended");
  EXPECT_EQ(cuTexObjectDestroy(point), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexObjectGetResourceDesc(&same, point), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuArrayDestroy(a), CUDA_SUCCESS);
  EXPECT_EQ(read(linear, 0.5f, 0.5f), 3.5f + 15);  // the object keeps the memory
  EXPECT_EQ(cuTexObjectDestroy(linear), CUDA_SUCCESS);
}

// proves: K-19h
TEST_F(DriverTextures, LinearAndPitchedMemory) {
  const CUdeviceptr words = upload({10, 20, 30, 40});
  CUDA_RESOURCE_DESC resource = of_linear(words, FORMAT_UNSIGNED_INT32, 16);
  const CUDA_TEXTURE_DESC d = plain(TRSF_READ_AS_INTEGER);
  CUtexObject texture = 0;
  ASSERT_EQ(cuTexObjectCreate(&texture, &resource, &d, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(launch("fetch", nullptr, texture, 2u, out_), CUDA_SUCCESS);
  EXPECT_EQ(download(out_, 1)[0], 30u);
  EXPECT_EQ(launch("fetch", nullptr, texture, 4u, out_), CUDA_SUCCESS);
  EXPECT_EQ(download(out_, 1)[0], 0u);

  CUdeviceptr image = 0;
  std::size_t pitch = 0;
  ASSERT_EQ(cuMemAllocPitch_v2(&image, &pitch, 3, 2, 4), CUDA_SUCCESS);
  const unsigned char rows[2][3] = {{0, 51, 255}, {102, 153, 204}};
  for (unsigned y = 0; y < 2; ++y) ASSERT_EQ(cuMemcpyHtoD_v2(image + y * pitch, rows[y], 3), CUDA_SUCCESS);
  resource.resType = RESOURCE_TYPE_PITCH2D;
  resource.res.pitch2D = {image, FORMAT_UNSIGNED_INT8, 1, 3, 2, pitch};
  const CUDA_TEXTURE_DESC numbers = plain();
  ASSERT_EQ(cuTexObjectCreate(&texture, &resource, &numbers, nullptr), CUDA_SUCCESS);
  EXPECT_FLOAT_EQ(read(texture, 1.5f, 0.5f), 0.2f);
  EXPECT_FLOAT_EQ(read(texture, 2.5f, 1.5f), 0.8f);
}

TEST_F(DriverTextures, MipmappedArraysAndViews) {
  const CUDA_ARRAY3D_DESCRIPTOR shape{8, 8, 0, FORMAT_FLOAT, 1, ARRAY3D_SURFACE_LDST};
  CUmipmappedArray mipmap = nullptr;
  ASSERT_EQ(cuMipmappedArrayCreate(&mipmap, &shape, 3), CUDA_SUCCESS);
  for (unsigned i = 0; i < 3; ++i) {
    CUarray level = nullptr;
    ASSERT_EQ(cuMipmappedArrayGetLevel(&level, mipmap, i), CUDA_SUCCESS);
    fill(level, 8u >> i, 8u >> i, 100 * i);
  }
  CUDA_RESOURCE_DESC resource{};
  resource.resType = RESOURCE_TYPE_MIPMAPPED_ARRAY;
  resource.res.mipmap.hMipmappedArray = mipmap;
  CUDA_TEXTURE_DESC d = plain(TRSF_NORMALIZED_COORDINATES);
  CUtexObject texture = 0, narrow = 0;
  ASSERT_EQ(cuTexObjectCreate(&texture, &resource, &d, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(read(texture, 0.99f, 0, 0), 7);
  EXPECT_EQ(read(texture, 0.99f, 0, 1), 103);
  EXPECT_EQ(read(texture, 0.99f, 0, 9), 201);
  SKIP_ON_HARDWARE("refuses such a view");
  CUDA_RESOURCE_VIEW_DESC view{};
  view.width = view.height = 8;
  view.firstMipmapLevel = 1;
  view.lastMipmapLevel = 1;
  ASSERT_EQ(cuTexObjectCreate(&narrow, &resource, &d, &view), CUDA_SUCCESS);
  EXPECT_EQ(read(narrow, 0.99f, 0, 0), 103);
  EXPECT_EQ(read(narrow, 0.99f, 0, 9), 103);
  CUDA_RESOURCE_VIEW_DESC back{};
  EXPECT_EQ(cuTexObjectGetResourceViewDesc(&back, narrow), CUDA_SUCCESS);
  EXPECT_EQ(back.firstMipmapLevel, 1u);
  view.lastMipmapLevel = 3;
  EXPECT_EQ(cuTexObjectCreate(&narrow, &resource, &d, &view), CUDA_ERROR_INVALID_VALUE);
  d.flags = 0;
  EXPECT_EQ(cuTexObjectCreate(&narrow, &resource, &d, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTextures, WhatCannotBeIsRefused) {
  const CUarray a = array(8, 4);
  CUDA_RESOURCE_DESC resource = of_array(a);
  CUDA_TEXTURE_DESC d = plain();
  CUtexObject texture = 0;
  EXPECT_EQ(cuTexObjectCreate(nullptr, &resource, &d, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexObjectCreate(&texture, nullptr, &d, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexObjectCreate(&texture, &resource, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  d.addressMode[1] = CUaddress_mode{4};
  EXPECT_EQ(cuTexObjectCreate(&texture, &resource, &d, nullptr), CUDA_ERROR_INVALID_VALUE);
  d = plain(TRSF_SEAMLESS_CUBEMAP);  // of what is no cube
  EXPECT_EQ(cuTexObjectCreate(&texture, &resource, &d, nullptr), CUDA_ERROR_INVALID_VALUE);
  d = plain(TRSF_READ_AS_INTEGER);
  d.filterMode = FILTER_LINEAR;
  const CUDA_ARRAY_DESCRIPTOR bytes{4, 4, FORMAT_UNSIGNED_INT8, 1};
  CUarray of_bytes = nullptr;
  ASSERT_EQ(cuArrayCreate_v2(&of_bytes, &bytes), CUDA_SUCCESS);
  resource = of_array(of_bytes);
  if (!on_hardware())
    EXPECT_EQ(cuTexObjectCreate(&texture, &resource, &d, nullptr), CUDA_ERROR_INVALID_VALUE);  // not numbers
  resource = of_array(nullptr);
  EXPECT_EQ(cuTexObjectCreate(&texture, &resource, &d, nullptr),
            on_hardware() ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
  const CUdeviceptr words = upload({1, 2, 3, 4});
  d = plain();
  resource = of_linear(words + 4, FORMAT_FLOAT, 8);  // not aligned
  EXPECT_EQ(cuTexObjectCreate(&texture, &resource, &d, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUsurfObject surface = 0;
  resource = of_linear(words, FORMAT_FLOAT, 8);  // no array
  EXPECT_EQ(cuSurfObjectCreate(&surface, &resource), CUDA_ERROR_INVALID_VALUE);
  SKIP_ON_HARDWARE("takes what follows");
  resource = of_array(of_bytes);  // without SURFACE_LDST
  EXPECT_EQ(cuSurfObjectCreate(&surface, &resource), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuSurfObjectDestroy(12345), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuSurfObjectGetResourceDesc(&resource, 12345), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTextures, WhatWasLaunchedBeforeStillFindsAnEndedObject) {
  const CUarray a = array(8, 4);
  fill(a, 8, 4, 0);
  const CUDA_RESOURCE_DESC resource = of_array(a);
  const CUDA_TEXTURE_DESC d = plain();
  CUtexObject texture = 0;
  ASSERT_EQ(cuTexObjectCreate(&texture, &resource, &d, nullptr), CUDA_SUCCESS);
  void* flag = nullptr;
  ASSERT_EQ(cuMemAllocHost_v2(&flag, 8), CUDA_SUCCESS);
  std::memset(flag, 0, 8);
  const auto address = reinterpret_cast<CUdeviceptr>(flag);
  ASSERT_EQ(launch("wait", nullptr, address), CUDA_SUCCESS);
  ASSERT_EQ(launch("read", nullptr, texture, 3.0f, 2.0f, 0.0f, out_), CUDA_SUCCESS);
  std::thread later([flag] {
    give_others_a_chance();
    __atomic_store_n(static_cast<unsigned*>(flag), 1u, __ATOMIC_RELEASE);
  });
  EXPECT_EQ(cuTexObjectDestroy(texture), CUDA_SUCCESS);
  later.join();
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(download(out_, 1)[0], 0x41b80000u);  // 23
}

TEST_F(DriverTextures, StaleHandlesInKernelsAreFaults) {
  SKIP_ON_HARDWARE("reads something");
  const CUarray a = array(8, 4);
  const CUDA_RESOURCE_DESC resource = of_array(a);
  const CUDA_TEXTURE_DESC d = plain();
  CUtexObject texture = 0;
  ASSERT_EQ(cuTexObjectCreate(&texture, &resource, &d, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuTexObjectDestroy(texture), CUDA_SUCCESS);
  EXPECT_EQ(launch("read", nullptr, texture, 0.0f, 0.0f, 0.0f, out_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace
}  // namespace raddle::driver
