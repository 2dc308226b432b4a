// Texture and surface objects: what programs asked for, which the device's texture unit knows by the same
// handle.
#pragma once

#include <cstdint>
#include <memory>

#include "driver/array.h"

namespace raddle::driver {

struct TextureObject {
  std::uint64_t handle = 0;  ///< by which the device knows it
  CUDA_RESOURCE_DESC resource{};
  CUDA_TEXTURE_DESC texture{};
  CUDA_RESOURCE_VIEW_DESC view{};
  bool has_view = false;
  // The objects of the resource's handles: their memory stays while this object lives.
  std::shared_ptr<Array> array;
  std::shared_ptr<MipmappedArray> mipmap;
};
struct Texture : TextureObject {};
struct Surface : TextureObject {};

// What every allocation has; the attribute is larger, as on the device that is modelled, whose allocations
// are.
inline constexpr std::uint64_t kTextureAlignment = 256;

/// The runtime's words for a resource and for how it is read; of arrays the object holds the memory from then
/// on. CUDA_ERROR_INVALID_VALUE, NOT_SUPPORTED, INVALID_HANDLE: by the rules of cuTexObjectCreate
Status image_of(const std::shared_ptr<Context>& context, TextureObject& object, Image& image);
Status sampler_of(const CUDA_TEXTURE_DESC& descriptor, const Image& image, Sampler& sampler);
Status make_format(CUarray_format format, unsigned channels, TexelFormat& made);

}  // namespace raddle::driver
