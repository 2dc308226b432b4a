// Pinned and registered host memory. Kernels use host memory as it is, at the host's address; what these
// calls add is that CUDA knows it: its kind, its flags, that it may be copied and filled as device memory is,
// its name in faults.
#include <sys/mman.h>
#include <unistd.h>

#include "base/page.h"
#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"
#include "machine/memory/device_space.h"

namespace raddle::driver {
namespace {

struct PinnedMemory final : Memory {
  PinnedMemory(void* map, std::size_t wanted, unsigned given, CUcontext owner) {
    kind = MemoryKind::host;
    base = reinterpret_cast<CUdeviceptr>(map);
    bytes = wanted;
    flags = given;
    context = owner;
  }
  ~PinnedMemory() override {
    machine::DeviceSpace::instance().give_back(reinterpret_cast<std::byte*>(base), whole_pages(bytes));
  }
};

}  // namespace

bool is_mapped(const void* address, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address) / kPage * kPage;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(address) + bytes;
  // Without MS_SYNC this looks at the mappings and does nothing.
  return end > begin && msync(reinterpret_cast<void*>(begin), end - begin, MS_ASYNC) == 0;
}

namespace entry {

CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = MEMHOSTALLOC_PORTABLE | MEMHOSTALLOC_DEVICEMAP | MEMHOSTALLOC_WRITECOMBINED;
  if (memory == nullptr || bytes == 0 || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (bytes > ~std::size_t{0} - kPage) return CUDA_ERROR_OUT_OF_MEMORY;
  machine::DeviceSpace& space = machine::DeviceSpace::instance();
  std::byte* const map = space.take(whole_pages(bytes));
  if (map == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  // Mapped anew and not made accessible: the system refuses what it can never have.
  if (mmap(map, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
      MAP_FAILED) {
    space.give_back(map, whole_pages(bytes));
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const auto added =
      Process::instance().memory.add(std::make_shared<PinnedMemory>(map, bytes, flags, context->handle));
  if (!added) return result_of(added.error());
  *memory = map;
  return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void** memory, std::size_t bytes) { return cuMemHostAlloc(memory, bytes, 0); }

CUresult cuMemFreeHost(void* memory) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  const auto base = reinterpret_cast<CUdeviceptr>(memory);
  const auto found = Process::instance().memory.find(base);
  if (found == nullptr || found->base != base || found->kind != MemoryKind::host)
    return CUDA_ERROR_INVALID_VALUE;
  return end_shared(base) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = MEMHOSTREGISTER_PORTABLE | MEMHOSTREGISTER_DEVICEMAP |
                              MEMHOSTREGISTER_IOMEMORY | MEMHOSTREGISTER_READ_ONLY;
  if (memory == nullptr || bytes == 0 || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  // Kernels and host have one page table: it cannot be read-only to kernels alone. Memory of devices is not
  // ours.
  if ((flags & MEMHOSTREGISTER_READ_ONLY) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if ((flags & MEMHOSTREGISTER_IOMEMORY) != 0) return CUDA_ERROR_NOT_PERMITTED;
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
  return Process::instance().memory.add(std::move(registered)) ? CUDA_SUCCESS
                                                               : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult cuMemHostUnregister(void* memory) {
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  MemoryTable& table = Process::instance().memory;
  const auto base = reinterpret_cast<CUdeviceptr>(memory);
  const auto found = table.find(base);
  if (found == nullptr || found->base != base || found->kind != MemoryKind::registered)
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  return table.remove(base) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* memory, unsigned flags) {
  if (address == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  const auto at = reinterpret_cast<CUdeviceptr>(memory);
  const auto found = Process::instance().memory.find(at);
  if (found == nullptr || (found->kind != MemoryKind::host && found->kind != MemoryKind::registered))
    return CUDA_ERROR_INVALID_VALUE;
  *address = at;
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned* flags, void* memory) {
  if (flags == nullptr || memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  const auto found = Process::instance().memory.find(reinterpret_cast<CUdeviceptr>(memory));
  if (found == nullptr || found->kind != MemoryKind::host) return CUDA_ERROR_INVALID_VALUE;
  *flags = found->flags;
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace raddle::driver
