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

Answer<Endpoint> linear_endpoint(const Operand& side, const Extent& extent) {
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
  return Endpoint{base + offset + side.y * pitch + side.x, pitch, slice_pitch,
                  side.type == MEMORYTYPE_DEVICE};
}

/// A box in an array; `x` in bytes. The array's memory lives until the copy is done.
Answer<Endpoint> array_endpoint(const Array& array, std::size_t x, std::size_t y, std::size_t z,
                                const Extent& extent) {
  const ArrayLayout& layout = array.layout;
  const std::size_t row_bytes = array.descriptor.Width * layout.texel_bytes;
  const auto fits = [](std::size_t begin, std::size_t count, std::size_t size) {
    return begin <= size && count <= size - begin;
  };
  if (!fits(x, extent.width, row_bytes) || !fits(y, extent.height, layout.rows) ||
      !fits(z, extent.depth, layout.slices))
    return CUDA_ERROR_INVALID_VALUE;
  return Endpoint{array.at(x, y, z).value, layout.row_pitch, layout.slice_pitch, true};
}

Answer<Endpoint> endpoint_of(const Operand& side, const Extent& extent) {
  if (side.level != 0) return CUDA_ERROR_INVALID_VALUE;
  switch (side.type) {
    case MEMORYTYPE_HOST:
    case MEMORYTYPE_DEVICE:
    case MEMORYTYPE_UNIFIED:
      return linear_endpoint(side, extent);
    case MEMORYTYPE_ARRAY: {
      const auto array = Process::instance().arrays.find(side.array);  // also another context's
      if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      return array_endpoint(*array, side.x, side.y, side.z, extent);
    }
  }
  return CUDA_ERROR_INVALID_VALUE;
}

Status copy_box(const CopyCall& call, const Operand& to, const Operand& from, const Extent& extent) {
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return CUDA_SUCCESS;
  TRY_ASSIGN(const Endpoint target, endpoint_of(to, extent));
  TRY_ASSIGN(const Endpoint source, endpoint_of(from, extent));
  return copy(call, target, source, extent);
}

Status copy_2d(const CopyCall& call, const CUDA_MEMCPY2D* p) {
  const Operand to{p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstXInBytes, p->dstY, 0, 0,
                   p->dstPitch,      0};
  const Operand from{p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcXInBytes, p->srcY, 0, 0,
                     p->srcPitch,      0};
  return copy_box(call, to, from, {p->WidthInBytes, p->Height, 1});
}

template <class Reserved>
Operand target_of(const Memcpy3D<Reserved>& p) {
  return {p.dstMemoryType, p.dstHost, p.dstDevice, p.dstArray, p.dstXInBytes,
          p.dstY,          p.dstZ,    p.dstLOD,    p.dstPitch, p.dstHeight};
}

template <class Reserved>
Operand source_of(const Memcpy3D<Reserved>& p) {
  return {p.srcMemoryType, p.srcHost, p.srcDevice, p.srcArray, p.srcXInBytes,
          p.srcY,          p.srcZ,    p.srcLOD,    p.srcPitch, p.srcHeight};
}

template <class Reserved>
Status copy_3d(const CopyCall& call, const Memcpy3D<Reserved>* p) {
  return copy_box(call, target_of(*p), source_of(*p), {p->WidthInBytes, p->Height, p->Depth});
}

