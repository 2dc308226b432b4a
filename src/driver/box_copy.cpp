// Copies of two and three dimensions, and batches of copies.
#include <vector>

#include "driver/array.h"
#include "driver/copy.h"
#include "driver/entry.h"
#include "driver/results.h"

namespace raddle::driver {
namespace {

constexpr std::size_t kMaxPitch = 0x7fffffff;

/// One side as the public structures describe it.
struct Operand {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  std::size_t x, y, z, level;  ///< offset: bytes, rows, slices
  std::size_t pitch, height;   ///< bytes, rows of a slice
};

CUresult linear_endpoint(const Operand& side, const Extent& extent, Endpoint& endpoint) {
  const bool is_host = side.type == MEMORYTYPE_HOST;
  const std::size_t row_end = side.x + extent.width, rows_end = side.y + extent.height;
  if (row_end < side.x || rows_end < side.y || side.pitch > kMaxPitch) return CUDA_ERROR_INVALID_VALUE;
  // A pitch or height of 0 stands for rows and slices that follow each other where there is one only.
  const bool one_row = rows_end + side.z <= 1 && extent.depth <= 1, one_slice = side.z + extent.depth <= 1;
  const std::size_t pitch = side.pitch == 0 && one_row ? row_end : side.pitch;
  const std::size_t height = side.height == 0 && one_slice ? rows_end : side.height;
  if (pitch < row_end || (!one_slice && height < rows_end)) return CUDA_ERROR_INVALID_VALUE;
  std::size_t slice_pitch, offset;
  if (__builtin_mul_overflow(pitch, height, &slice_pitch) ||
      __builtin_mul_overflow(slice_pitch, side.z, &offset))
    return CUDA_ERROR_INVALID_VALUE;
  const CUdeviceptr base = is_host ? reinterpret_cast<CUdeviceptr>(side.host) : side.device;
  if (base == 0) return CUDA_ERROR_INVALID_VALUE;
  endpoint = {base + offset + side.y * pitch + side.x, pitch, slice_pitch, side.type == MEMORYTYPE_DEVICE};
  return CUDA_SUCCESS;
}

/// A box in an array; `x` in bytes. The array's memory lives until the copy is done.
CUresult array_endpoint(CUarray handle, std::size_t x, std::size_t y, std::size_t z, const Extent& extent,
                        Endpoint& endpoint) {
  std::shared_ptr<Array> array;
  if (const CUresult result = find_array(handle, array); result != CUDA_SUCCESS) return result;
  const ArrayLayout& layout = array->layout;
  const std::size_t row_bytes = array->descriptor.Width * layout.texel_bytes;
  const auto fits = [](std::size_t begin, std::size_t count, std::size_t size) {
    return begin <= size && count <= size - begin;
  };
  if (!fits(x, extent.width, row_bytes) || !fits(y, extent.height, layout.rows) ||
      !fits(z, extent.depth, layout.slices))
    return CUDA_ERROR_INVALID_VALUE;
  endpoint = {array->at(x, y, z).value, layout.row_pitch, layout.slice_pitch, true};
  return CUDA_SUCCESS;
}

CUresult endpoint_of(const Operand& side, const Extent& extent, Endpoint& endpoint) {
  if (side.level != 0) return CUDA_ERROR_INVALID_VALUE;
  switch (side.type) {
    case MEMORYTYPE_HOST:
    case MEMORYTYPE_DEVICE:
    case MEMORYTYPE_UNIFIED:
      return linear_endpoint(side, extent, endpoint);
    case MEMORYTYPE_ARRAY:
      return array_endpoint(side.array, side.x, side.y, side.z, extent, endpoint);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult copy_box(const Operand& to, const Operand& from, const Extent& extent, CUstream stream,
                  CallForm form) {
  Endpoint target, source;
  if (extent.width != 0 && extent.height != 0 && extent.depth != 0) {
    if (const CUresult result = endpoint_of(to, extent, target); result != CUDA_SUCCESS) return result;
    if (const CUresult result = endpoint_of(from, extent, source); result != CUDA_SUCCESS) return result;
  }
  return copy(target, source, extent, stream, form);
}

CUresult copy_2d(const CUDA_MEMCPY2D* p, CUstream stream, CallForm form) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Operand to{p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstXInBytes, p->dstY, 0, 0,
                   p->dstPitch,      0};
  const Operand from{p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcXInBytes, p->srcY, 0, 0,
                     p->srcPitch,      0};
  return copy_box(to, from, {p->WidthInBytes, p->Height, 1}, stream, form);
}

template <class Reserved>
CUresult copy_3d(const Memcpy3D<Reserved>* p, CUstream stream, CallForm form) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Operand to{p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstXInBytes,
                   p->dstY,          p->dstZ,    p->dstLOD,    p->dstPitch, p->dstHeight};
  const Operand from{p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcXInBytes,
                     p->srcY,          p->srcZ,    p->srcLOD,    p->srcPitch, p->srcHeight};
  return copy_box(to, from, {p->WidthInBytes, p->Height, p->Depth}, stream, form);
}

/// Contexts of sides that are not arrays, whose context is their own.
CUresult check_peers(const CUDA_MEMCPY3D_PEER* p) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_device(0); result != CUDA_SUCCESS) return result;
  const auto& contexts = Process::instance().contexts;
  const auto is_right = [&](CUmemorytype type, CUcontext context) {
    return type == MEMORYTYPE_ARRAY || contexts.find(context) != nullptr;
  };
  return is_right(p->srcMemoryType, p->srcContext) && is_right(p->dstMemoryType, p->dstContext)
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_CONTEXT;
}

