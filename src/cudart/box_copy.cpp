// Copies of rows, boxes and arrays; with a stream they are asynchronous, without they wait.
#include <algorithm>
#include <optional>

#include "cudart/box.h"
#include "cudart/entry.h"

namespace raddle::cudart {
namespace {

using MaybeStream = std::optional<cudaStream_t>;

cudaError_t copy(const cudaMemcpy3DParms* parameters, MaybeStream stream) {
  CHECK(prepare());
  CUDA_MEMCPY3D_PEER box;
  CHECK(box_of(parameters, box));
  if (box.WidthInBytes == 0 || box.Height == 0 || box.Depth == 0) return cudaSuccess;
  return stream ? driver().cuMemcpy3DAsync(&box, *stream) : driver().cuMemcpy3D(&box);
}

/// Memory or array of one side of a 2-D copy; in arrays from byte `column` of row `row` on.
struct Rows {
  cudaArray_const_t array = nullptr;
  const void* pointer = nullptr;
  std::size_t pitch = 0, column = 0, row = 0;
};

/// Rows of `width` bytes. The runtime's parameters that count elements of arrays are bytes here.
cudaError_t copy(const Rows& from, const Rows& to, std::size_t width, std::size_t height, cudaMemcpyKind kind,
                 MaybeStream stream) {
  CHECK(prepare());
  std::size_t element = 1;
  for (const cudaArray_const_t array : {from.array, to.array})
    if (array != nullptr) CHECK(element_bytes(array, element));
  if (width % element != 0 || from.column % element != 0 || to.column % element != 0)
    return cudaErrorInvalidValue;
  if ((from.pointer != nullptr && from.pitch < width) || (to.pointer != nullptr && to.pitch < width))
    return cudaErrorInvalidPitchValue;
  const cudaMemcpy3DParms parameters{
      .srcArray = const_cast<cudaArray_t>(from.array),
      .srcPos = {from.column / element, from.row, 0},
      .srcPtr = {const_cast<void*>(from.pointer), from.pitch, width, height},
      .dstArray = const_cast<cudaArray_t>(to.array),
      .dstPos = {to.column / element, to.row, 0},
      .dstPtr = {const_cast<void*>(to.pointer), to.pitch, width, height},
      .extent = {width / element, height, 1},
      .kind = kind,
  };
  return copy(&parameters, stream);
}

cudaError_t row_bytes(cudaArray_const_t array, std::size_t& bytes) {
  CUDA_ARRAY3D_DESCRIPTOR description;
  CHECK(driver().cuArray3DGetDescriptor(&description, array));
  CHECK(element_bytes(array, bytes));
  bytes *= description.Width;
  return cudaSuccess;
}

/// A run of bytes that goes on in an array's next row at the end of one, as old programs copy.
cudaError_t copy_run(Rows from, Rows to, std::size_t bytes, cudaMemcpyKind kind, MaybeStream stream) {
  CHECK(prepare());
  std::size_t from_row = 0, to_row = 0;
  if (from.array != nullptr) CHECK(row_bytes(from.array, from_row));
  if (to.array != nullptr) CHECK(row_bytes(to.array, to_row));
  if ((from.array != nullptr && from.column >= from_row) || (to.array != nullptr && to.column >= to_row))
    return cudaErrorInvalidValue;
  const auto advance = [](Rows& side, std::size_t row, std::size_t piece) {
    if (side.array == nullptr) {
      side.pointer = static_cast<const char*>(side.pointer) + piece;
    } else if (side.column += piece; side.column == row) {
      side.column = 0;
      ++side.row;
    }
  };
  while (bytes != 0) {
    std::size_t piece = bytes;
    if (from.array != nullptr) piece = std::min(piece, from_row - from.column);
    if (to.array != nullptr) piece = std::min(piece, to_row - to.column);
    from.pitch = to.pitch = piece;
    CHECK(copy(from, to, piece, 1, kind, stream));
    advance(from, from_row, piece);
    advance(to, to_row, piece);
    bytes -= piece;
  }
  return cudaSuccess;
}

Rows memory(const void* pointer, std::size_t pitch = 0) { return {.pointer = pointer, .pitch = pitch}; }
Rows array(cudaArray_const_t array, std::size_t column, std::size_t row) {
  return {.array = array, .column = column, .row = row};
}

}  // namespace

namespace entry {

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) { return copy(parameters, std::nullopt); }

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  return copy(parameters, stream);
}

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  return copy(memory(from, from_pitch), memory(to, to_pitch), width, height, kind, std::nullopt);
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return copy(memory(from, from_pitch), memory(to, to_pitch), width, height, kind, stream);
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, std::size_t column, std::size_t row, const void* from,
                                std::size_t from_pitch, std::size_t width, std::size_t height,
                                cudaMemcpyKind kind) {
  return copy(memory(from, from_pitch), array(to, column, row), width, height, kind, std::nullopt);
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, std::size_t column, std::size_t row, const void* from,
                                     std::size_t from_pitch, std::size_t width, std::size_t height,
                                     cudaMemcpyKind kind, cudaStream_t stream) {
  return copy(memory(from, from_pitch), array(to, column, row), width, height, kind, stream);
}

cudaError_t cudaMemcpy2DFromArray(void* to, std::size_t to_pitch, cudaArray_const_t from, std::size_t column,
                                  std::size_t row, std::size_t width, std::size_t height,
                                  cudaMemcpyKind kind) {
  return copy(array(from, column, row), memory(to, to_pitch), width, height, kind, std::nullopt);
}

cudaError_t cudaMemcpy2DFromArrayAsync(void* to, std::size_t to_pitch, cudaArray_const_t from,
                                       std::size_t column, std::size_t row, std::size_t width,
                                       std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy(array(from, column, row), memory(to, to_pitch), width, height, kind, stream);
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, std::size_t to_column, std::size_t to_row,
                                     cudaArray_const_t from, std::size_t from_column, std::size_t from_row,
                                     std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  return copy(array(from, from_column, from_row), array(to, to_column, to_row), width, height, kind,
              std::nullopt);
}

cudaError_t cudaMemcpyToArray(cudaArray_t to, std::size_t column, std::size_t row, const void* from,
                              std::size_t bytes, cudaMemcpyKind kind) {
  return copy_run(memory(from), array(to, column, row), bytes, kind, std::nullopt);
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, std::size_t column, std::size_t row, const void* from,
                                   std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_run(memory(from), array(to, column, row), bytes, kind, stream);
}

cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, std::size_t column, std::size_t row,
                                std::size_t bytes, cudaMemcpyKind kind) {
  return copy_run(array(from, column, row), memory(to), bytes, kind, std::nullopt);
}

cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, std::size_t column, std::size_t row,
                                     std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_run(array(from, column, row), memory(to), bytes, kind, stream);
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, std::size_t to_column, std::size_t to_row,
                                   cudaArray_const_t from, std::size_t from_column, std::size_t from_row,
                                   std::size_t bytes, cudaMemcpyKind kind) {
  return copy_run(array(from, from_column, from_row), array(to, to_column, to_row), bytes, kind,
                  std::nullopt);
}

}  // namespace entry
}  // namespace raddle::cudart
