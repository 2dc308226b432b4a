// The virtual-memory calls: reserved addresses, memory without addresses, mappings between them, access.
// Memory is a sealed file in memory (memfd), so that it can be mapped at several addresses and handed to
// other processes by its descriptor. Host and kernels have one page table: a mapping is accessible to both as
// soon as one of them has access.
#include "driver/virtual_memory.h"

#include <algorithm>
#include <bit>

#include "driver/entry.h"
#include "driver/process.h"
#include "driver/results.h"

namespace raddle::driver {
namespace {

Protection protection_of(CUmemAccess_flags flags) {
  return flags == ACCESS_READ_WRITE ? Protection::write
         : flags == ACCESS_READ     ? Protection::read
                                    : Protection::none;
}

/// Reserved addresses, and a lock for everything that is mapped in them.
struct Reservations {
  std::mutex mutex;
  std::map<CUdeviceptr, std::shared_ptr<const Mapping>> ranges;
  std::vector<std::weak_ptr<const MappedMemory>> ending;  ///< unmapped; work may still use them

  static Reservations& instance() {
    static Reservations& reservations = *new Reservations;
    return reservations;
  }
  /// The range that addresses lie in, or null.
  std::shared_ptr<const Mapping> find(CUdeviceptr address, std::size_t bytes) const {
    auto next = ranges.upper_bound(address);
    if (next == ranges.begin()) return nullptr;
    const std::shared_ptr<const Mapping>& range = (--next)->second;
    const CUdeviceptr offset = address - range->address();
    return offset <= range->bytes() && bytes <= range->bytes() - offset ? range : nullptr;
  }
  /// Whether something that ends is still mapped there.
  bool are_in_use(CUdeviceptr address, std::size_t bytes) {
    std::erase_if(ending, [](const auto& memory) { return memory.expired(); });
    return std::ranges::any_of(ending, [&](const auto& each) {
      const auto memory = each.lock();
      return memory != nullptr && memory->base < address + bytes && address < memory->base + memory->bytes;
    });
  }
};

/// The mappings that make up a range, in order; empty unless the range is whole mappings without a gap.
std::vector<std::shared_ptr<MappedMemory>> mappings_of(CUdeviceptr address, std::size_t bytes) {
  std::vector<std::shared_ptr<MappedMemory>> found;
  const CUdeviceptr end = address + bytes;
  while (address < end) {
    const auto memory = Process::instance().memory.find(address);
    if (memory == nullptr || memory->kind != MemoryKind::mapped || memory->base != address ||
        memory->bytes > end - address)
      return {};
    found.push_back(std::static_pointer_cast<MappedMemory>(memory));
    address += memory->bytes;
  }
  return found;
}

Status check_props(const CUmemAllocationProp& props) {
  if (props.type != ALLOCATION_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (props.location.type != LOCATION_DEVICE) {
    // The host as a whole has no memory of this kind, only its nodes, which we do not model.
    const bool is_node =
        props.location.type == LOCATION_HOST_NUMA || props.location.type == LOCATION_HOST_NUMA_CURRENT;
    return is_node ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
  }
  TRY(check_device(props.location.id));
  return (props.requestedHandleTypes & ~HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0 ? CUDA_ERROR_NOT_SUPPORTED
                                                                                : CUDA_SUCCESS;
}

std::uint64_t next_physical_id() {
  static std::atomic<std::uint64_t> last{std::uint64_t{1} << 61};
  return ++last;
}

/// Whose access a location means: an index of MappedMemory::granted.
Answer<std::size_t> index_of(const CUmemLocation& location) {
  switch (location.type) {
    case LOCATION_DEVICE:
      TRY(check_device(location.id));
      return static_cast<std::size_t>(location.id) + 1;
    case LOCATION_HOST:
    case LOCATION_HOST_NUMA:
    case LOCATION_HOST_NUMA_CURRENT:
      return std::size_t{0};
    case LOCATION_INVALID:
      break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

PhysicalMemory::PhysicalMemory(MemoryFile memory, Gpu& of, const CUmemAllocationProp& wanted, bool counts)
    : gpu(&of),
      file(std::make_shared<const MemoryFile>(std::move(memory))),
      bytes(file->bytes()),
      props(wanted),
      counted(counts),
      id(next_physical_id()) {
  if (counted) gpu->physical_bytes += bytes;
}

PhysicalMemory::PhysicalMemory(const CUmulticastObjectProp& wanted)
    : multicast(std::make_unique<Multicast>(wanted.numDevices)),
      bytes(wanted.size),
      props{},
      counted(false),
      id(next_physical_id()) {}

PhysicalMemory::~PhysicalMemory() {
  if (counted) gpu->physical_bytes -= bytes;
}

CUmemGenericAllocationHandle add_handle(const std::shared_ptr<PhysicalMemory>& memory) {
  memory->uses = 1;
  return Process::instance().physical_memories.add(memory);
}

MappedMemory::MappedMemory(CUdeviceptr address, std::size_t size, std::shared_ptr<const Mapping> in,
                           std::shared_ptr<PhysicalMemory> of, std::size_t from)
    : addresses(std::move(in)), physical(std::move(of)), offset(from) {
  kind = MemoryKind::mapped;
  base = address;
  bytes = size;
  if (physical->gpu != nullptr) device = physical->gpu->number;
}

MappedMemory::~MappedMemory() {
  if (bytes != 0) addresses->empty(base, bytes);
}

unsigned long long MappedMemory::handle_types() const {
  return static_cast<unsigned long long>(physical->props.requestedHandleTypes);
}

bool MappedMemory::allows(CUdeviceptr begin, std::size_t size, CUmemAccess_flags wanted) const {
  if (!Memory::allows(begin, size, wanted)) return false;
  const CUdeviceptr first = std::max<CUdeviceptr>(begin, base),
                    end = std::min<CUdeviceptr>(begin + size, base + bytes);
  return physical->multicast == nullptr ||
         physical->multicast->is_bound(offset + (first - base), end - first);
}

std::vector<Multicast::Binding> MappedMemory::parts(std::size_t from, std::size_t size) const {
  const std::size_t first = std::max(from, offset), end = std::min(from + size, offset + bytes);
  if (first >= end) return {};
  if (physical->multicast != nullptr) return physical->multicast->parts(first, end - first);
  return {{first, end - first, physical->file, first}};
}

Result<void> MappedMemory::fill(std::size_t from, std::size_t size) const {
  for (const Multicast::Binding& part : parts(from, size)) {
    const CUdeviceptr place = base + (part.offset - offset);
    TRY(addresses->fill(place, part.bytes, part.file->descriptor(), part.at));
    TRY(addresses->allow(place, part.bytes, protection_of(access())));
  }
  return {};
}

void MappedMemory::empty(std::size_t from, std::size_t size) const {
  const std::size_t first = std::max(from, offset), end = std::min(from + size, offset + bytes);
  if (first < end) addresses->empty(base + (first - offset), end - first);
}

Result<void> MappedMemory::apply_access() const {
  for (const Multicast::Binding& part : parts(offset, bytes))
    TRY(addresses->allow(base + (part.offset - offset), part.bytes, protection_of(access())));
  return {};
}

void with_mappings_of(const PhysicalMemory& memory, const std::function<void(const MappedMemory&)>& use) {
  const std::lock_guard lock(Reservations::instance().mutex);
  for (const auto& each : Process::instance().memory.all()) {
    if (each->kind != MemoryKind::mapped) continue;
    const auto& mapped = static_cast<const MappedMemory&>(*each);
    if (mapped.physical.get() == &memory) use(mapped);
  }
}

namespace entry {

Status cuMemGetAllocationGranularity(std::size_t* granularity, const CUmemAllocationProp* props,
                                     CUmemAllocationGranularity_flags option) {
  if (option != GRANULARITY_MINIMUM && option != GRANULARITY_RECOMMENDED) return CUDA_ERROR_INVALID_VALUE;
  TRY(check_props(*props));
  *granularity = kMemoryGranularity;
  return CUDA_SUCCESS;
}

Status cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t alignment, CUdeviceptr wanted,
                           unsigned long long flags) {
  if (!is_whole(bytes) || flags != 0 || (alignment != 0 && !std::has_single_bit(alignment)))
    return CUDA_ERROR_INVALID_VALUE;
  alignment = std::max(alignment, kMemoryGranularity);
  TRY_ASSIGN(Mapping taken, Mapping::reserve(bytes, alignment, wanted));
  *address = taken.address();
  Reservations& reservations = Reservations::instance();
  const std::lock_guard lock(reservations.mutex);
  reservations.ranges[*address] = std::make_shared<const Mapping>(std::move(taken));
  return CUDA_SUCCESS;
}

Status cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  Reservations& reservations = Reservations::instance();
  const std::lock_guard lock(reservations.mutex);
  const auto found = reservations.ranges.find(address);
  if (found == reservations.ranges.end() || found->second->bytes() != bytes) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t offset = 0; offset < bytes; offset += kMemoryGranularity)
    if (Process::instance().memory.find(address + offset) != nullptr)
      return CUDA_ERROR_INVALID_VALUE;  // still mapped
  reservations.ranges.erase(found);
  return CUDA_SUCCESS;
}

Status cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* props,
                   unsigned long long flags) {
  if (!is_whole(bytes) || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  TRY(check_props(*props));
  Gpu& gpu = Process::instance().gpu(props->location.id);
  if (bytes > gpu.memory_available()) return CUDA_ERROR_OUT_OF_MEMORY;
  TRY_ASSIGN(MemoryFile file, MemoryFile::create("raddle memory", bytes));
  *handle = add_handle(std::make_shared<PhysicalMemory>(std::move(file), gpu, *props, true));
  return CUDA_SUCCESS;
}

Status cuMemRelease(In<PhysicalMemory> memory) {
  const std::lock_guard lock(memory->mutex);
  if (memory->uses == 0) return CUDA_ERROR_INVALID_VALUE;
  if (--memory->uses == 0) Process::instance().physical_memories.remove(memory->handle);
  return CUDA_SUCCESS;
}

Status cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  const auto found = Process::instance().memory.find(reinterpret_cast<CUdeviceptr>(address));
  if (found == nullptr || found->kind != MemoryKind::mapped) return CUDA_ERROR_INVALID_VALUE;
  const auto& memory = std::static_pointer_cast<MappedMemory>(found)->physical;
  const std::lock_guard lock(memory->mutex);
  if (memory->uses == 0) return *handle = add_handle(memory), CUDA_SUCCESS;  // all others were released
  ++memory->uses;
  *handle = memory->handle;
  return CUDA_SUCCESS;
}

Status cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* props, In<PhysicalMemory> memory) {
  if (memory->multicast != nullptr) return CUDA_ERROR_INVALID_VALUE;  // it has none
  *props = memory->props;
  return CUDA_SUCCESS;
}

Status cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset, In<PhysicalMemory> memory,
                unsigned long long flags) {
  if (!is_whole(bytes) || address % kMemoryGranularity != 0 || offset % kMemoryGranularity != 0 ||
      flags != 0 || offset > memory->bytes || bytes > memory->bytes - offset)
    return CUDA_ERROR_INVALID_VALUE;
  if (memory->multicast != nullptr) memory->multicast->wait_for_team();
  Reservations& reservations = Reservations::instance();
  const std::lock_guard lock(reservations.mutex);
  auto range = reservations.find(address, bytes);
  if (range == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (reservations.are_in_use(address, bytes)) Process::instance().synchronize_all();
  if (reservations.are_in_use(address, bytes)) return CUDA_ERROR_NOT_PERMITTED;  // by a context that ends
  auto mapped = std::make_shared<MappedMemory>(address, bytes, std::move(range), memory, offset);
  // A range that is in use already is refused by the table; its own is not touched before that.
  if (!Process::instance().memory.add(mapped)) {
    mapped->bytes = 0;  // nothing to unmap
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto filled = mapped->fill(offset, bytes);
  if (!filled) Process::instance().memory.remove(address);
  return filled;
}

// No call finds it any more; work that was given before still does, until it is done.
Status cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  Reservations& reservations = Reservations::instance();
  const std::lock_guard lock(reservations.mutex);
  const auto mapped = mappings_of(address, bytes);
  if (mapped.empty()) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& each : mapped) {
    reservations.ending.push_back(each);
    end_shared(each->base);
  }
  return CUDA_SUCCESS;
}

Status cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* wanted,
                      std::size_t count) {
  if (wanted == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  Reservations& reservations = Reservations::instance();
  const std::lock_guard lock(reservations.mutex);
  const auto mapped = mappings_of(address, bytes);
  if (mapped.empty()) return CUDA_ERROR_INVALID_VALUE;
  std::vector<std::size_t> places(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (wanted[i].flags != ACCESS_NONE && wanted[i].flags != ACCESS_READ &&
        wanted[i].flags != ACCESS_READ_WRITE)
      return CUDA_ERROR_INVALID_VALUE;
    auto place = index_of(wanted[i].location);
    if (!place.ok())
      return CUDA_ERROR_INVALID_VALUE;  // also for a device that there is not: as an H200 answers
    places[i] = std::move(place).value();
  }
  for (const auto& each : mapped) {
    for (std::size_t i = 0; i < count; ++i) each->granted[places[i]] = wanted[i].flags;
    TRY(each->apply_access());
  }
  SharedMemory::instance().access_lost();
  return CUDA_SUCCESS;
}

Status cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  TRY_ASSIGN(const std::size_t place, index_of(*location));
  const auto found = Process::instance().memory.find(address);
  if (found == nullptr || found->kind != MemoryKind::mapped) return CUDA_ERROR_INVALID_VALUE;
  *flags =
      static_cast<unsigned long long>(std::static_pointer_cast<MappedMemory>(found)->granted[place].load());
  return CUDA_SUCCESS;
}

