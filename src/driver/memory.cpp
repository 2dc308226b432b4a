// Device memory of a context: allocations, and what is free.
#include <algorithm>

#include "base/round_up.h"
#include "driver/entry.h"
#include "driver/ipc.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver::entry {
namespace {
constexpr std::size_t kPitchAlignment = 512;
}

CUresult cuMemGetInfo_v2(std::size_t* available, std::size_t* total) {
  if (available == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  *total = context->device.properties().memory_bytes;
  *available = Process::instance().memory_available(*context);
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (bytes > Process::instance().memory_available(*context)) return CUDA_ERROR_OUT_OF_MEMORY;
  const Result<DevicePtr> allocated = context->device.allocate(bytes);
  if (!allocated) return result_of(allocated.error());
  *address = allocated->value;
  return CUDA_SUCCESS;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* address, std::size_t* pitch, std::size_t width, std::size_t height,
                            unsigned element) {
  if (pitch == nullptr || width == 0 || height == 0 || (element != 4 && element != 8 && element != 16) ||
      width > ~std::size_t{0} - kPitchAlignment)
    return CUDA_ERROR_INVALID_VALUE;
  const std::size_t row = round_up(width, kPitchAlignment);
  if (row > ~std::size_t{0} / height) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = cuMemAlloc_v2(address, row * height);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

// Waits for the context's work, as CUDA's may and does; not for memory of pools, where the manual excludes
// it, nor for the work of other contexts.
CUresult cuMemFree_v2(CUdeviceptr address) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (address == 0) return CUDA_SUCCESS;
  AddressInfo info;
  if (!find_address(context, address, info) || info.base != address) return CUDA_ERROR_INVALID_VALUE;
  if (info.shared == nullptr) {
    const Result<void> freed = info.context->device.free({address});
    return freed ? CUDA_SUCCESS : result_of(freed.error());
  }
  if (info.kind == MemoryKind::imported)
    return free_imported(address, true) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (info.kind == MemoryKind::pooled)
    return free_pooled(address, context.get(), nullptr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (info.kind != MemoryKind::managed) return CUDA_ERROR_INVALID_VALUE;
  (void)context->device.synchronize();
  return end_shared(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
  std::shared_ptr<Context> context;
  AddressInfo info;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (!find_address(context, address, info)) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = info.base;
  if (bytes != nullptr) *bytes = info.bytes;
  return CUDA_SUCCESS;
}

CUresult cuMemGetHandleForAddressRange(void* handle, CUdeviceptr address, std::size_t bytes,
                                       CUmemRangeHandleType type, unsigned long long) {
  if (handle == nullptr || address == 0 || bytes == 0 || type != RANGE_HANDLE_DMA_BUF)
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  return result_of(
      Error::unsupported("device memory is host memory: no other device can take it as a DMA buffer"));
}

}  // namespace raddle::driver::entry
