// Copies and sets of linear memory, and of variables by their stand-ins. Those with a stream are
// asynchronous, the others wait; both are one function here, with a stream or with none.
#include <optional>

#include "cudart/code.h"
#include "cudart/entry.h"

namespace raddle::cudart {
namespace {

using MaybeStream = std::optional<cudaStream_t>;

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, MaybeStream stream) {
  CHECK(prepare());
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (bytes == 0) return cudaSuccess;
  if (to == nullptr || from == nullptr) return cudaErrorInvalidValue;
  const DriverTable& call = driver();
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return stream ? call.cuMemcpyHtoDAsync(address(to), from, bytes, *stream)
                    : call.cuMemcpyHtoD(address(to), from, bytes);
    case cudaMemcpyDeviceToHost:
      return stream ? call.cuMemcpyDtoHAsync(to, address(from), bytes, *stream)
                    : call.cuMemcpyDtoH(to, address(from), bytes);
    case cudaMemcpyDeviceToDevice:
      return stream ? call.cuMemcpyDtoDAsync(address(to), address(from), bytes, *stream)
                    : call.cuMemcpyDtoD(address(to), address(from), bytes);
    default:  // the addresses say it all
      return stream ? call.cuMemcpyAsync(address(to), address(from), bytes, *stream)
                    : call.cuMemcpy(address(to), address(from), bytes);
  }
}

cudaError_t copy_to(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                    cudaMemcpyKind kind, MaybeStream stream) {
  if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost) return cudaErrorInvalidMemcpyDirection;
  char* to = nullptr;
  CHECK(part_of(symbol, offset, bytes, to));
  return copy(to, from, bytes, kind, stream);
}

cudaError_t copy_from(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                      cudaMemcpyKind kind, MaybeStream stream) {
  if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost) return cudaErrorInvalidMemcpyDirection;
  char* from = nullptr;
  CHECK(part_of(symbol, offset, bytes, from));
  return copy(to, from, bytes, kind, stream);
}

cudaError_t set(void* pointer, int value, std::size_t bytes, MaybeStream stream) {
  CHECK(prepare());
  if (bytes == 0) return cudaSuccess;
  const auto byte = static_cast<unsigned char>(value);
  return stream ? driver().cuMemsetD8Async(address(pointer), byte, bytes, *stream)
                : driver().cuMemsetD8(address(pointer), byte, bytes);
}

/// The layers of a box: each `layer_bytes` after the one before.
cudaError_t set_box(char* pointer, std::size_t pitch, std::size_t layer_bytes, int value,
                    const cudaExtent& extent, MaybeStream stream) {
  CHECK(prepare());
  if (extent.width == 0 || extent.height == 0) return cudaSuccess;
  const auto byte = static_cast<unsigned char>(value);
  for (std::size_t z = 0; z < extent.depth; ++z, pointer += layer_bytes)
    CHECK(stream ? driver().cuMemsetD2D8Async(address(pointer), pitch, byte, extent.width, extent.height,
                                              *stream)
                 : driver().cuMemsetD2D8(address(pointer), pitch, byte, extent.width, extent.height));
  return cudaSuccess;
}

}  // namespace

namespace entry {

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return copy(to, from, bytes, kind, std::nullopt);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return copy(to, from, bytes, kind, stream);
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                               cudaMemcpyKind kind) {
  return copy_to(symbol, from, bytes, offset, kind, std::nullopt);
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                    std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_to(symbol, from, bytes, offset, kind, stream);
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                 cudaMemcpyKind kind) {
  return copy_from(to, symbol, bytes, offset, kind, std::nullopt);
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_from(to, symbol, bytes, offset, kind, stream);
}

cudaError_t cudaMemset(void* pointer, int value, std::size_t bytes) {
  return set(pointer, value, bytes, std::nullopt);
}

cudaError_t cudaMemsetAsync(void* pointer, int value, std::size_t bytes, cudaStream_t stream) {
  return set(pointer, value, bytes, stream);
}

cudaError_t cudaMemset2D(void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  return set_box(static_cast<char*>(pointer), pitch, 0, value, {width, height, 1}, std::nullopt);
}

cudaError_t cudaMemset2DAsync(void* pointer, std::size_t pitch, int value, std::size_t width,
                              std::size_t height, cudaStream_t stream) {
  return set_box(static_cast<char*>(pointer), pitch, 0, value, {width, height, 1}, stream);
}

cudaError_t cudaMemset3D(cudaPitchedPtr pitched, int value, cudaExtent extent) {
  return set_box(static_cast<char*>(pitched.ptr), pitched.pitch, pitched.pitch * pitched.ysize, value, extent,
                 std::nullopt);
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr pitched, int value, cudaExtent extent, cudaStream_t stream) {
  return set_box(static_cast<char*>(pitched.ptr), pitched.pitch, pitched.pitch * pitched.ysize, value, extent,
                 stream);
}

}  // namespace entry
}  // namespace raddle::cudart