Status cuMemExportToShareableHandle(void* shareable, In<PhysicalMemory> memory,
                                    CUmemAllocationHandleType type, unsigned long long flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  // Only what was made for it may leave the process.
  if (type != HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || (memory->props.requestedHandleTypes & type) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  const Result<int> descriptor = memory->file->duplicate();
  if (!descriptor) return CUDA_ERROR_OPERATING_SYSTEM;
  *static_cast<int*>(shareable) = *descriptor;
  return CUDA_SUCCESS;
}

Status cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                      CUmemAllocationHandleType type) {
  if (type == HANDLE_TYPE_FABRIC) return CUDA_ERROR_NOT_SUPPORTED;
  if (type != HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
  const auto given = static_cast<int>(reinterpret_cast<std::intptr_t>(shareable));
  // Ours are sealed files of whole units; anything else could change its size below us.
  Result<MemoryFile> file = MemoryFile::of_sealed(given);
  if (!file && file.error().code == ErrorCode::io) return CUDA_ERROR_OPERATING_SYSTEM;
  if (!file || !is_whole(file->bytes())) return CUDA_ERROR_INVALID_VALUE;
  Gpu& gpu = current_gpu();
  const CUmemAllocationProp props{
      ALLOCATION_PINNED, HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, {LOCATION_DEVICE, gpu.number}};
  *handle = add_handle(std::make_shared<PhysicalMemory>(std::move(*file), gpu, props, false));
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace raddle::driver
