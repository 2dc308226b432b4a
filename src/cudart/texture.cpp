// Texture and surface objects.
#include <algorithm>

#include "cudart/channel.h"
#include "cudart/entry.h"

namespace raddle::cudart::entry {
namespace {

/// Sets what linear and pitched memory have in common.
template <class Memory>
cudaError_t set_memory(Memory& made, const void* pointer, const cudaChannelFormatDesc& description) {
  const std::optional<Texel> texel = texel_of(description);
  if (!texel) return cudaErrorInvalidChannelDescriptor;
  made.devPtr = address(pointer);
  made.format = driver::CUarray_format{texel->format};
  made.numChannels = texel->channels;
  return cudaSuccess;
}

cudaError_t driver_resource(const cudaResourceDesc* resource, CUDA_RESOURCE_DESC& made) {
  if (resource == nullptr) return cudaErrorInvalidValue;
  made = {};
  made.resType = static_cast<driver::CUresourcetype>(resource->resType);
  made.flags = resource->flags;
  switch (resource->resType) {
    case cudaResourceTypeArray:
      made.res.array.hArray = reinterpret_cast<driver::CUarray>(resource->res.array.array);
      return cudaSuccess;
    case cudaResourceTypeMipmappedArray:
      made.res.mipmap.hMipmappedArray =
          reinterpret_cast<driver::CUmipmappedArray>(resource->res.mipmap.mipmap);
      return cudaSuccess;
    case cudaResourceTypeLinear:
      made.res.linear.sizeInBytes = resource->res.linear.sizeInBytes;
      return set_memory(made.res.linear, resource->res.linear.devPtr, resource->res.linear.desc);
    case cudaResourceTypePitch2D:
      made.res.pitch2D.width = resource->res.pitch2D.width;
      made.res.pitch2D.height = resource->res.pitch2D.height;
      made.res.pitch2D.pitchInBytes = resource->res.pitch2D.pitchInBytes;
      return set_memory(made.res.pitch2D, resource->res.pitch2D.devPtr, resource->res.pitch2D.desc);
  }
  return cudaErrorInvalidValue;
}

cudaResourceDesc runtime_resource(const CUDA_RESOURCE_DESC& made) {
  cudaResourceDesc resource = {};
  resource.resType = static_cast<cudaResourceType>(made.resType);
  resource.flags = made.flags;
  const auto pointer = [](driver::CUdeviceptr address) { return reinterpret_cast<void*>(address); };
  switch (resource.resType) {
    case cudaResourceTypeArray:
      resource.res.array.array = reinterpret_cast<cudaArray_t>(made.res.array.hArray);
      break;
    case cudaResourceTypeMipmappedArray:
      resource.res.mipmap.mipmap = reinterpret_cast<cudaMipmappedArray_t>(made.res.mipmap.hMipmappedArray);
      break;
    case cudaResourceTypeLinear: {
      const auto& memory = made.res.linear;
      resource.res.linear = {pointer(memory.devPtr), description_of({memory.format, memory.numChannels}),
                             memory.sizeInBytes};
      break;
    }
    case cudaResourceTypePitch2D: {
      const auto& memory = made.res.pitch2D;
      resource.res.pitch2D = {pointer(memory.devPtr), description_of({memory.format, memory.numChannels}),
                              memory.width, memory.height, memory.pitchInBytes};
      break;
    }
  }
  return resource;
}

CUDA_TEXTURE_DESC driver_texture(const cudaTextureDesc& description) {
  const auto flag = [](bool is_set, unsigned value) { return is_set ? value : 0; };
  CUDA_TEXTURE_DESC made = {};
  for (int i = 0; i < 3; ++i)
    made.addressMode[i] = static_cast<driver::CUaddress_mode>(description.addressMode[i]);
  std::copy_n(description.borderColor, 4, made.borderColor);
  made.filterMode = static_cast<driver::CUfilter_mode>(description.filterMode);
  made.flags =
      flag(description.readMode == cudaReadModeElementType, driver::TRSF_READ_AS_INTEGER) |
      flag(description.normalizedCoords != 0, driver::TRSF_NORMALIZED_COORDINATES) |
      flag(description.sRGB != 0, driver::TRSF_SRGB) |
      flag(description.disableTrilinearOptimization != 0, driver::TRSF_DISABLE_TRILINEAR_OPTIMIZATION) |
      flag(description.seamlessCubemap != 0, driver::TRSF_SEAMLESS_CUBEMAP);
  made.maxAnisotropy = description.maxAnisotropy;
  made.mipmapFilterMode = static_cast<driver::CUfilter_mode>(description.mipmapFilterMode);
  made.mipmapLevelBias = description.mipmapLevelBias;
  made.minMipmapLevelClamp = description.minMipmapLevelClamp;
  made.maxMipmapLevelClamp = description.maxMipmapLevelClamp;
  return made;
}

cudaTextureDesc runtime_texture(const CUDA_TEXTURE_DESC& made) {
  cudaTextureDesc description = {};
  for (int i = 0; i < 3; ++i)
    description.addressMode[i] = static_cast<cudaTextureAddressMode>(made.addressMode[i]);
  std::copy_n(made.borderColor, 4, description.borderColor);
  description.filterMode = static_cast<cudaTextureFilterMode>(made.filterMode);
  description.readMode = (made.flags & driver::TRSF_READ_AS_INTEGER) != 0 ? cudaReadModeElementType
                                                                          : cudaReadModeNormalizedFloat;
  description.normalizedCoords = (made.flags & driver::TRSF_NORMALIZED_COORDINATES) != 0;
  description.sRGB = (made.flags & driver::TRSF_SRGB) != 0;
  description.disableTrilinearOptimization = (made.flags & driver::TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0;
  description.seamlessCubemap = (made.flags & driver::TRSF_SEAMLESS_CUBEMAP) != 0;
  description.maxAnisotropy = made.maxAnisotropy;
  description.mipmapFilterMode = static_cast<cudaTextureFilterMode>(made.mipmapFilterMode);
  description.mipmapLevelBias = made.mipmapLevelBias;
  description.minMipmapLevelClamp = made.minMipmapLevelClamp;
  description.maxMipmapLevelClamp = made.maxMipmapLevelClamp;
  return description;
}

}  // namespace

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* description, const cudaResourceViewDesc* view) {
  if (texture == nullptr || description == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  CUDA_RESOURCE_DESC made;
  CHECK(driver_resource(resource, made));
  const CUDA_TEXTURE_DESC sampler = driver_texture(*description);
  return driver().cuTexObjectCreate(texture, &made, &sampler, view);
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
  CHECK(prepare());
  return driver().cuTexObjectDestroy(texture);
}

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t texture) {
  if (resource == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  CUDA_RESOURCE_DESC made;
  CHECK(driver().cuTexObjectGetResourceDesc(&made, texture));
  *resource = runtime_resource(made);
  return cudaSuccess;
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* description, cudaTextureObject_t texture) {
  if (description == nullptr) return cudaErrorInvalidValue;
  CHECK(prepare());
  CUDA_TEXTURE_DESC made;
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
  CUDA_RESOURCE_DESC made;
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
  CUDA_RESOURCE_DESC made;
  CHECK(driver().cuSurfObjectGetResourceDesc(&made, surface));
  *resource = runtime_resource(made);
  return cudaSuccess;
}

}  // namespace raddle::cudart::entry