/// When a copy of a batch reads its source. What may be read at any time is read in order.
CallForm form_of(CUmemcpySrcAccessOrder order) {
  return order == ACCESS_ORDER_DURING_CALL ? CallForm::during_call : CallForm::in_order;
}

bool is_access_order(CUmemcpySrcAccessOrder order) {
  return order >= ACCESS_ORDER_STREAM && order <= ACCESS_ORDER_ANY;
}

struct Batch {
  const CUdeviceptr *to, *from;
  const std::size_t* bytes;
  std::size_t count;
  const CUmemcpyAttributes* attributes;
  const std::size_t* first;  ///< copy that an attribute is for, and those after it
  std::size_t attribute_count;

  bool is_well_formed() const {
    if (to == nullptr || from == nullptr || bytes == nullptr || count == 0 || attributes == nullptr ||
        first == nullptr || attribute_count == 0 || attribute_count > count || first[0] != 0)
      return false;
    for (std::size_t i = 0; i < attribute_count; ++i)
      if (first[i] >= count || (i != 0 && first[i] <= first[i - 1]) ||
          !is_access_order(attributes[i].srcAccessOrder) || attributes[i].flags > 1)
        return false;
    return true;
  }
};

bool is_legacy(CUstream stream) {
  const auto number = reinterpret_cast<std::uintptr_t>(stream);
  return number == kLegacyStream || (number == 0 && !null_is_per_thread());
}

CUresult copy_batch(const Batch& batch, std::size_t& failed, CUstream stream) {
  failed = ~std::size_t{0};
  if (!batch.is_well_formed() || is_legacy(stream)) return CUDA_ERROR_INVALID_VALUE;
  std::size_t attribute = 0;
  for (std::size_t i = 0; i < batch.count; ++i) {
    if (attribute + 1 < batch.attribute_count && batch.first[attribute + 1] == i) ++attribute;
    const CUresult result = copy({batch.to[i]}, {batch.from[i]}, {batch.bytes[i]}, stream,
                                 form_of(batch.attributes[attribute].srcAccessOrder));
    if (result != CUDA_SUCCESS) return failed = i, result;
  }
  return CUDA_SUCCESS;
}

