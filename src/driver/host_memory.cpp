// Pinned and registered host memory. Kernels use host memory as it is, at the host's address; what these
// calls add is that CUDA knows it: its kind, its flags, that it may be copied and filled as device memory is,
// its name in faults.
#include "driver/entry.h"
#include "driver/graph/capture.h"
#include "driver/graph/memory.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver {
namespace {

struct PinnedMemory final : Memory {
  PinnedMemory(Mapping taken, std::size_t wanted, unsigned given, CUcontext owner) : pages(std::move(taken)) {
    kind = MemoryKind::host;
    base = pages.address();
    bytes = wanted;
    flags = given;
    context = owner;
  }

  const Mapping pages;
};

}  // namespace

namespace entry {

Status cuMemHostAlloc(Here context, void** memory, std::size_t bytes, unsigned flags) {
  TRY(check_unsafe_call());
  constexpr unsigned kKnown = MEMHOSTALLOC_PORTABLE | MEMHOSTALLOC_DEVICEMAP | MEMHOSTALLOC_WRITECOMBINED;
  if (bytes == 0 || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  TRY_ASSIGN(Mapping pages, Mapping::pages(bytes));
  const auto pinned = std::make_shared<PinnedMemory>(std::move(pages), bytes, flags, context->handle);
  pinned->device = context->gpu.number;
  TRY(Process::instance().memory.add(pinned));
  *memory = pinned->pages.start();
  return CUDA_SUCCESS;
}

Status cuMemAllocHost_v2(Here context, void** memory, std::size_t bytes) {
  return cuMemHostAlloc(context, memory, bytes, 0);
}

Status cuMemFreeHost(Here, void* memory) {
  const auto base = reinterpret_cast<CUdeviceptr>(memory);
  const auto found = Process::instance().memory.find(base);
  if (found == nullptr || found->base != base || found->kind != MemoryKind::host ||
      GraphMemory::find(base) != nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  return end_shared(base) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

Status cuMemHostRegister_v2(Here context, void* memory, std::size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = MEMHOSTREGISTER_PORTABLE | MEMHOSTREGISTER_DEVICEMAP |
                              MEMHOSTREGISTER_IOMEMORY | MEMHOSTREGISTER_READ_ONLY;
  if (bytes == 0 || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  // Kernels and host have one page table: what is registered as read-only is so where the host's pages are.
  // Memory of other devices is not ours.
  if ((flags & MEMHOSTREGISTER_IOMEMORY) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!context->gpu.reaches_host_memory()) return CUDA_ERROR_NOT_SUPPORTED;
  AddressInfo info;
  const auto base = reinterpret_cast<CUdeviceptr>(memory);
  if (find_address(context, base, info) && info.shared == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_mapped(memory, bytes)) return CUDA_ERROR_INVALID_VALUE;
  auto registered = std::make_shared<Memory>();
  registered->kind = MemoryKind::registered;
  registered->base = base;
  registered->bytes = bytes;
  registered->flags = flags;
  registered->context = context->handle;
  registered->device = context->gpu.number;
  return Process::instance().memory.add(std::move(registered)) ? CUDA_SUCCESS
                                                               : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

Status cuMemHostUnregister(Here, void* memory) {
  MemoryTable& table = Process::instance().memory;
  const auto base = reinterpret_cast<CUdeviceptr>(memory);
  const auto found = table.find(base);
  if (found == nullptr || found->kind != MemoryKind::registered) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  if (found->base != base) return CUDA_ERROR_INVALID_VALUE;
  return table.remove(base) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

Status cuMemHostGetDevicePointer_v2(Here, CUdeviceptr* address, void* memory, unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto at = reinterpret_cast<CUdeviceptr>(memory);
  const auto found = Process::instance().memory.find(at);
  if (found == nullptr || (found->kind != MemoryKind::host && found->kind != MemoryKind::registered))
    return CUDA_ERROR_INVALID_VALUE;
  *address = at;
  return CUDA_SUCCESS;
}

Status cuMemHostGetFlags(Here, unsigned* flags, void* memory) {
  const auto found = Process::instance().memory.find(reinterpret_cast<CUdeviceptr>(memory));
  if (found == nullptr || found->kind != MemoryKind::host) return CUDA_ERROR_INVALID_VALUE;
  *flags = found->flags | MEMHOSTALLOC_DEVICEMAP;  // all of it is, with unified addresses
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace raddle::driver
