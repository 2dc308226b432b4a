#include "cudart/box.h"

#include "cudart/channel.h"
#include "cudart/entry.h"

namespace raddle::cudart {
namespace {

/// One side of a copy.
struct Side {
  cudaArray_const_t array;
  cudaPitchedPtr pointer;
  cudaPos position;
};

bool is_host(cudaMemcpyKind kind, bool source) {
  return kind == cudaMemcpyHostToHost || kind == (source ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost);
}

driver::CUmemorytype memory_of(const Side& side, cudaMemcpyKind kind, bool source) {
  if (side.array != nullptr) return driver::MEMORYTYPE_ARRAY;
  if (kind == cudaMemcpyDefault) return driver::MEMORYTYPE_UNIFIED;
  return is_host(kind, source) ? driver::MEMORYTYPE_HOST : driver::MEMORYTYPE_DEVICE;
}

cudaError_t check(const Side& side, std::size_t width) {
  if ((side.array == nullptr) == (side.pointer.ptr == nullptr)) return cudaErrorInvalidValue;
  const bool narrow = side.array == nullptr && side.pointer.pitch != 0 && side.pointer.pitch < width;
  return narrow ? cudaErrorInvalidPitchValue : cudaSuccess;
}

/// Positions and widths of arrays are in elements; of copies with an array the extent's width, too.
cudaError_t scale(Side& side, std::size_t& element) {
  if (side.array == nullptr) return cudaSuccess;
  CHECK(element_bytes(side.array, element));
  side.position.x *= element;
  return cudaSuccess;
}

driver::CUarray driver_array(cudaArray_const_t array) {
  return reinterpret_cast<driver::CUarray>(const_cast<cudaArray_t>(array));
}

cudaError_t fill(Side from, Side to, cudaExtent extent, cudaMemcpyKind kind, CUDA_MEMCPY3D_PEER& box) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  std::size_t element = 1;
  CHECK(scale(from, element));
  CHECK(scale(to, element));
  extent.width *= element;
  CHECK(check(from, extent.width));
  CHECK(check(to, extent.width));
  box = {.srcXInBytes = from.position.x,
         .srcY = from.position.y,
         .srcZ = from.position.z,
         .srcMemoryType = memory_of(from, kind, true),
         .srcHost = from.pointer.ptr,
         .srcDevice = address(from.pointer.ptr),
         .srcArray = driver_array(from.array),
         .srcPitch = from.pointer.pitch,
         .srcHeight = from.pointer.ysize,
         .dstXInBytes = to.position.x,
         .dstY = to.position.y,
         .dstZ = to.position.z,
         .dstMemoryType = memory_of(to, kind, false),
         .dstHost = to.pointer.ptr,
         .dstDevice = address(to.pointer.ptr),
         .dstArray = driver_array(to.array),
         .dstPitch = to.pointer.pitch,
         .dstHeight = to.pointer.ysize,
         .WidthInBytes = extent.width,
         .Height = extent.height,
         .Depth = extent.depth};
  return cudaSuccess;
}

}  // namespace

cudaError_t element_bytes(cudaArray_const_t array, std::size_t& bytes) {
  CUDA_ARRAY3D_DESCRIPTOR description;
  CHECK(driver().cuArray3DGetDescriptor(&description, array));
  bytes = channel_bytes(description.Format) * description.NumChannels;
  return cudaSuccess;
}

cudaError_t box_of(const cudaMemcpy3DParms* copy, CUDA_MEMCPY3D_PEER& box) {
  if (copy == nullptr) return cudaErrorInvalidValue;
  return fill({copy->srcArray, copy->srcPtr, copy->srcPos}, {copy->dstArray, copy->dstPtr, copy->dstPos},
              copy->extent, copy->kind, box);
}

cudaError_t parameters_of(const CUDA_MEMCPY3D& box, cudaMemcpy3DParms& copy) {
  const auto array = [](driver::CUarray of) { return reinterpret_cast<cudaArray_t>(of); };
  std::size_t from = 1, to = 1;
  if (box.srcMemoryType == driver::MEMORYTYPE_ARRAY) CHECK(element_bytes(array(box.srcArray), from));
  if (box.dstMemoryType == driver::MEMORYTYPE_ARRAY) CHECK(element_bytes(array(box.dstArray), to));
  const auto pointer = [](driver::CUmemorytype type, const void* host, unsigned long long device) {
    return type == driver::MEMORYTYPE_HOST ? const_cast<void*>(host) : reinterpret_cast<void*>(device);
  };
  copy = {};
  copy.srcPos = {box.srcXInBytes / from, box.srcY, box.srcZ};
  copy.dstPos = {box.dstXInBytes / to, box.dstY, box.dstZ};
  if (box.srcMemoryType == driver::MEMORYTYPE_ARRAY)
    copy.srcArray = array(box.srcArray);
  else
    copy.srcPtr = {pointer(box.srcMemoryType, box.srcHost, box.srcDevice), box.srcPitch, box.WidthInBytes,
                   box.srcHeight};
  if (box.dstMemoryType == driver::MEMORYTYPE_ARRAY)
    copy.dstArray = array(box.dstArray);
  else
    copy.dstPtr = {pointer(box.dstMemoryType, box.dstHost, box.dstDevice), box.dstPitch, box.WidthInBytes,
                   box.dstHeight};
  copy.extent = {box.WidthInBytes / (from > to ? from : to), box.Height, box.Depth};
  const bool from_host = box.srcMemoryType == driver::MEMORYTYPE_HOST,
             to_host = box.dstMemoryType == driver::MEMORYTYPE_HOST;
  const bool is_known =
      box.srcMemoryType != driver::MEMORYTYPE_UNIFIED && box.dstMemoryType != driver::MEMORYTYPE_UNIFIED;
  copy.kind = !is_known   ? cudaMemcpyDefault
              : from_host ? (to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
                          : (to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice);
  return cudaSuccess;
}

cudaError_t peer_box(const cudaMemcpy3DPeerParms* copy, CUDA_MEMCPY3D_PEER& box) {
  if (copy == nullptr) return cudaErrorInvalidValue;
  CHECK(fill({copy->srcArray, copy->srcPtr, copy->srcPos}, {copy->dstArray, copy->dstPtr, copy->dstPos},
             copy->extent, cudaMemcpyDefault, box));
  CHECK(primary_context(copy->srcDevice, box.srcContext));
  CHECK(primary_context(copy->dstDevice, box.dstContext));
  return cudaSuccess;
}

}  // namespace raddle::cudart