/// Of operands that count in elements: those of the array, or bytes where neither side is one.
CUresult operand_of(const CUmemcpy3DOperand& given, const Extent& elements, std::size_t element_bytes,
                    Operand& side) {
  if (given.type == kOperandArray) {
    const auto& [array, x, y, z] = given.op.array;
    side = {MEMORYTYPE_ARRAY, nullptr, 0, array, x * element_bytes, y, z, 0, 0, 0};
    return CUDA_SUCCESS;
  }
  if (given.type != kOperandPointer) return CUDA_ERROR_INVALID_VALUE;
  const auto& [pointer, row_length, layer_height, hint] = given.op.ptr;
  side = {MEMORYTYPE_UNIFIED,
          nullptr,
          pointer,
          nullptr,
          0,
          0,
          0,
          0,
          (row_length == 0 ? elements.width : row_length) * element_bytes,
          layer_height == 0 ? elements.height : layer_height};
  return CUDA_SUCCESS;
}

CUresult element_bytes_of(const CUDA_MEMCPY3D_BATCH_OP& op, std::size_t& bytes) {
  bytes = 1;
  for (const CUmemcpy3DOperand* side : {&op.src, &op.dst}) {
    if (side->type != kOperandArray) continue;
    std::shared_ptr<Array> array;
    if (const CUresult result = find_array(side->op.array.array, array); result != CUDA_SUCCESS)
      return result;
    if (bytes != 1 && bytes != array->layout.texel_bytes) return CUDA_ERROR_INVALID_VALUE;
    bytes = array->layout.texel_bytes;
  }
  return CUDA_SUCCESS;
}

CUresult copy_box_op(const CUDA_MEMCPY3D_BATCH_OP& op, CUstream stream) {
  constexpr std::size_t kMost = std::size_t{1} << 48;  // so that bytes of elements do not overflow
  Operand to, from;
  std::size_t element;
  if (op.width == 0 || op.height == 0 || op.depth == 0 || op.width > kMost ||
      !is_access_order(op.srcAccessOrder))
    return CUDA_ERROR_INVALID_VALUE;
  const Extent elements{op.width, op.height, op.depth};
  if (const CUresult result = element_bytes_of(op, element); result != CUDA_SUCCESS) return result;
  if (const CUresult result = operand_of(op.dst, elements, element, to); result != CUDA_SUCCESS)
    return result;
  if (const CUresult result = operand_of(op.src, elements, element, from); result != CUDA_SUCCESS)
    return result;
  return copy_box(to, from, {op.width * element, op.height, op.depth}, stream, form_of(op.srcAccessOrder));
}

CUresult copy_box_batch(std::size_t count, const CUDA_MEMCPY3D_BATCH_OP* ops, std::size_t& failed,
                        unsigned long long flags, CUstream stream) {
  failed = ~std::size_t{0};
  if (ops == nullptr || count == 0 || flags != 0 || is_legacy(stream)) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i)
    if (const CUresult result = copy_box_op(ops[i], stream); result != CUDA_SUCCESS)
      return failed = i, result;
  return CUDA_SUCCESS;
}

/// Bytes of an array of one dimension.
CUresult row_of(CUarray array, std::size_t offset, std::size_t bytes, Endpoint& endpoint) {
  return array_endpoint(array, offset, 0, 0, {bytes}, endpoint);
}

CUresult copy_to_array(CUarray array, std::size_t offset, const Endpoint& from, std::size_t bytes,
                       CUstream stream, CallForm form) {
  Endpoint to;
  const CUresult result = row_of(array, offset, bytes, to);
  return result != CUDA_SUCCESS ? result : copy(to, from, {bytes}, stream, form);
}

CUresult copy_from_array(const Endpoint& to, CUarray array, std::size_t offset, std::size_t bytes,
                         CUstream stream, CallForm form) {
  Endpoint from;
  const CUresult result = row_of(array, offset, bytes, from);
  return result != CUDA_SUCCESS ? result : copy(to, from, {bytes}, stream, form);
}

