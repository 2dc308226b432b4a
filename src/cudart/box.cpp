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

DriverMemory memory_of(const Side& side, cudaMemcpyKind kind, bool source) {
  if (side.array != nullptr) return kArrayMemory;
  if (kind == cudaMemcpyDefault) return kUnifiedMemory;
  return is_host(kind, source) ? kHostMemory : kDeviceMemory;
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

DriverBoxSide driver_side(const Side& side, cudaMemcpyKind kind, bool source) {
  return {.x_bytes = side.position.x,
          .y = side.position.y,
          .z = side.position.z,
          .mipmap_level = 0,
          .memory = memory_of(side, kind, source),
          .host = side.pointer.ptr,
          .device = address(side.pointer.ptr),
          .array = const_cast<cudaArray_t>(side.array),
          .context = nullptr,
          .pitch = side.pointer.pitch,
          .height = side.pointer.ysize};
}

cudaError_t fill(Side from, Side to, cudaExtent extent, cudaMemcpyKind kind, DriverBox& box) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  std::size_t element = 1;
  CHECK(scale(from, element));
  CHECK(scale(to, element));
  extent.width *= element;
  CHECK(check(from, extent.width));
  CHECK(check(to, extent.width));
  box = {driver_side(from, kind, true), driver_side(to, kind, false), extent.width, extent.height,
         extent.depth};
  return cudaSuccess;
}

}  // namespace

cudaError_t element_bytes(cudaArray_const_t array, std::size_t& bytes) {
  DriverArray description;
  CHECK(driver().cuArray3DGetDescriptor(&description, array));
  bytes = channel_bytes(description.format) * description.channels;
  return cudaSuccess;
}

cudaError_t box_of(const cudaMemcpy3DParms* copy, DriverBox& box) {
  if (copy == nullptr) return cudaErrorInvalidValue;
  return fill({copy->srcArray, copy->srcPtr, copy->srcPos}, {copy->dstArray, copy->dstPtr, copy->dstPos},
              copy->extent, copy->kind, box);
}

cudaError_t peer_box(const cudaMemcpy3DPeerParms* copy, DriverBox& box) {
  if (copy == nullptr) return cudaErrorInvalidValue;
  CHECK(fill({copy->srcArray, copy->srcPtr, copy->srcPos}, {copy->dstArray, copy->dstPtr, copy->dstPos},
             copy->extent, cudaMemcpyDefault, box));
  CHECK(primary_context(copy->srcDevice, box.from.context));
  CHECK(primary_context(copy->dstDevice, box.to.context));
  return cudaSuccess;
}

}  // namespace raddle::cudart
