// Arrays and mipmapped arrays.
#include "cudart/channel.h"
#include "cudart/entry.h"

namespace raddle::cudart::entry {
namespace {

cudaError_t describe(const cudaChannelFormatDesc* description, cudaExtent extent, unsigned flags,
                     CUDA_ARRAY3D_DESCRIPTOR& array) {
  if (description == nullptr) return cudaErrorInvalidValue;
  const std::optional<Texel> texel = texel_of(*description);
  if (!texel) return cudaErrorInvalidChannelDescriptor;
  array = {extent.width,    extent.height, extent.depth, driver::CUarray_format{texel->format},
           texel->channels, flags};
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* description, std::size_t width,
                            std::size_t height, unsigned flags) {
  return entry::cudaMalloc3DArray(array, description, {width, height, 0}, flags);
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* description, cudaExtent extent,
                              unsigned flags) {
  CUDA_ARRAY3D_DESCRIPTOR described;
  CHECK(describe(description, extent, flags, described));
  CHECK(prepare());
  return driver().cuArray3DCreate(array, &described);
}

cudaError_t cudaFreeArray(cudaArray_t array) {
  CHECK(prepare());
  return array == nullptr ? cudaSuccess : driver().cuArrayDestroy(array);
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* mipmapped,
                                     const cudaChannelFormatDesc* description, cudaExtent extent,
                                     unsigned levels, unsigned flags) {
  CUDA_ARRAY3D_DESCRIPTOR described;
  CHECK(describe(description, extent, flags, described));
  CHECK(prepare());
  return driver().cuMipmappedArrayCreate(mipmapped, &described, levels);
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmapped) {
  CHECK(prepare());
  return mipmapped == nullptr ? cudaSuccess : driver().cuMipmappedArrayDestroy(mipmapped);
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* array, cudaMipmappedArray_const_t mipmapped,
                                       unsigned level) {
  CHECK(prepare());
  return driver().cuMipmappedArrayGetLevel(array, mipmapped, level);
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* description, cudaExtent* extent, unsigned* flags,
                             cudaArray_t array) {
  CHECK(prepare());
  CUDA_ARRAY3D_DESCRIPTOR described;
  CHECK(driver().cuArray3DGetDescriptor(&described, array));
  if (description != nullptr) *description = description_of({described.Format, described.NumChannels});
  if (extent != nullptr) *extent = {described.Width, described.Height, described.Depth};
  if (flags != nullptr) *flags = described.Flags;
  return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* description, cudaArray_const_t array) {
  if (description == nullptr) return cudaErrorInvalidValue;
  return entry::cudaArrayGetInfo(description, nullptr, nullptr, const_cast<cudaArray_t>(array));
}

cudaError_t cudaArrayGetPlane(cudaArray_t* plane, cudaArray_t array, unsigned index) {
  CHECK(prepare());
  return driver().cuArrayGetPlane(plane, array, index);
}

cudaError_t cudaArrayGetMemoryRequirements(cudaArrayMemoryRequirements* requirements, cudaArray_t array,
                                           int device) {
  CHECK(prepare());
  return driver().cuArrayGetMemoryRequirements(requirements, array, device);
}

cudaError_t cudaMipmappedArrayGetMemoryRequirements(cudaArrayMemoryRequirements* requirements,
                                                    cudaMipmappedArray_t mipmapped, int device) {
  CHECK(prepare());
  return driver().cuMipmappedArrayGetMemoryRequirements(requirements, mipmapped, device);
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(std::size_t* width, const cudaChannelFormatDesc* description,
                                                 int device) {
  CUDA_ARRAY3D_DESCRIPTOR described;
  CHECK(describe(description, {}, 0, described));
  CHECK(load_driver());
  return driver().cuDeviceGetTexture1DLinearMaxWidth(width, described.Format, described.NumChannels, device);
}

}  // namespace raddle::cudart::entry
