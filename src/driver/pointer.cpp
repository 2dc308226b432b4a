// What an address is: cuPointerGetAttribute and its kin.
#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver {
namespace {

bool is_host(MemoryKind kind) { return kind == MemoryKind::host || kind == MemoryKind::registered; }

template <class T>
Status give(void* to, T value) {
  *static_cast<T*>(to) = value;
  return CUDA_SUCCESS;
}

CUcontext context_of(const AddressInfo& info) {
  return info.context != nullptr ? info.context->handle : info.shared->context;
}

/// An attribute of memory that CUDA knows. Booleans take one byte: callers have them in variables of several
/// sizes.
Status get_attribute(CUpointer_attribute attribute, CUdeviceptr address, const AddressInfo& info,
                     void* value) {
  using Flag = unsigned char;
  switch (attribute) {
    case POINTER_CONTEXT:
      return give(value, context_of(info));
    case POINTER_MEMORY_TYPE:
      return give(value, is_host(info.kind) ? MEMORYTYPE_HOST : MEMORYTYPE_DEVICE);
    case POINTER_DEVICE_POINTER:
      return give(value, address);
    case POINTER_HOST_POINTER:
      if (!is_host(info.kind) && info.kind != MemoryKind::managed) return CUDA_ERROR_INVALID_VALUE;
      return give(value, reinterpret_cast<void*>(address));
    case POINTER_P2P_TOKENS:
      return CUDA_ERROR_NOT_SUPPORTED;
    case POINTER_SYNC_MEMOPS:
      return give(value, Flag{Process::instance().sync_memops(info.id)});
    case POINTER_BUFFER_ID:
      return give(value, static_cast<unsigned long long>(info.id));
    case POINTER_IS_MANAGED:
      return give(value, Flag{info.kind == MemoryKind::managed});
    case POINTER_DEVICE_ORDINAL:
      return give(value, info.context != nullptr ? info.context->gpu.number : info.shared->device);
    case POINTER_IS_IPC_CAPABLE:
      return give(value, Flag{info.kind == MemoryKind::device});
    case POINTER_RANGE_START_ADDR:
    case POINTER_MAPPING_BASE_ADDR:
      return give(value, info.base);
    case POINTER_RANGE_SIZE:
    case POINTER_MAPPING_SIZE:
      return give(value, info.bytes);
    case POINTER_MAPPED:
      return give(value, Flag{1});
    case POINTER_ALLOWED_HANDLE_TYPES:
      return give(value, info.shared != nullptr ? info.shared->handle_types() : 0ull);
    case POINTER_IS_GPU_DIRECT_RDMA_CAPABLE:
    case POINTER_IS_HW_DECOMPRESS_CAPABLE:
      return give(value, Flag{0});
    case POINTER_ACCESS_FLAGS:
      return give(value, info.shared != nullptr ? info.shared->access() : ACCESS_READ_WRITE);
    case POINTER_MEMPOOL_HANDLE:
      return give(value, info.shared != nullptr ? info.shared->pool() : CUmemoryPool{});
    case POINTER_MEMORY_BLOCK_ID:
      return give(
          value, static_cast<unsigned long long>(info.shared != nullptr ? info.shared->block_id() : info.id));
  }
  return CUDA_ERROR_INVALID_VALUE;
}

/// What cuPointerGetAttributes says of memory that CUDA does not know.
Status get_nothing(CUpointer_attribute attribute, void* value) {
  using Flag = unsigned char;
  switch (attribute) {
    case POINTER_MEMORY_TYPE:
      return give(value, 0u);
    case POINTER_DEVICE_ORDINAL:
      return give(value, kInvalidDevice);
    case POINTER_ACCESS_FLAGS:
      return give(value, ACCESS_NONE);
    case POINTER_SYNC_MEMOPS:
    case POINTER_IS_MANAGED:
    case POINTER_IS_IPC_CAPABLE:
    case POINTER_MAPPED:
    case POINTER_IS_GPU_DIRECT_RDMA_CAPABLE:
    case POINTER_IS_HW_DECOMPRESS_CAPABLE:
      return give(value, Flag{0});
    case POINTER_CONTEXT:
    case POINTER_DEVICE_POINTER:
    case POINTER_HOST_POINTER:
    case POINTER_BUFFER_ID:
    case POINTER_RANGE_START_ADDR:
    case POINTER_RANGE_SIZE:
    case POINTER_ALLOWED_HANDLE_TYPES:
    case POINTER_MEMPOOL_HANDLE:
    case POINTER_MAPPING_SIZE:
    case POINTER_MAPPING_BASE_ADDR:
    case POINTER_MEMORY_BLOCK_ID:
      return give(value, 0ull);
    case POINTER_P2P_TOKENS:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

/// Memory is what it is without a current context, too, as long as that which is current is sound.
Status check_current(std::shared_ptr<Context>& context) {
  auto current = current_context();
  if (!current.ok())
    return current.error() == CUDA_ERROR_INVALID_CONTEXT ? Status(CUDA_SUCCESS) : current.error();
  context = std::move(current).value();
  return CUDA_SUCCESS;
}

}  // namespace

namespace entry {

Status cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  std::shared_ptr<Context> context;
  TRY(check_current(context));
  AddressInfo info;
  if (!find_address(context, address, info)) return CUDA_ERROR_INVALID_VALUE;
  return get_attribute(attribute, address, info, value);
}

Status cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values,
                              CUdeviceptr address) {
  if (count == 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  TRY(check_current(context));
  AddressInfo info;
  const bool known = find_address(context, address, info);
  for (unsigned i = 0; i < count; ++i) {
    if (values[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Status given =
        known ? get_attribute(attributes[i], address, info, values[i]) : Status(CUDA_ERROR_INVALID_VALUE);
    // An attribute that this memory does not have has its value of nothing.
    TRY(given.error() == CUDA_ERROR_INVALID_VALUE ? get_nothing(attributes[i], values[i]) : given);
  }
  return CUDA_SUCCESS;
}

Status cuPointerSetAttribute(Here context, const void* value, CUpointer_attribute attribute,
                             CUdeviceptr address) {
  if (attribute != POINTER_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
  AddressInfo info;
  if (!find_address(context, address, info) || info.kind != MemoryKind::device)
    return CUDA_ERROR_INVALID_VALUE;
  Process::instance().set_sync_memops(info.id, *static_cast<const unsigned char*>(value) != 0);
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace raddle::driver
