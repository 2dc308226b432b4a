// Texture and surface objects: what programs asked for, which the device's texture unit knows by the same
// handle.
#pragma once

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

}  // namespace raddle::driver
