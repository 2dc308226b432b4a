// Texture and surface references (.texref, .surfref): found in modules, bound, described, read by launches.
#include <thread>

#include "driver_test.h"
#include "wait_until.h"

namespace raddle::driver {
namespace {

constexpr unsigned kOverrideFormat = 1;

/// read(x, y, out): the texel of `image`. fetch(x, out): word x of `words`. write(value): to (1, 2) of
/// `plane`. ask(out): width and height of `image`, width of `plane`, whether a register with `image` is a
/// texture. slowly(flag, x, y, out): read, but not before *flag.
constexpr const char* kReferenceKernels = R"(
.version 8.0
.target sm_90
.address_size 64
.global .texref image;
.visible .global .texref words;
.global .surfref plane;
.visible .global .u32 number;
.visible .entry read(.param .f32 x, .param .f32 y, .param .u64 out)
{
  .reg .b64 %o; .reg .f32 %x, %y, %r, %g, %b, %a;
  ld.param.f32 %x, [x]; ld.param.f32 %y, [y]; ld.param.u64 %o, [out];
  tex.2d.v4.f32.f32 {%r, %g, %b, %a}, [image, {%x, %y}];
  st.global.f32 [%o], %r;
  ret;
}
.visible .entry level(.param .f32 x, .param .f32 y, .param .f32 l, .param .u64 out)
{
  .reg .b64 %o; .reg .f32 %x, %y, %l, %r, %g, %b, %a;
  ld.param.f32 %x, [x]; ld.param.f32 %y, [y]; ld.param.f32 %l, [l]; ld.param.u64 %o, [out];
  tex.level.2d.v4.f32.f32 {%r, %g, %b, %a}, [image, {%x, %y}], %l;
  st.global.f32 [%o], %r;
  ret;
}
.visible .entry fetch(.param .u32 x, .param .u64 out)
{
  .reg .b64 %o; .reg .b32 %x, %r, %g, %b, %a;
  ld.param.u32 %x, [x]; ld.param.u64 %o, [out];
  tex.1d.v4.u32.s32 {%r, %g, %b, %a}, [words, {%x}];
  st.global.v4.u32 [%o], {%r, %g, %b, %a};
  ret;
}
.visible .entry write(.param .f32 value)
{
  .reg .b32 %x, %y; .reg .f32 %v;
  ld.param.f32 %v, [value];
  mov.u32 %x, 4; mov.u32 %y, 2;
  sust.b.2d.b32.trap [plane, {%x, %y}], {%v};
  ret;
}
.visible .entry ask(.param .u64 out)
{
  .reg .b64 %o, %t; .reg .b32 %r<4>; .reg .pred %p;
  ld.param.u64 %o, [out];
  txq.width.b32 %r0, [image];
  txq.height.b32 %r1, [image];
  suq.width.b32 %r2, [plane];
  mov.u64 %t, image;
  istypep.texref %p, %t;
  selp.u32 %r3, 1, 0, %p;
  st.global.v4.u32 [%o], {%r0, %r1, %r2, %r3};
  ret;
}
.visible .entry slowly(.param .u64 flag, .param .f32 x, .param .f32 y, .param .u64 out)
{
  .reg .pred %z; .reg .b32 %v; .reg .b64 %o, %d; .reg .f32 %x, %y, %r, %g, %b, %a;
  ld.param.u64 %d, [flag];
  ld.param.f32 %x, [x]; ld.param.f32 %y, [y]; ld.param.u64 %o, [out];
again:
  ld.acquire.sys.global.u32 %v, [%d];
  setp.eq.u32 %z, %v, 0;
  @%z bra again;
  tex.2d.v4.f32.f32 {%r, %g, %b, %a}, [image, {%x, %y}];
  st.global.f32 [%o], %r;
  ret;
}
)";

class DriverReferences : public Driver {
 protected:
  void SetUp() override {
    Driver::SetUp();
    ASSERT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleLoadData(&module, kReferenceKernels), CUDA_SUCCESS);
    out_ = allocate(16);
  }
  CUtexref reference(const char* name, CUmodule of = nullptr) {
    CUtexref found = nullptr;
    EXPECT_EQ(cuModuleGetTexRef(&found, of == nullptr ? module : of, name), CUDA_SUCCESS) << name;
    return found;
  }
  CUsurfref plane() {
    CUsurfref found = nullptr;
    EXPECT_EQ(cuModuleGetSurfRef(&found, module, "plane"), CUDA_SUCCESS);
    return found;
  }
  /// 4 x 4 texels: `base` + x + 10 y.
  CUarray array(float base, unsigned flags = ARRAY3D_SURFACE_LDST) {
    const CUDA_ARRAY3D_DESCRIPTOR d{4, 4, 0, FORMAT_FLOAT, 1, flags};
    CUarray made = nullptr;
    EXPECT_EQ(cuArray3DCreate_v2(&made, &d), CUDA_SUCCESS);
    fill(made, 4, base);
    return made;
  }
  void fill(CUarray array, unsigned extent, float base) {
    std::vector<float> texels;
    for (unsigned i = 0; i < extent * extent; ++i)
      texels.push_back(base + static_cast<float>(i % extent + 10 * (i / extent)));
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = MEMORYTYPE_HOST;
    copy.srcHost = texels.data();
    copy.srcPitch = copy.WidthInBytes = extent * 4;
    copy.dstMemoryType = MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.Height = extent;
    EXPECT_EQ(cuMemcpy2D_v2(&copy), CUDA_SUCCESS);
  }
  float result() {
    const unsigned bits = download(out_, 1)[0];
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  float read(float x, float y) {
    EXPECT_EQ(launch("read", nullptr, x, y, out_), CUDA_SUCCESS);
    return result();
  }
  CUdeviceptr out_ = 0;
};

TEST_F(DriverReferences, AreFoundByKindAndName) {
  CUtexref first = nullptr, again = nullptr;
  CUsurfref surface = nullptr;
  EXPECT_EQ(cuModuleGetTexRef(&first, module, "image"), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetTexRef(&again, module, "image"), CUDA_SUCCESS);
  EXPECT_EQ(first, again);
  EXPECT_EQ(cuModuleGetTexRef(&again, module, "words"), CUDA_SUCCESS);
  EXPECT_NE(first, again);
  for (const char* other : {"plane", "number", "nowhere"})
    EXPECT_EQ(cuModuleGetTexRef(&again, module, other), CUDA_ERROR_NOT_FOUND) << other;
  EXPECT_EQ(cuModuleGetSurfRef(&surface, module, "plane"), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetSurfRef(&surface, module, "image"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuModuleGetTexRef(nullptr, module, "image"), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  EXPECT_NE(cuModuleGetGlobal_v2(&address, &bytes, module, "image"), CUDA_SUCCESS);
  SKIP_ON_HARDWARE("ends what is the module's, and follows handles");
  EXPECT_EQ(cuModuleGetGlobal_v2(&address, &bytes, module, "image"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuParamSetTexRef(function("read"), -1, first), CUDA_SUCCESS);
  EXPECT_EQ(cuParamSetTexRef(function("read"), 0, first), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexRefDestroy(first), CUDA_ERROR_INVALID_VALUE);  // it is the module's
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  unsigned flags = 0;
  EXPECT_EQ(cuTexRefGetFlags(&flags, first), CUDA_ERROR_INVALID_VALUE);
  CUarray array = nullptr;
  EXPECT_EQ(cuSurfRefGetArray(&array, surface), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverReferences, ArraysAreReadAsTheirSettingsSay) {
  const CUtexref image = reference("image");
  const CUarray a = array(100);
  if (!on_hardware()) EXPECT_EQ(cuTexRefSetArray(image, a, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuTexRefSetArray(image, a, kOverrideFormat), CUDA_SUCCESS);
  EXPECT_EQ(read(2.5f, 1.5f), 112);
  EXPECT_EQ(read(9, 0), 103);  // clamped, as at first
  ASSERT_EQ(cuTexRefSetFilterMode(image, FILTER_LINEAR), CUDA_SUCCESS);
  EXPECT_EQ(read(1, 0.5f), 100.5f);
  ASSERT_EQ(cuTexRefSetFlags(image, TRSF_NORMALIZED_COORDINATES), CUDA_SUCCESS);
  ASSERT_EQ(cuTexRefSetAddressMode(image, 0, ADDRESS_WRAP), CUDA_SUCCESS);
  EXPECT_EQ(read(1.125f, 0.125f), 100);
  ASSERT_EQ(cuTexRefSetAddressMode(image, 0, ADDRESS_BORDER), CUDA_SUCCESS);
  float color[] = {7, 0, 0, 0};
  ASSERT_EQ(cuTexRefSetBorderColor(image, color), CUDA_SUCCESS);
  EXPECT_EQ(read(1.625f, 0.125f), 7);
  SKIP_ON_HARDWARE("reads something from what is not bound");
  EXPECT_EQ(launch("ask", nullptr, out_), CUDA_SUCCESS);  // `plane` is not bound: a fault
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(DriverReferences, QueriesSeeWhatIsBound) {
  ASSERT_EQ(cuTexRefSetArray(reference("image"), array(0), kOverrideFormat), CUDA_SUCCESS);
  ASSERT_EQ(cuSurfRefSetArray(plane(), array(0), 0), CUDA_SUCCESS);
  EXPECT_EQ(launch("ask", nullptr, out_), CUDA_SUCCESS);
  EXPECT_EQ(download(out_, 4), (std::vector<unsigned>{4, 4, 4, 1}));
}

TEST_F(DriverReferences, MipmappedArrays) {
  const CUDA_ARRAY3D_DESCRIPTOR shape{4, 4, 0, FORMAT_FLOAT, 1, 0};
  CUmipmappedArray mipmap = nullptr;
  ASSERT_EQ(cuMipmappedArrayCreate(&mipmap, &shape, 2), CUDA_SUCCESS);
  for (unsigned i = 0; i < 2; ++i) {
    CUarray level = nullptr;
    ASSERT_EQ(cuMipmappedArrayGetLevel(&level, mipmap, i), CUDA_SUCCESS);
    fill(level, 4u >> i, 100.0f * static_cast<float>(i));
  }
  const CUtexref image = reference("image");
  ASSERT_EQ(cuTexRefSetMipmappedArray(image, mipmap, kOverrideFormat), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(cuTexRefSetMipmappedArray(image, mipmap, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuTexRefSetFlags(image, TRSF_NORMALIZED_COORDINATES), CUDA_SUCCESS);
  ASSERT_EQ(cuTexRefSetMipmapLevelClamp(image, 0, 5), CUDA_SUCCESS);
  const auto at_level = [this](float level) {
    EXPECT_EQ(launch("level", nullptr, 0.99f, 0.0f, level, out_), CUDA_SUCCESS);
    return result();
  };
  EXPECT_EQ(at_level(0), 3);
  EXPECT_EQ(at_level(1), 101);
  ASSERT_EQ(cuTexRefSetMipmapFilterMode(image, FILTER_LINEAR), CUDA_SUCCESS);
  EXPECT_EQ(at_level(0.5f), 52);
  ASSERT_EQ(cuTexRefSetMipmapLevelBias(image, 1), CUDA_SUCCESS);
  EXPECT_EQ(at_level(0), 101);
  ASSERT_EQ(cuTexRefSetMipmapLevelClamp(image, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(at_level(0), 3);
  CUmipmappedArray bound = nullptr;
  CUarray none = nullptr;
  EXPECT_EQ(cuTexRefGetMipmappedArray(&bound, image), CUDA_SUCCESS);
  EXPECT_EQ(bound, mipmap);
  EXPECT_EQ(cuTexRefGetArray(&none, image), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverReferences, LinearMemoryInAnyOrderOfCalls) {
  const CUtexref words = reference("words");
  const CUdeviceptr memory = upload({10, 20, 30, 40});
  const auto fetch = [this](unsigned x) {
    EXPECT_EQ(launch("fetch", nullptr, x, out_), CUDA_SUCCESS);
    return download(out_, 4);
  };
  std::size_t offset = 99;
  ASSERT_EQ(cuTexRefSetAddress_v2(&offset, words, memory, 16), CUDA_SUCCESS);
  EXPECT_EQ(offset, 0u);
  ASSERT_EQ(cuTexRefSetFormat(words, FORMAT_UNSIGNED_INT32, 1), CUDA_SUCCESS);  // after the address
  ASSERT_EQ(cuTexRefSetFlags(words, TRSF_READ_AS_INTEGER), CUDA_SUCCESS);
  EXPECT_EQ(fetch(2)[0], 30u);
  EXPECT_EQ(fetch(4)[0], 0u);  // outside
  ASSERT_EQ(cuTexRefSetFormat(words, FORMAT_UNSIGNED_INT32, 2), CUDA_SUCCESS);
  EXPECT_EQ(fetch(1)[1], 40u);
  ASSERT_EQ(cuTexRefSetFilterMode(words, FILTER_LINEAR), CUDA_SUCCESS);  // without effect
  EXPECT_EQ(fetch(1)[0], 30u);
  ASSERT_EQ(cuTexRefSetFormat(words, FORMAT_UNSIGNED_INT32, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuTexRefSetAddress_v2(nullptr, words, memory + 8, 8), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuTexRefSetAddress_v2(&offset, words, memory + 8, 8), CUDA_SUCCESS);
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(fetch(static_cast<unsigned>(offset / 4))[0], 30u);
  CUdeviceptr bound = 0;
  EXPECT_EQ(cuTexRefGetAddress_v2(&bound, words), CUDA_SUCCESS);
  EXPECT_EQ(bound, memory);
  SKIP_ON_HARDWARE("takes nothing at all, too");
  EXPECT_EQ(cuTexRefSetAddress_v2(&offset, words, memory, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(fetch(2)[0], 30u);  // what was refused changed nothing
}

TEST_F(DriverReferences, PitchedMemory) {
  CUdeviceptr memory = 0;
  std::size_t pitch = 0;
  ASSERT_EQ(cuMemAllocPitch_v2(&memory, &pitch, 3, 2, 4), CUDA_SUCCESS);
  const unsigned char rows[2][3] = {{0, 51, 255}, {102, 153, 204}};
  for (unsigned y = 0; y < 2; ++y) ASSERT_EQ(cuMemcpyHtoD_v2(memory + y * pitch, rows[y], 3), CUDA_SUCCESS);
  const CUtexref image = reference("image");
  const CUDA_ARRAY_DESCRIPTOR shape{3, 2, FORMAT_UNSIGNED_INT8, 1};
  EXPECT_EQ(cuTexRefSetAddress2D_v3(image, &shape, memory + 4, pitch), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexRefSetAddress2D_v3(image, &shape, memory, pitch + 1), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuTexRefSetAddress2D_v3(image, &shape, memory, pitch), CUDA_SUCCESS);
  EXPECT_FLOAT_EQ(read(1.5f, 0.5f), 0.2f);
  ASSERT_EQ(cuTexRefSetAddress2D_v2(image, &shape, memory, pitch), CUDA_SUCCESS);
  EXPECT_FLOAT_EQ(read(2.5f, 1.5f), 0.8f);
  CUdeviceptr bound = 0;
  EXPECT_EQ(cuTexRefGetAddress_v2(&bound, image), CUDA_SUCCESS);
  EXPECT_EQ(bound, memory);
  // "Calls to cuTexRefSetFormat() cannot follow".
  if (!on_hardware()) EXPECT_EQ(cuTexRefSetFormat(image, FORMAT_FLOAT, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexRefSetFormat(image, FORMAT_UNSIGNED_INT8, 1), CUDA_SUCCESS);
}

TEST_F(DriverReferences, SettingsAreRemembered) {
  CUtexref made = nullptr;
  ASSERT_EQ(cuTexRefCreate(&made), CUDA_SUCCESS);
  CUarray array = nullptr;
  CUdeviceptr address = 0;
  CUmipmappedArray mipmap = nullptr;
  EXPECT_EQ(cuTexRefGetArray(&array, made), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexRefGetAddress_v2(&address, made), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexRefGetMipmappedArray(&mipmap, made), CUDA_ERROR_INVALID_VALUE);
  const CUarray a = this->array(0);
  ASSERT_EQ(cuTexRefSetFormat(made, FORMAT_HALF, 4), CUDA_SUCCESS);
  CUarray_format format{};
  int channels = 0, most = 0;
  EXPECT_EQ(cuTexRefGetFormat(&format, &channels, made), CUDA_SUCCESS);
  EXPECT_EQ(format, FORMAT_HALF);
  EXPECT_EQ(channels, 4);
  ASSERT_EQ(cuTexRefSetArray(made, a, kOverrideFormat), CUDA_SUCCESS);
  EXPECT_EQ(cuTexRefGetFormat(&format, nullptr, made), CUDA_SUCCESS);
  EXPECT_EQ(format, FORMAT_FLOAT);
  EXPECT_EQ(cuTexRefGetArray(&array, made), CUDA_SUCCESS);
  EXPECT_EQ(array, a);
  ASSERT_EQ(cuTexRefSetAddressMode(made, 2, ADDRESS_MIRROR), CUDA_SUCCESS);
  CUaddress_mode mode{};
  EXPECT_EQ(cuTexRefGetAddressMode(&mode, made, 2), CUDA_SUCCESS);
  EXPECT_EQ(mode, ADDRESS_MIRROR);
  ASSERT_EQ(cuTexRefSetFilterMode(made, FILTER_LINEAR), CUDA_SUCCESS);
  ASSERT_EQ(cuTexRefSetMipmapFilterMode(made, FILTER_LINEAR), CUDA_SUCCESS);
  CUfilter_mode filter{}, between{};
  EXPECT_EQ(cuTexRefGetFilterMode(&filter, made), CUDA_SUCCESS);
  EXPECT_EQ(cuTexRefGetMipmapFilterMode(&between, made), CUDA_SUCCESS);
  EXPECT_EQ(filter, FILTER_LINEAR);
  EXPECT_EQ(between, FILTER_LINEAR);
  ASSERT_EQ(cuTexRefSetMipmapLevelBias(made, 0.5f), CUDA_SUCCESS);
  ASSERT_EQ(cuTexRefSetMipmapLevelClamp(made, 1, 3), CUDA_SUCCESS);
  float bias = 0, least = 0, greatest = 0, color[4] = {};
  EXPECT_EQ(cuTexRefGetMipmapLevelBias(&bias, made), CUDA_SUCCESS);
  EXPECT_EQ(cuTexRefGetMipmapLevelClamp(&least, &greatest, made), CUDA_SUCCESS);
  EXPECT_EQ(bias, 0.5f);
  EXPECT_EQ(least, 1);
  EXPECT_EQ(greatest, 3);
  ASSERT_EQ(cuTexRefSetMaxAnisotropy(made, 8), CUDA_SUCCESS);
  EXPECT_EQ(cuTexRefGetMaxAnisotropy(&most, made), CUDA_SUCCESS);
  EXPECT_EQ(most, 8);
  float given[] = {1, 2, 3, 4};
  ASSERT_EQ(cuTexRefSetBorderColor(made, given), CUDA_SUCCESS);
  EXPECT_EQ(cuTexRefGetBorderColor(color, made), CUDA_SUCCESS);
  EXPECT_EQ(color[3], 4);
  ASSERT_EQ(cuTexRefSetFlags(made, TRSF_SRGB), CUDA_SUCCESS);
  unsigned flags = 0;
  EXPECT_EQ(cuTexRefGetFlags(&flags, made), CUDA_SUCCESS);
  EXPECT_EQ(flags, unsigned{TRSF_SRGB});
  if (!on_hardware())
    EXPECT_EQ(cuParamSetTexRef(function("read"), -1, made), CUDA_ERROR_INVALID_VALUE);  // no module's
  EXPECT_EQ(cuTexRefDestroy(made), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(cuTexRefDestroy(made), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverReferences, WhatCannotBeIsRefused) {
  const CUtexref image = reference("image");
  EXPECT_EQ(cuTexRefSetAddressMode(image, 3, ADDRESS_CLAMP), CUDA_ERROR_INVALID_VALUE);
  if (!on_hardware()) {
    EXPECT_EQ(cuTexRefSetAddressMode(image, 0, CUaddress_mode{4}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuTexRefSetFilterMode(image, CUfilter_mode{2}), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(cuTexRefSetMipmapFilterMode(image, CUfilter_mode{-1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexRefSetFlags(image, 0x80), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexRefSetFormat(image, FORMAT_FLOAT, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexRefSetBorderColor(image, nullptr), CUDA_ERROR_INVALID_VALUE);
  if (!on_hardware()) EXPECT_EQ(cuTexRefSetFlags(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  CUaddress_mode mode{};
  EXPECT_EQ(cuTexRefGetAddressMode(&mode, image, -1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuSurfRefSetArray(plane(), array(0), 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuSurfRefSetArray(plane(), array(0, 0), 0), CUDA_ERROR_INVALID_VALUE);  // no SURFACE_LDST
  CUarray none = nullptr;
  EXPECT_EQ(cuSurfRefGetArray(&none, plane()), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverReferences, SurfacesAreWritten) {
  const CUarray a = array(0), b = array(0);
  ASSERT_EQ(cuSurfRefSetArray(plane(), a, 0), CUDA_SUCCESS);
  EXPECT_EQ(launch("write", nullptr, 42.0f), CUDA_SUCCESS);
  ASSERT_EQ(cuSurfRefSetArray(plane(), b, 0), CUDA_SUCCESS);
  EXPECT_EQ(launch("write", nullptr, 43.0f), CUDA_SUCCESS);
  CUarray bound = nullptr;
  EXPECT_EQ(cuSurfRefGetArray(&bound, plane()), CUDA_SUCCESS);
  EXPECT_EQ(bound, b);
  ASSERT_EQ(cuTexRefSetArray(reference("image"), a, kOverrideFormat), CUDA_SUCCESS);
  EXPECT_EQ(read(1, 2), 42);
  ASSERT_EQ(cuTexRefSetArray(reference("image"), b, kOverrideFormat), CUDA_SUCCESS);
  EXPECT_EQ(read(1, 2), 43);
}

// A launch has what was bound when it was given, whatever is bound, and ended, before it runs.
TEST_F(DriverReferences, LaunchesKeepWhatWasBound) {
  SKIP_ON_HARDWARE("cuArrayDestroy waits for kernels");
  const CUtexref image = reference("image");
  const CUarray first = array(100), second = array(200);
  void* flag = nullptr;
  ASSERT_EQ(cuMemAllocHost_v2(&flag, 8), CUDA_SUCCESS);
  std::memset(flag, 0, 8);
  const auto address = reinterpret_cast<CUdeviceptr>(flag);
  ASSERT_EQ(cuTexRefSetArray(image, first, kOverrideFormat), CUDA_SUCCESS);
  ASSERT_EQ(launch("slowly", nullptr, address, 1.0f, 0.0f, out_), CUDA_SUCCESS);
  ASSERT_EQ(cuTexRefSetArray(image, second, kOverrideFormat), CUDA_SUCCESS);
  EXPECT_EQ(cuArrayDestroy(first), CUDA_SUCCESS);
  const CUdeviceptr other = allocate(4);
  ASSERT_EQ(launch("read", nullptr, 1.0f, 0.0f, other), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  __atomic_store_n(static_cast<unsigned*>(flag), 1u, __ATOMIC_RELEASE);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(result(), 101);
  EXPECT_EQ(download(other, 1)[0], 0x43490000u);  // 201
}

TEST_F(DriverReferences, GraphsKeepWhatWasBoundWhenTheyWereInstantiated) {
  SKIP_ON_HARDWARE("does not capture kernels with references");  // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
  const CUtexref image = reference("image");
  ASSERT_EQ(cuTexRefSetArray(image, array(100), kOverrideFormat), CUDA_SUCCESS);
  const CUstream captured = stream();
  ASSERT_EQ(cuStreamBeginCapture_v2(captured, CAPTURE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(launch("read", captured, 1.0f, 0.0f, out_), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  ASSERT_EQ(cuStreamEndCapture(captured, &graph), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuTexRefSetArray(image, array(200), kOverrideFormat), CUDA_SUCCESS);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(cuGraphLaunch(executable, captured), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(captured), CUDA_SUCCESS);
    EXPECT_EQ(result(), 101);
  }
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(read(1, 0), 201);
}

TEST_F(DriverReferences, ModulesAndContextsHaveTheirOwn) {
  CUmodule twin = nullptr;
  ASSERT_EQ(cuModuleLoadData(&twin, kReferenceKernels), CUDA_SUCCESS);
  ASSERT_NE(reference("image"), reference("image", twin));
  ASSERT_EQ(cuTexRefSetArray(reference("image"), array(100), kOverrideFormat), CUDA_SUCCESS);
  ASSERT_EQ(cuTexRefSetArray(reference("image", twin), array(200), kOverrideFormat), CUDA_SUCCESS);
  EXPECT_EQ(read(0, 0), 100);
  const CUarray here = array(300);
  CUcontext other = nullptr;
  ASSERT_EQ(cuCtxCreate_v4(&other, nullptr, 0, 0), CUDA_SUCCESS);
  CUmodule elsewhere = nullptr;
  ASSERT_EQ(cuModuleLoadData(&elsewhere, kReferenceKernels), CUDA_SUCCESS);
  const CUtexref of_other = reference("image", elsewhere);
  EXPECT_NE(cuTexRefSetArray(of_other, here, kOverrideFormat), CUDA_SUCCESS);  // another context's array
  std::swap(module, elsewhere);
  ASSERT_EQ(cuTexRefSetArray(of_other, array(400), kOverrideFormat), CUDA_SUCCESS);
  const CUdeviceptr out = allocate(16);
  std::swap(out_, const_cast<CUdeviceptr&>(out));
  EXPECT_EQ(read(0, 0), 400);
  std::swap(module, elsewhere);
  EXPECT_EQ(cuCtxDestroy_v2(other), CUDA_SUCCESS);
  unsigned flags = 0;
  EXPECT_EQ(cuTexRefGetFlags(&flags, of_other),
            on_hardware() ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverReferences, UnboundOnesAreFaultsThatNameThem) {
  SKIP_ON_HARDWARE("reads something");
  testing::internal::CaptureStderr();
  EXPECT_EQ(launch("read", nullptr, 0.0f, 0.0f, out_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("nothing is bound to the texture reference 'image'"), std::string::npos) << text;
}

TEST_F(DriverReferences, SettingsThatDoNotFitAreFaultsThatSaySo) {
  SKIP_ON_HARDWARE("reads something");
  const CUDA_ARRAY_DESCRIPTOR shape{4, 4, FORMAT_UNSIGNED_INT8, 1};
  CUarray bytes = nullptr;
  ASSERT_EQ(cuArrayCreate_v2(&bytes, &shape), CUDA_SUCCESS);
  const CUtexref image = reference("image");
  ASSERT_EQ(cuTexRefSetArray(image, bytes, kOverrideFormat), CUDA_SUCCESS);
  ASSERT_EQ(cuTexRefSetFlags(image, TRSF_READ_AS_INTEGER), CUDA_SUCCESS);
  ASSERT_EQ(cuTexRefSetFilterMode(image, FILTER_LINEAR), CUDA_SUCCESS);  // of integers: nothing to filter
  testing::internal::CaptureStderr();
  EXPECT_EQ(launch("read", nullptr, 0.0f, 0.0f, out_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("'image': its format, filter and flags do not fit"), std::string::npos) << text;
}

}  // namespace
}  // namespace raddle::driver
