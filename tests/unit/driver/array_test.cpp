// Arrays and mipmapped arrays: what may be made, what they say of themselves, when they end.
#include "driver_test.h"

namespace raddle::driver {
namespace {

constexpr CUDA_ARRAY3D_DESCRIPTOR describe(std::size_t width, std::size_t height, std::size_t depth,
                                           unsigned flags = 0, CUarray_format format = FORMAT_FLOAT,
                                           unsigned channels = 1) {
  return {width, height, depth, format, channels, flags};
}

CUresult create(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, CUarray* array) {
  return cuArray3DCreate_v2(array, &descriptor);
}

// proves: K-19a, K-19b
TEST_F(Driver, ArraysOfEveryShape) {
  const CUDA_ARRAY3D_DESCRIPTOR shapes[] = {
      describe(7, 0, 0),
      describe(7, 5, 0, 0, FORMAT_UNSIGNED_INT8, 4),
      describe(7, 5, 3, ARRAY3D_SURFACE_LDST, FORMAT_HALF, 2),
      describe(7, 0, 3, ARRAY3D_LAYERED),
      describe(7, 5, 2048, ARRAY3D_LAYERED),
      describe(8, 8, 6, ARRAY3D_CUBEMAP),
      describe(8, 8, 12, ARRAY3D_CUBEMAP | ARRAY3D_LAYERED),
      describe(8, 9, 0, ARRAY3D_TEXTURE_GATHER, FORMAT_UNORM_INT8X4, 4),
      describe(4, 4, 16385),  // an H200: deeper, where they are less wide and high
  };
  for (const CUDA_ARRAY3D_DESCRIPTOR& shape : shapes) {
    CUarray array = nullptr;
    CUDA_ARRAY3D_DESCRIPTOR back{};
    CUDA_ARRAY_DESCRIPTOR flat{};
    ASSERT_EQ(create(shape, &array), CUDA_SUCCESS);
    ASSERT_EQ(cuArray3DGetDescriptor_v2(&back, array), CUDA_SUCCESS);
    EXPECT_EQ(std::memcmp(&back, &shape, sizeof shape), 0);
    ASSERT_EQ(cuArrayGetDescriptor_v2(&flat, array), CUDA_SUCCESS);
    EXPECT_EQ(flat.Width, shape.Width);
    EXPECT_EQ(flat.NumChannels, shape.NumChannels);
    // Of arrays alone that get their memory later, which none does here.
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
    EXPECT_EQ(cuArrayGetMemoryRequirements(&needs, array, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
    if (on_hardware()) continue;  // which follows handles
    EXPECT_EQ(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuArray3DGetDescriptor_v2(&back, array), CUDA_ERROR_INVALID_HANDLE);
  }
}

TEST_F(Driver, ArraysThatCannotBe) {
  const CUDA_ARRAY3D_DESCRIPTOR shapes[] = {
      describe(0, 4, 0),                            // no width
      describe(4, 0, 4),                            // depth without height
      describe(131073, 0, 0),                       // too wide
      describe(4, 65537, 0),                        // too high
      describe(4, 4, 32769),                        // too deep
      describe(8193, 4, 16385),                     // too wide for so deep a one
      describe(4, 4, 0, ARRAY3D_LAYERED),           // no layers
      describe(4, 4, 2049, ARRAY3D_LAYERED),        // too many
      describe(4, 5, 6, ARRAY3D_CUBEMAP),           // not square
      describe(4, 4, 5, ARRAY3D_CUBEMAP),           // not six faces
      describe(4, 4, 4, ARRAY3D_TEXTURE_GATHER),    // gathers are 2-D
      describe(4, 4, 0, 0, FORMAT_FLOAT, 3),        // three channels
      describe(4, 4, 0, 0, FORMAT_UNORM_INT8X2, 4)  // channels that differ from the format's
  };
  CUarray array = nullptr;
  for (const CUDA_ARRAY3D_DESCRIPTOR& shape : shapes)
    EXPECT_EQ(create(shape, &array), CUDA_ERROR_INVALID_VALUE)
        << shape.Width << " " << shape.Height << " " << shape.Depth << " " << shape.Flags;
  if (!on_hardware()) {
    EXPECT_EQ(create(describe(4, 4, 0, ARRAY3D_DEPTH_TEXTURE), &array), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(create(describe(4, 4, 0, 0, CUarray_format{0x91}), &array), CUDA_ERROR_NOT_SUPPORTED);
  }
  EXPECT_EQ(create(describe(16384, 16384, 16384, 0, FORMAT_FLOAT, 4), &array), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuArray3DCreate_v2(nullptr, shapes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuArrayCreate_v2(&array, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(array, nullptr);
  SKIP_ON_HARDWARE("follows handles");
  EXPECT_EQ(cuArrayDestroy(reinterpret_cast<CUarray>(0x100000005)), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Driver, ArraysAreNeitherSparseNorPlanar) {
  const CUDA_ARRAY_DESCRIPTOR shape{16, 16, FORMAT_FLOAT, 1};
  CUarray array = nullptr, plane = nullptr;
  CUmipmappedArray mipmap = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR levels = describe(8, 8, 0);
  char properties[64];
  ASSERT_EQ(cuArrayCreate_v2(&array, &shape), CUDA_SUCCESS);
  ASSERT_EQ(cuMipmappedArrayCreate(&mipmap, &levels, 2), CUDA_SUCCESS);
  EXPECT_EQ(cuArrayGetSparseProperties(properties, array), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMipmappedArrayGetSparseProperties(properties, mipmap), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuArrayGetPlane(&plane, array, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuArrayGetPlane(&plane, nullptr, 0), CUDA_ERROR_INVALID_HANDLE);
}

// proves: K-19c
TEST_F(Driver, MipmappedArraysHalve) {
  const CUDA_ARRAY3D_DESCRIPTOR shape = describe(12, 5, 0);
  CUmipmappedArray mipmap = nullptr;
  ASSERT_EQ(cuMipmappedArrayCreate(&mipmap, &shape, 9), CUDA_SUCCESS);
  CUarray level = nullptr, first = nullptr;
  const std::size_t widths[] = {12, 6, 3, 1}, heights[] = {5, 2, 1, 1};
  for (unsigned i = 0; i < 4; ++i) {
    CUDA_ARRAY_DESCRIPTOR d{};
    ASSERT_EQ(cuMipmappedArrayGetLevel(&level, mipmap, i), CUDA_SUCCESS);
    ASSERT_EQ(cuArrayGetDescriptor_v2(&d, level), CUDA_SUCCESS);
    EXPECT_EQ(d.Width, widths[i]);
    EXPECT_EQ(d.Height, heights[i]);
  }
  EXPECT_EQ(cuMipmappedArrayGetLevel(&level, mipmap, 4), CUDA_ERROR_INVALID_VALUE);
  CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
  EXPECT_EQ(cuMipmappedArrayGetMemoryRequirements(&needs, mipmap, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuMipmappedArrayGetLevel(&first, mipmap, 0), CUDA_SUCCESS);
  if (!on_hardware())
    EXPECT_EQ(cuArrayDestroy(first), CUDA_ERROR_INVALID_VALUE);  // belongs to the mipmapped array
  EXPECT_EQ(cuMipmappedArrayDestroy(mipmap), CUDA_SUCCESS);
  if (!on_hardware()) {
    EXPECT_EQ(cuMipmappedArrayDestroy(mipmap), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuArrayDestroy(first), CUDA_ERROR_INVALID_HANDLE);
  }
  if (!on_hardware()) EXPECT_EQ(cuMipmappedArrayCreate(&mipmap, &shape, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, ArraysGiveTheirMemoryBack) {
  std::size_t before = 0, during = 0, after = 0, total = 0;
  ASSERT_EQ(cuMemGetInfo_v2(&before, &total), CUDA_SUCCESS);
  CUarray array = nullptr;
  ASSERT_EQ(create(describe(1024, 1024, 0), &array), CUDA_SUCCESS);
  ASSERT_EQ(cuMemGetInfo_v2(&during, &total), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_GE(before - during, std::size_t{4} << 20);
  ASSERT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
  ASSERT_EQ(cuMemGetInfo_v2(&after, &total), CUDA_SUCCESS);
  if (!on_hardware()) EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace raddle::driver