/// Contexts of sides that are not arrays, whose context is their own.
Status check_peers(const CUDA_MEMCPY3D_PEER* p) {
  if (p->srcMemoryType != MEMORYTYPE_ARRAY) TRY(find<Context>(p->srcContext));
  if (p->dstMemoryType != MEMORYTYPE_ARRAY) TRY(find<Context>(p->dstContext));
  return CUDA_SUCCESS;
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
  const std::size_t* first;  ///< the first copy of each attribute, which holds for those after it too
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

Status copy_batch(const std::shared_ptr<Context>& context, Stream& stream, const Batch& batch,
                  std::size_t& failed) {
  failed = ~std::size_t{0};
  if (!batch.is_well_formed() || stream.is_legacy) return CUDA_ERROR_INVALID_VALUE;
  std::size_t attribute = 0;
  for (std::size_t i = 0; i < batch.count; ++i) {
    if (attribute + 1 < batch.attribute_count && batch.first[attribute + 1] == i) ++attribute;
    const CopyCall call{context, stream, form_of(batch.attributes[attribute].srcAccessOrder)};
    const Status copied = copy(call, {batch.to[i]}, {batch.from[i]}, {batch.bytes[i]});
    if (!copied.ok()) return failed = i, copied;
  }
  return CUDA_SUCCESS;
}

/// The operand of a copy that counts in elements: those of the array, or bytes where neither side is one.
Answer<Operand> operand_of(const CUmemcpy3DOperand& given, const Extent& elements,
                           std::size_t element_bytes) {
  if (given.type == kOperandArray) {
    const auto& [array, x, y, z] = given.op.array;
    return Operand{MEMORYTYPE_ARRAY, nullptr, 0, array, x * element_bytes, y, z, 0, 0, 0};
  }
  if (given.type != kOperandPointer) return CUDA_ERROR_INVALID_VALUE;
  const auto& [pointer, row_length, layer_height, hint] = given.op.ptr;
  return Operand{MEMORYTYPE_UNIFIED,
                 nullptr,
                 pointer,
                 nullptr,
                 0,
                 0,
                 0,
                 0,
                 (row_length == 0 ? elements.width : row_length) * element_bytes,
                 layer_height == 0 ? elements.height : layer_height};
}

Answer<std::size_t> element_bytes_of(const CUDA_MEMCPY3D_BATCH_OP& op,
                                     const std::shared_ptr<Context>& context) {
  std::size_t bytes = 1;
  for (const CUmemcpy3DOperand* side : {&op.src, &op.dst}) {
    if (side->type != kOperandArray) continue;
    TRY_ASSIGN(const auto array, find<Array>(side->op.array.array, context));
    if (bytes != 1 && bytes != array->layout.texel_bytes) return CUDA_ERROR_INVALID_VALUE;
    bytes = array->layout.texel_bytes;
  }
  return bytes;
}

Status copy_box_op(const std::shared_ptr<Context>& context, Stream& stream,
                   const CUDA_MEMCPY3D_BATCH_OP& op) {
  constexpr std::size_t kMost = std::size_t{1} << 48;  // so that bytes of elements do not overflow
  if (op.width == 0 || op.height == 0 || op.depth == 0 || op.width > kMost ||
      !is_access_order(op.srcAccessOrder))
    return CUDA_ERROR_INVALID_VALUE;
  const Extent elements{op.width, op.height, op.depth};
  TRY_ASSIGN(const std::size_t element, element_bytes_of(op, context));
  TRY_ASSIGN(const Operand to, operand_of(op.dst, elements, element));
  TRY_ASSIGN(const Operand from, operand_of(op.src, elements, element));
  return copy_box({context, stream, form_of(op.srcAccessOrder)}, to, from,
                  {op.width * element, op.height, op.depth});
}

Status copy_box_batch(const std::shared_ptr<Context>& context, Stream& stream, std::size_t count,
                      const CUDA_MEMCPY3D_BATCH_OP* ops, std::size_t& failed, unsigned long long flags) {
  failed = ~std::size_t{0};
  if (ops == nullptr || count == 0 || flags != 0 || stream.is_legacy) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i)
    if (const Status copied = copy_box_op(context, stream, ops[i]); !copied.ok()) return failed = i, copied;
  return CUDA_SUCCESS;
}

/// Bytes of an array of one dimension.
Answer<Endpoint> row_of(const Array& array, std::size_t offset, std::size_t bytes) {
  return array_endpoint(array, offset, 0, 0, {bytes});
}

Status copy_to_array(const CopyCall& call, const Array& array, std::size_t offset, const Endpoint& from,
                     std::size_t bytes) {
  TRY_ASSIGN(const Endpoint to, row_of(array, offset, bytes));
  return copy(call, to, from, {bytes});
}

Status copy_from_array(const CopyCall& call, const Endpoint& to, const Array& array, std::size_t offset,
                       std::size_t bytes) {
  TRY_ASSIGN(const Endpoint from, row_of(array, offset, bytes));
  return copy(call, to, from, {bytes});
}

Endpoint host_side(const void* address) { return {reinterpret_cast<CUdeviceptr>(address)}; }

}  // namespace

Answer<BoxCopy> box_of(const std::shared_ptr<Context>& context, const CUDA_MEMCPY3D& copy) {
  const Extent extent{copy.WidthInBytes, copy.Height, copy.Depth};
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return CUDA_ERROR_INVALID_VALUE;
  TRY_ASSIGN(const Endpoint target, endpoint_of(target_of(copy), extent));
  TRY_ASSIGN(const Endpoint source, endpoint_of(source_of(copy), extent));
  return box_between(context, target, source, extent);
}

