// Texture and surface objects.
#include <algorithm>

#include "cudart/channel.h"
#include "cudart/entry.h"

namespace raddle::cudart::entry {
namespace {

cudaError_t set_memory(DriverResource& made, const void* pointer, const cudaChannelFormatDesc& description) {
  const std::optional<Texel> texel = texel_of(description);
  if (!texel) return cudaErrorInvalidChannelDescriptor;
  made.memory.address = address(pointer);
  made.memory.format = texel->format;
  made.memory.channels = texel->channels;
  return cudaSuccess;
}

cudaError_t driver_resource(const cudaResourceDesc* resource, DriverResource& made) {
  if (resource == nullptr) return cudaErrorInvalidValue;
  made = {};
  made.type = resource->resType;
  made.flags = resource->flags;
  switch (resource->resType) {
    case cudaResourceTypeArray:
      made.array = resource->res.array.array;
      return cudaSuccess;
    case cudaResourceTypeMipmappedArray:
      made.mipmapped = resource->res.mipmap.mipmap;
      return cudaSuccess;
    case cudaResourceTypeLinear:
      made.memory.bytes = resource->res.linear.sizeInBytes;
      return set_memory(made, resource->res.linear.devPtr, resource->res.linear.desc);
    case cudaResourceTypePitch2D:
      made.memory.width = resource->res.pitch2D.width;
      made.memory.height = resource->res.pitch2D.height;
      made.memory.pitch = resource->res.pitch2D.pitchInBytes;
      return set_memory(made, resource->res.pitch2D.devPtr, resource->res.pitch2D.desc);
  }
  return cudaErrorInvalidValue;
}

cudaResourceDesc runtime_resource(const DriverResource& made) {
  cudaResourceDesc resource = {};
  resource.resType = made.type;
  resource.flags = made.flags;
  void* pointer = reinterpret_cast<void*>(made.memory.address);
  if (made.type == cudaResourceTypeArray) {
    resource.res.array.array = made.array;
  } else if (made.type == cudaResourceTypeMipmappedArray) {
    resource.res.mipmap.mipmap = made.mipmapped;
  } else if (made.type == cudaResourceTypeLinear) {
    resource.res.linear = {pointer, description_of({made.memory.format, made.memory.channels}),
                           made.memory.bytes};
  } else {
    resource.res.pitch2D = {pointer, description_of({made.memory.format, made.memory.channels}),
                            made.memory.width, made.memory.height, made.memory.pitch};
  }
  return resource;
}

DriverTexture driver_texture(const cudaTextureDesc& description) {
  const auto flag = [](bool is_set, DriverTextureFlags value) { return is_set ? unsigned{value} : 0; };
  DriverTexture made = {};
  std::copy_n(description.addressMode, 3, made.address_mode);
  std::copy_n(description.borderColor, 4, made.border_color);
  made.filter_mode = description.filterMode;
  made.flags = flag(description.readMode == cudaReadModeElementType, kReadAsInteger) |
               flag(description.normalizedCoords != 0, kNormalizedCoordinates) |
               flag(description.sRGB != 0, kSrgb) |
               flag(description.disableTrilinearOptimization != 0, kNoTrilinearOptimization) |
               flag(description.seamlessCubemap != 0, kSeamlessCubemap);
  made.max_anisotropy = description.maxAnisotropy;
  made.mipmap_filter_mode = description.mipmapFilterMode;
  made.mipmap_level_bias = description.mipmapLevelBias;
  made.min_mipmap_level = description.minMipmapLevelClamp;
  made.max_mipmap_level = description.maxMipmapLevelClamp;
  return made;
}

cudaTextureDesc runtime_texture(const DriverTexture& made) {
  cudaTextureDesc description = {};
  std::copy_n(made.address_mode, 3, description.addressMode);
  std::copy_n(made.border_color, 4, description.borderColor);
  description.filterMode = made.filter_mode;
  description.readMode =
      (made.flags & kReadAsInteger) != 0 ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
  description.normalizedCoords = (made.flags & kNormalizedCoordinates) != 0;
  description.sRGB = (made.flags & kSrgb) != 0;
  description.disableTrilinearOptimization = (made.flags & kNoTrilinearOptimization) != 0;
  description.seamlessCubemap = (made.flags & kSeamlessCubemap) != 0;
  description.maxAnisotropy = made.max_anisotropy;
  description.mipmapFilterMode = made.mipmap_filter_mode;
  description.mipmapLevelBias = made.mipmap_level_bias;
  description.minMipmapLevelClamp = made.min_mipmap_level;
  description.maxMipmapLevelClamp = made.max_mipmap_level;
  return description;
}

}  // namespace

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* description, const cudaResourceViewDesc* view) {
  if (texture == nullptr || description == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  DriverResource made;
  CHECK(driver_resource(resource, made));
  const DriverTexture sampler = driver_texture(*description);
  return driver().cuTexObjectCreate(texture, &made, &sampler, view);
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
  CHECK(prepare());
  return driver().cuTexObjectDestroy(texture);
}

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t texture) {
  if (resource == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  DriverResource made;
  CHECK(driver().cuTexObjectGetResourceDesc(&made, texture));
  *resource = runtime_resource(made);
  return cudaSuccess;
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* description, cudaTextureObject_t texture) {
  if (description == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  DriverTexture made;
  CHECK(driver().cuTexObjectGetTextureDesc(&made, texture));
  *description = runtime_texture(made);
  return cudaSuccess;
}

cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* view, cudaTextureObject_t texture) {
  CHECK(prepare());
  return driver().cuTexObjectGetResourceViewDesc(view, texture);
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* surface, const cudaResourceDesc* resource) {
  if (surface == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  DriverResource made;
  CHECK(driver_resource(resource, made));
  return driver().cuSurfObjectCreate(surface, &made);
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface) {
  CHECK(prepare());
  return driver().cuSurfObjectDestroy(surface);
}

cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource, cudaSurfaceObject_t surface) {
  if (resource == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  DriverResource made;
  CHECK(driver().cuSurfObjectGetResourceDesc(&made, surface));
  *resource = runtime_resource(made);
  return cudaSuccess;
}

}  // namespace raddle::cudart::entry
