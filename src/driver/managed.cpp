// Managed memory: allocations that host and kernels use alike, and what programs advise about ranges of them.
// Pages have homes, which move by prefetches, and by touches where there is more than one place to be: in
// modelled spaces, where the bytes move, too, and where there are several devices. Memory of the host program
// (pageable) takes advice as managed memory does, and has no homes.
#include "driver/managed.h"

#include <algorithm>
#include <cstring>

#include "driver/advice.h"
#include "driver/entry.h"
#include "driver/graph/capture.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver {
namespace {

unsigned processor_of(const Gpu& gpu) { return machine::processor_of(gpu.index()); }

/// Of a location that was checked.
unsigned processor_of(const CUmemLocation& location) {
  return location.type == LOCATION_DEVICE ? processor_of(Process::instance().gpu(location.id))
                                          : machine::kHostProcessor;
}

bool is_modelled(const Gpu& gpu) { return gpu.options.translation == Translation::modelled; }

struct ManagedMemory final : Memory {
  ManagedMemory(const Gpu& gpu, std::unique_ptr<ManagedPages> its, std::size_t wanted, unsigned given,
                CUcontext owner)
      : pages(std::move(its)) {
    kind = MemoryKind::managed;
    base = pages->address();
    bytes = wanted;
    flags = given;
    context = owner;
    device = gpu.number;
  }
  Residency* residency() override { return &pages->residency(); }

