// Device memory of a context: allocations, and what is free.
#include <algorithm>

#include "base/round_up.h"
#include "driver/entry.h"
#include "driver/graph/capture.h"
#include "driver/ipc.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver::entry {
namespace {
constexpr std::size_t kPitchAlignment = 512;
}

Status cuMemGetInfo_v2(Here context, std::size_t* available, std::size_t* total) {
  *total = context->gpu.memory_bytes;
  *available = context->gpu.memory_available();
  return CUDA_SUCCESS;
}

Status cuMemAlloc_v2(Here context, CUdeviceptr* address, std::size_t bytes) {
  *address = 0;  // also where nothing is allocated: as an H200 does
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  TRY(check_unsafe_call());
  if (bytes > context->gpu.memory_available()) return CUDA_ERROR_OUT_OF_MEMORY;
  TRY_ASSIGN(const DevicePtr allocated, context->device.allocate(bytes));
  *address = allocated.value;
  return CUDA_SUCCESS;
}

Status cuMemAllocPitch_v2(Here context, CUdeviceptr* address, std::size_t* pitch, std::size_t width,
                          std::size_t height, unsigned element) {
  if (width == 0 || height == 0 || (element != 4 && element != 8 && element != 16) ||
      width > ~std::size_t{0} - kPitchAlignment)
    return CUDA_ERROR_INVALID_VALUE;
  const std::size_t row = round_up(width, kPitchAlignment);
  if (row > ~std::size_t{0} / height) return CUDA_ERROR_INVALID_VALUE;
  TRY(cuMemAlloc_v2(context, address, row * height));
  *pitch = row;
  return CUDA_SUCCESS;
}

// Waits for the context's work, as CUDA's may and does; not for memory of pools, where the manual excludes
// it, nor for the work of other contexts.
Status cuMemFree_v2(Here context, CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  TRY(check_unsafe_call());
  if (const auto freed = free_graph_memory(address)) return *freed;
  AddressInfo info;
  if (!find_address(context, address, info) || info.base != address) return CUDA_ERROR_INVALID_VALUE;
  if (info.shared == nullptr) return info.context->device.free({address});
  if (info.kind == MemoryKind::imported)
    return free_imported(address, true) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (info.shared->kind == MemoryKind::pooled)
    return free_pooled(address, context, nullptr) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (info.kind != MemoryKind::managed) return CUDA_ERROR_INVALID_VALUE;
  (void)context->device.synchronize();
  return end_shared(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

Status cuMemGetAddressRange_v2(Here context, CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
  AddressInfo info;
  if (!find_address(context, address, info)) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = info.base;
  if (bytes != nullptr) *bytes = info.bytes;
  return CUDA_SUCCESS;
}

Status cuMemGetHandleForAddressRange(Here, void*, CUdeviceptr address, std::size_t bytes,
                                     CUmemRangeHandleType type, unsigned long long) {
  if (address == 0 || bytes == 0 || type != RANGE_HANDLE_DMA_BUF) return CUDA_ERROR_INVALID_VALUE;
  return Error::unsupported("device memory is host memory: no other device can take it as a DMA buffer");
}

}  // namespace raddle::driver::entry