namespace entry {

Status cuMemcpyDtoA_v2(Here context, In<Array> to, std::size_t offset, CUdeviceptr from, std::size_t bytes) {
  return copy_to_array(synchronous_call(context), *to, offset, {from, 0, 0, true}, bytes);
}
Status cuMemcpyAtoD_v2(Here context, CUdeviceptr to, In<Array> from, std::size_t offset, std::size_t bytes) {
  return copy_from_array(synchronous_call(context), {to, 0, 0, true}, *from, offset, bytes);
}
Status cuMemcpyHtoA_v2(Here context, In<Array> to, std::size_t offset, const void* from, std::size_t bytes) {
  return copy_to_array(synchronous_call(context), *to, offset, host_side(from), bytes);
}
Status cuMemcpyAtoH_v2(Here context, void* to, In<Array> from, std::size_t offset, std::size_t bytes) {
  return copy_from_array(synchronous_call(context), host_side(to), *from, offset, bytes);
}
Status cuMemcpyHtoAAsync_v2(Here context, In<Array> to, std::size_t offset, const void* from,
                            std::size_t bytes, In<Stream> stream) {
  return copy_to_array(asynchronous_call(context, *stream), *to, offset, host_side(from), bytes);
}
Status cuMemcpyAtoHAsync_v2(Here context, void* to, In<Array> from, std::size_t offset, std::size_t bytes,
                            In<Stream> stream) {
  return copy_from_array(asynchronous_call(context, *stream), host_side(to), *from, offset, bytes);
}
Status cuMemcpyAtoA_v2(Here context, In<Array> to, std::size_t to_offset, In<Array> from,
                       std::size_t from_offset, std::size_t bytes) {
  TRY_ASSIGN(const Endpoint target, row_of(*to, to_offset, bytes));
  return copy_from_array(synchronous_call(context), target, *from, from_offset, bytes);
}

Status cuMemcpy2D_v2(Here context, const CUDA_MEMCPY2D* p) { return copy_2d(synchronous_call(context), p); }
Status cuMemcpy2DUnaligned_v2(Here context, const CUDA_MEMCPY2D* p) {
  return copy_2d(synchronous_call(context), p);
}
Status cuMemcpy2DAsync_v2(Here context, const CUDA_MEMCPY2D* p, In<Stream> stream) {
  return copy_2d(asynchronous_call(context, *stream), p);
}
Status cuMemcpy3D_v2(Here context, const CUDA_MEMCPY3D* p) { return copy_3d(synchronous_call(context), p); }
Status cuMemcpy3DAsync_v2(Here context, const CUDA_MEMCPY3D* p, In<Stream> stream) {
  return copy_3d(asynchronous_call(context, *stream), p);
}

Status cuMemcpy3DPeer(Here context, const CUDA_MEMCPY3D_PEER* p) {
  TRY(check_peers(p));
  return copy_3d(synchronous_call(context), p);
}
Status cuMemcpy3DPeerAsync(Here context, const CUDA_MEMCPY3D_PEER* p, In<Stream> stream) {
  TRY(check_peers(p));
  return copy_3d(asynchronous_call(context, *stream), p);
}

Status cuMemcpyBatchAsync(Here context, CUdeviceptr* to, CUdeviceptr* from, std::size_t* bytes,
                          std::size_t count, CUmemcpyAttributes* attributes, std::size_t* first,
                          std::size_t attribute_count, std::size_t* failed, In<Stream> stream) {
  std::size_t index;
  return copy_batch(context, *stream, {to, from, bytes, count, attributes, first, attribute_count},
                    failed == nullptr ? index : *failed);
}
Status cuMemcpyBatchAsync_v2(Here context, CUdeviceptr* to, CUdeviceptr* from, std::size_t* bytes,
                             std::size_t count, CUmemcpyAttributes* attributes, std::size_t* first,
                             std::size_t attribute_count, In<Stream> stream) {
  return cuMemcpyBatchAsync(context, to, from, bytes, count, attributes, first, attribute_count, nullptr,
                            stream);
}

Status cuMemcpy3DBatchAsync(Here context, std::size_t count, CUDA_MEMCPY3D_BATCH_OP* ops, std::size_t* failed,
                            unsigned long long flags, In<Stream> stream) {
  std::size_t index;
  return copy_box_batch(context, *stream, count, ops, failed == nullptr ? index : *failed, flags);
}
Status cuMemcpy3DBatchAsync_v2(Here context, std::size_t count, CUDA_MEMCPY3D_BATCH_OP* ops,
                               unsigned long long flags, In<Stream> stream) {
  return cuMemcpy3DBatchAsync(context, count, ops, nullptr, flags, stream);
}

}  // namespace entry
}  // namespace raddle::driver
