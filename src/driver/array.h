// CUDA arrays: images in device memory whose layout only the driver knows. Here rows follow each other at
// `row_pitch`, slices (of depth, layers, faces) at `slice_pitch`, so that a copy to or from an array is a
// pitched copy. Mipmapped arrays are an array per level.
#pragma once

#include <memory>
#include <vector>

#include "driver/abi.h"
#include "driver/objects.h"

namespace raddle::driver {

/// Sizes of the largest arrays, textures and surfaces, in texels, of devices of compute capability 9.0 (CUDA
/// C++ Programming Guide, "Technical Specifications per Compute Capability").
namespace array_limits {
inline constexpr int kWidth1d = 131072, kWidth2d = 131072, kHeight2d = 65536, kExtent3d = 16384;
inline constexpr int kLayeredExtent = 32768, kLayers = 2048, kCubeLayers = 2046;
inline constexpr int kSurfaceWidth1d = 32768;
inline constexpr int kLinearWidth1d = 1 << 28;  ///< textures of linear memory
inline constexpr int kLinearWidth2d = 131072, kLinearHeight2d = 65000, kLinearPitch2d = 2097120;
}  // namespace array_limits

/// How the texels of an array lie in memory.
struct ArrayLayout {
  std::size_t texel_bytes, row_pitch, slice_pitch;  ///< bytes
  std::size_t rows, slices;                         ///< of a slice; of the array: depth, layers or faces

  explicit ArrayLayout(const CUDA_ARRAY3D_DESCRIPTOR& descriptor);
  std::size_t bytes() const { return slice_pitch * slices; }
};

struct Array {
  Array(std::shared_ptr<Context> owner, const CUDA_ARRAY3D_DESCRIPTOR& made_of, DevicePtr memory,
        bool is_level)
      : context(std::move(owner)),
        descriptor(made_of),
        layout(made_of),
        address(memory),
        level_of_mipmap(is_level) {}
  ~Array();  ///< its memory is free once the work given so far is done
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  std::shared_ptr<Context> context;
  CUarray handle = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR descriptor;  ///< Height and Depth 0 where the array has no such dimension
  const ArrayLayout layout;
  const DevicePtr address;
  const bool level_of_mipmap;  ///< belongs to a mipmapped array, which ends it

  DevicePtr at(std::size_t x_bytes, std::size_t row, std::size_t slice) const {
    return address + (slice * layout.slice_pitch + row * layout.row_pitch + x_bytes);
  }
};

struct MipmappedArray {
  std::shared_ptr<Context> context;
  CUmipmappedArray handle = nullptr;
  std::vector<std::shared_ptr<Array>> levels;
};

/// Bytes of a channel; 0 for formats that are not there.
unsigned channel_bytes(CUarray_format format);

}  // namespace raddle::driver