  const std::unique_ptr<ManagedPages> pages;
};

/// Where a location is, as a device number; INVALID_DEVICE and INVALID_VALUE for what is none.
Status check_location(CUmemLocation& location) {
  switch (location.type) {
    case LOCATION_DEVICE:
      return check_device(location.id);
    case LOCATION_HOST_NUMA:
      return location.id >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case LOCATION_HOST:
    case LOCATION_HOST_NUMA_CURRENT:
      location.id = 0;
      return CUDA_SUCCESS;
    case LOCATION_INVALID:
      break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

/// As the calls of CUDA 8 name locations: a device's number, or -1 for the host.
CUmemLocation location_of(CUdevice device) {
  return device == kCpu ? CUmemLocation{LOCATION_HOST, 0} : CUmemLocation{LOCATION_DEVICE, device};
}

/// Managed memory, or memory of the host program.
Status check_range(const std::shared_ptr<Context>& context, CUdeviceptr address, std::size_t bytes) {
  if (address == 0 || bytes == 0 || address + bytes < address) return CUDA_ERROR_INVALID_VALUE;
  AddressInfo info;
  const bool is_right = find_address(context, address, info)
                            ? info.kind == MemoryKind::managed && bytes <= info.base + info.bytes - address
                            : is_mapped(reinterpret_cast<void*>(address), bytes);
  return is_right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// Null: memory of the host program, or a variable of one context.
Residency* residency_of(CUdeviceptr address) {
  const auto memory = Process::instance().memory.find(address);
  return memory != nullptr ? memory->residency() : nullptr;
}

Status advise(const std::shared_ptr<Context>& context, CUdeviceptr address, std::size_t bytes,
              CUmem_advise advice, CUmemLocation location) {
  TRY(check_range(context, address, bytes));
  TRY(check_location(location));  // of every advice, though not all look at it: as an H200 answers
  const bool by_device = location.type == LOCATION_DEVICE;
  const auto change = [&](auto&& assign) {
    Advice::instance().change(address, bytes, assign);
    return CUDA_SUCCESS;
  };
  switch (advice) {
    case ADVISE_SET_READ_MOSTLY:
    case ADVISE_UNSET_READ_MOSTLY:
      return change([&](Advice::Of& of) { of.read_mostly = advice == ADVISE_SET_READ_MOSTLY; });
    case ADVISE_SET_PREFERRED_LOCATION:
      prefer_location(address, bytes, location, residency_of(address));
      return CUDA_SUCCESS;
    case ADVISE_UNSET_PREFERRED_LOCATION:
      if (Residency* const pages = residency_of(address))
        pages->prefer(address, bytes, Residency::kMostProcessors);
      return change([&](Advice::Of& of) { of.preferred = {}; });
    case ADVISE_SET_ACCESSED_BY:
    case ADVISE_UNSET_ACCESSED_BY:
      return change([&](Advice::Of& of) {
        const std::uint64_t processor = by_device ? Advice::device(location.id) : Advice::kHost;
        of.accessed_by =
            advice == ADVISE_SET_ACCESSED_BY ? of.accessed_by | processor : of.accessed_by & ~processor;
      });
  }
  return CUDA_ERROR_INVALID_VALUE;
}

Status prefetch(const std::shared_ptr<Context>& context, CUdeviceptr address, std::size_t bytes,
                CUmemLocation location) {
  TRY(check_range(context, address, bytes));
  TRY(check_location(location));
  if (Residency* const pages = residency_of(address)) pages->move(address, bytes, processor_of(location));
  Advice::instance().change(address, bytes, [&](Advice::Of& of) { of.prefetched = location; });
  return CUDA_SUCCESS;
}

CUdevice device_of(CUmemLocation location) {
  return location.type == LOCATION_DEVICE    ? location.id
         : location.type == LOCATION_INVALID ? kInvalidDevice
                                             : kCpu;
}

/// The id of a location: of the host as a whole, an H200 says -1.
int number_of(CUmemLocation location) { return location.type == LOCATION_HOST ? kCpu : location.id; }

void give_accessed_by(const Advice::Of& of, CUdevice* values, std::size_t count) {
  std::fill_n(values, count, kInvalidDevice);
  std::size_t next = 0;
  for (const auto& gpu : Process::instance().gpus())
    if ((of.accessed_by & Advice::device(gpu->number)) != 0 && next < count) values[next++] = gpu->number;
  if ((of.accessed_by & Advice::kHost) != 0 && next < count) values[next++] = kCpu;
}

Status get_range_attribute(const Advice::Of& of, CUmem_range_attribute attribute, void* data,
                           std::size_t bytes) {
  if (data == nullptr || bytes == 0 || bytes % sizeof(int) != 0 ||
      (attribute != RANGE_ACCESSED_BY && bytes != sizeof(int)))
    return CUDA_ERROR_INVALID_VALUE;
  int* const value = static_cast<int*>(data);
  switch (attribute) {
    case RANGE_READ_MOSTLY:
      return *value = of.read_mostly, CUDA_SUCCESS;
    case RANGE_PREFERRED_LOCATION:
      return *value = device_of(of.preferred), CUDA_SUCCESS;
    case RANGE_ACCESSED_BY:
      return give_accessed_by(of, value, bytes / sizeof(int)), CUDA_SUCCESS;
    case RANGE_LAST_PREFETCH_LOCATION:
      return *value = device_of(of.prefetched), CUDA_SUCCESS;
    case RANGE_PREFERRED_LOCATION_TYPE:
      return *value = of.preferred.type, CUDA_SUCCESS;
    case RANGE_PREFERRED_LOCATION_ID:
      return *value = number_of(of.preferred), CUDA_SUCCESS;
    case RANGE_LAST_PREFETCH_LOCATION_TYPE:
      return *value = of.prefetched.type, CUDA_SUCCESS;
    case RANGE_LAST_PREFETCH_LOCATION_ID:
      return *value = number_of(of.prefetched), CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

ManagedPages::ManagedPages(const Gpu& gpu, std::unique_ptr<MovableMemory> movable, DevicePtr address,
                           std::size_t bytes)
    : movable_(std::move(movable)),
      base_(movable_ != nullptr ? movable_->address() : address.value),
      bytes_(bytes),
      pages_(base_, bytes, static_cast<unsigned>(Process::instance().gpus().size()) + 1,
             is_modelled(gpu) ? movable_.get() : nullptr) {
  // Where all devices' memory is the host's, it is the device's from the beginning.
  if (!is_modelled(gpu)) pages_.move(base_, bytes, processor_of(gpu));
  if (movable_ != nullptr) HostTouches::instance().watch(pages_);
}

ManagedPages::~ManagedPages() {
  HostTouches::instance().forget(pages_);
  Advice::instance().forget(base_, bytes_);
  if (movable_ == nullptr) (void)Process::instance().managed.free({base_});
}

Result<std::unique_ptr<ManagedPages>> ManagedPages::allocate(Gpu& gpu, std::size_t bytes) {
  Process& process = Process::instance();
  if (const std::uint64_t left = gpu.memory_available(); bytes > left)
    return Error::make(ErrorCode::out_of_memory, "{} bytes wanted, {} left", bytes, left);
  std::unique_ptr<MovableMemory> movable;
  if (is_modelled(gpu) || process.gpus().size() > 1)
    if (auto made = MovableMemory::create(bytes)) movable = std::move(*made);
  DevicePtr allocated;
  if (movable == nullptr) {
    TRY_ASSIGN(allocated, process.managed.allocate(bytes));
  }
  return std::make_unique<ManagedPages>(gpu, std::move(movable), allocated, bytes);
}

void prefer_location(CUdeviceptr address, std::size_t bytes, CUmemLocation location, Residency* pages) {
  if (pages != nullptr) pages->prefer(address, bytes, processor_of(location));
  Advice::instance().change(address, bytes, [&](Advice::Of& of) { of.preferred = location; });
}

Result<CUdeviceptr> allocate_managed(Gpu& gpu, std::size_t bytes, unsigned flags, CUcontext context) {
  TRY_ASSIGN(auto pages, ManagedPages::allocate(gpu, bytes));
  const CUdeviceptr address = pages->address();
  TRY(Process::instance().memory.add(
      std::make_shared<ManagedMemory>(gpu, std::move(pages), bytes, flags, context)));
  return address;
}

Result<std::shared_ptr<ManagedVariables>> ManagedVariables::allocate(const raddle::Program& program,
                                                                     Gpu& gpu) {
  auto variables = std::make_shared<ManagedVariables>();
  for (const auto& [name, bytes] : program.managed_variables()) {
    TRY_ASSIGN(const CUdeviceptr address, allocate_managed(gpu, bytes, MEM_ATTACH_GLOBAL, nullptr));
    std::memset(reinterpret_cast<void*>(address), 0, bytes);  // its memory may have been used
    variables->placed.addresses.emplace(name, DevicePtr{address});
  }
  return variables;
}

ManagedVariables::~ManagedVariables() {
  for (const auto& [name, address] : placed.addresses) end_shared(address.value);
}

namespace entry {

Status cuMemAllocManaged(Here context, CUdeviceptr* address, std::size_t bytes, unsigned flags) {
  TRY(check_unsafe_call());
  if (bytes == 0 || (flags != MEM_ATTACH_GLOBAL && flags != MEM_ATTACH_HOST)) return CUDA_ERROR_INVALID_VALUE;
  TRY_ASSIGN(*address, allocate_managed(context->gpu, bytes, flags, context->handle));
  return CUDA_SUCCESS;
}

Status cuMemAdvise(Here context, CUdeviceptr address, std::size_t bytes, CUmem_advise advice,
                   CUdevice device) {
  return advise(context, address, bytes, advice, location_of(device));
}
Status cuMemAdvise_v2(Here context, CUdeviceptr address, std::size_t bytes, CUmem_advise advice,
                      CUmemLocation location) {
  return advise(context, address, bytes, advice, location);
}

Status cuMemPrefetchAsync(Here context, CUdeviceptr address, std::size_t bytes, CUdevice device, In<Stream>) {
  return prefetch(context, address, bytes, location_of(device));
}
Status cuMemPrefetchAsync_v2(Here context, CUdeviceptr address, std::size_t bytes, CUmemLocation location,
                             unsigned flags, In<Stream>) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return prefetch(context, address, bytes, location);
}

Status cuMemPrefetchBatchAsync(Here context, CUdeviceptr* addresses, std::size_t* bytes, std::size_t count,
                               CUmemLocation* locations, std::size_t* first, std::size_t location_count,
                               unsigned long long flags, In<Stream>) {
  if (count == 0 || location_count == 0 || location_count > count || first[0] != 0 || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::size_t location = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (location + 1 < location_count && first[location + 1] == i) ++location;
    TRY(prefetch(context, addresses[i], bytes[i], locations[location]));
  }
  return CUDA_SUCCESS;
}

// Discarded memory may have any contents: it keeps those that it has.
Status cuMemDiscardBatchAsync(Here context, CUdeviceptr* addresses, std::size_t* bytes, std::size_t count,
                              unsigned long long flags, In<Stream>) {
  if (count == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) TRY(check_range(context, addresses[i], bytes[i]));
  return CUDA_SUCCESS;
}

Status cuMemDiscardAndPrefetchBatchAsync(Here context, CUdeviceptr* addresses, std::size_t* bytes,
                                         std::size_t count, CUmemLocation* locations, std::size_t* first,
                                         std::size_t location_count, unsigned long long flags,
                                         In<Stream> stream) {
  return cuMemPrefetchBatchAsync(context, addresses, bytes, count, locations, first, location_count, flags,
                                 stream);
}

Status cuMemRangeGetAttribute(Here context, void* data, std::size_t data_bytes,
                              CUmem_range_attribute attribute, CUdeviceptr address, std::size_t bytes) {
  TRY(check_range(context, address, bytes));
  return get_range_attribute(Advice::instance().common(address, bytes), attribute, data, data_bytes);
}

Status cuMemRangeGetAttributes(Here context, void** data, std::size_t* data_bytes,
                               CUmem_range_attribute* attributes, std::size_t count, CUdeviceptr address,
                               std::size_t bytes) {
  if (count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i)
    TRY(cuMemRangeGetAttribute(context, data[i], data_bytes[i], attributes[i], address, bytes));
  return CUDA_SUCCESS;
}

// Host and kernels may use managed memory at the same time, so attaching it to a stream makes no difference.
Status cuStreamAttachMemAsync(Here context, In<Stream> stream, CUdeviceptr address, std::size_t bytes,
                              unsigned flags) {
  if (flags != MEM_ATTACH_GLOBAL && flags != MEM_ATTACH_HOST && flags != MEM_ATTACH_SINGLE)
    return CUDA_ERROR_INVALID_VALUE;
  AddressInfo info;
  if (flags == MEM_ATTACH_SINGLE && stream->is_legacy) return CUDA_ERROR_INVALID_VALUE;
  if (!find_address(context, address, info))  // pageable memory is attached in pieces of any size
    return bytes != 0 && is_mapped(reinterpret_cast<void*>(address), bytes) ? CUDA_SUCCESS
                                                                            : CUDA_ERROR_INVALID_VALUE;
  const bool is_whole = address == info.base && (bytes == 0 || bytes == info.bytes);
  return info.kind == MemoryKind::managed && is_whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace entry
}  // namespace raddle::driver