Endpoint host_side(const void* address) { return {reinterpret_cast<CUdeviceptr>(address)}; }

}  // namespace

namespace entry {

CUresult cuMemcpyDtoA_v2(CUarray to, std::size_t offset, CUdeviceptr from, std::size_t bytes) {
  return copy_to_array(to, offset, {from, 0, 0, true}, bytes, nullptr, CallForm::synchronous);
}
CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, std::size_t offset, std::size_t bytes) {
  return copy_from_array({to, 0, 0, true}, from, offset, bytes, nullptr, CallForm::synchronous);
}
CUresult cuMemcpyHtoA_v2(CUarray to, std::size_t offset, const void* from, std::size_t bytes) {
  return copy_to_array(to, offset, host_side(from), bytes, nullptr, CallForm::synchronous);
}
CUresult cuMemcpyAtoH_v2(void* to, CUarray from, std::size_t offset, std::size_t bytes) {
  return copy_from_array(host_side(to), from, offset, bytes, nullptr, CallForm::synchronous);
}
CUresult cuMemcpyHtoAAsync_v2(CUarray to, std::size_t offset, const void* from, std::size_t bytes,
                              CUstream stream) {
  return copy_to_array(to, offset, host_side(from), bytes, stream, CallForm::asynchronous);
}
CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray from, std::size_t offset, std::size_t bytes,
                              CUstream stream) {
  return copy_from_array(host_side(to), from, offset, bytes, stream, CallForm::asynchronous);
}
CUresult cuMemcpyAtoA_v2(CUarray to, std::size_t to_offset, CUarray from, std::size_t from_offset,
                         std::size_t bytes) {
  Endpoint target;
  const CUresult result = row_of(to, to_offset, bytes, target);
  return result != CUDA_SUCCESS
             ? result
             : copy_from_array(target, from, from_offset, bytes, nullptr, CallForm::synchronous);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* p) { return copy_2d(p, nullptr, CallForm::synchronous); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* p) { return copy_2d(p, nullptr, CallForm::synchronous); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* p, CUstream stream) {
  return copy_2d(p, stream, CallForm::asynchronous);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* p) { return copy_3d(p, nullptr, CallForm::synchronous); }
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* p, CUstream stream) {
  return copy_3d(p, stream, CallForm::asynchronous);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* p) {
  const CUresult result = check_peers(p);
  return result != CUDA_SUCCESS ? result : copy_3d(p, nullptr, CallForm::synchronous);
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* p, CUstream stream) {
  const CUresult result = check_peers(p);
  return result != CUDA_SUCCESS ? result : copy_3d(p, stream, CallForm::asynchronous);
}

CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, std::size_t* bytes, std::size_t count,
                            CUmemcpyAttributes* attributes, std::size_t* first, std::size_t attribute_count,
                            std::size_t* failed, CUstream stream) {
  std::size_t index;
  return copy_batch({to, from, bytes, count, attributes, first, attribute_count},
                    failed == nullptr ? index : *failed, stream);
}
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, std::size_t* bytes, std::size_t count,
                               CUmemcpyAttributes* attributes, std::size_t* first,
                               std::size_t attribute_count, CUstream stream) {
  return cuMemcpyBatchAsync(to, from, bytes, count, attributes, first, attribute_count, nullptr, stream);
}

CUresult cuMemcpy3DBatchAsync(std::size_t count, CUDA_MEMCPY3D_BATCH_OP* ops, std::size_t* failed,
                              unsigned long long flags, CUstream stream) {
  std::size_t index;
  return copy_box_batch(count, ops, failed == nullptr ? index : *failed, flags, stream);
}
CUresult cuMemcpy3DBatchAsync_v2(std::size_t count, CUDA_MEMCPY3D_BATCH_OP* ops, unsigned long long flags,
                                 CUstream stream) {
  return cuMemcpy3DBatchAsync(count, ops, nullptr, flags, stream);
}

}  // namespace entry
}  // namespace raddle::driver
