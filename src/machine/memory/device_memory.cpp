// Mappings and the table of allocations. One lock: allocation is not a hot path.
#include "machine/memory/device_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/page.h"
#include "machine/memory/shared_memory.h"

namespace raddle::machine {
namespace {
constexpr std::uint64_t kSlabBytes = 4 << 20;

/// Chunks of 256 bytes << class.
unsigned class_of(std::uint64_t bytes) {
  return static_cast<unsigned>(std::bit_width((bytes - 1) / DeviceMemory::kAlignment));
}

std::uint64_t number(const std::byte* p) { return reinterpret_cast<std::uint64_t>(p); }

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}
}  // namespace

DeviceMemory::DeviceMemory(std::uint64_t capacity, DeviceSpace& addresses, Bounds bounds)
    : capacity_(capacity), addresses_(addresses), bounds_(bounds), free_(16) {}

DeviceMemory::~DeviceMemory() {
  for (const auto& [address, entry] : entries_) give_back(entry);
  for (const Slab& slab : slabs_) {
    if (slab.file >= 0) close(slab.file);
    addresses_.give_back(slab.map, kSlabBytes);
  }
}

void DeviceMemory::give_back(const Entry& entry) {
  if (entry.file >= 0) close(entry.file);
  addresses_.give_back({entry.map, entry.alias}, entry.map_bytes);
}

Result<DevicePtr> DeviceMemory::allocate(std::uint64_t bytes, std::string_view name, bool managed) {
  if (bytes == 0) return Error::invalid("an allocation needs at least one byte");
  std::lock_guard lock(mutex_);
  const std::uint64_t left = capacity_ - std::min(used(), capacity_);
  if (bytes > left) {
    return Error::make(ErrorCode::out_of_memory, "out of device memory: {} bytes wanted, {} of {} left",
                       bytes, left, capacity_);
  }
  const auto allocated = bytes >= kGuardedFrom ? allocate_mapped(bytes, name) : allocate_pooled(bytes, name);
  if (allocated) entries_[allocated->value].allocation.managed = managed;
  return allocated;
}

Result<DevicePtr> DeviceMemory::allocate_constants(std::uint64_t bytes, std::string_view name) {
  const std::uint64_t body = whole_pages(std::max<std::uint64_t>(bytes, 1));
  const auto [memory, alias] = addresses_.take_read_only(body, "raddle constants");
  if (memory == nullptr)
    return Error::make(ErrorCode::out_of_memory, "the host has no {} bytes for {}", bytes, name);
  const std::lock_guard lock(mutex_);
  // As close to what is inaccessible behind it as its alignment allows.
  const DevicePtr address{number(memory) + (body - bytes) / kAlignment * kAlignment};
  Entry entry;
  entry.allocation = {address, bytes, std::string(name), true, next_id()};
  entry.map = memory;
  entry.map_bytes = body;
  entry.alias = alias;
  used_ += bytes;
  entries_.emplace(address.value, std::move(entry));
  return address;
}

// Around it is nothing for a gigabyte (device_space.h). The memory ends as close to the end of its last page
// as its alignment allows, so that running over the end faults; large ones start on a huge page. Where bounds
// are the hardware's, all start in the first page of one, and have whole ones.
Result<DevicePtr> DeviceMemory::allocate_mapped(std::uint64_t bytes, std::string_view name) {
  const std::uint64_t alignment = bytes >= kGpuPage || !is_exact() ? kGpuPage : kPage;
  const std::uint64_t start = is_exact() ? 0 : next_start_in_page();
  const std::uint64_t body =
      is_exact() ? whole_pages(bytes) : std::max(round_up(bytes, kGpuPage), whole_pages(start + bytes));
  std::byte* const memory = addresses_.take_memory(body, alignment);
  if (memory == nullptr)
    return Error::make(ErrorCode::out_of_memory, "the host has no {} bytes for device memory", bytes);
  if (bytes >= kGpuPage) madvise(memory, body, MADV_HUGEPAGE);
  const std::uint64_t slack = alignment == kPage ? (body - bytes) / kAlignment * kAlignment : start;
  const DevicePtr address{number(memory) + slack};
  Entry& entry = entries_[address.value];
  entry.allocation = {address, bytes, std::string(name), false, next_id()};
  entry.map = memory;
  entry.map_bytes = body;
  used_ += bytes;
  return address;
}

/// Processors compare the lowest 12 bits of a load's address with those of stores that are under way, and
/// let the load wait where they agree (docs/adr/0165). Eight arrays in a row begin in different places, those
/// next to each other at least a KiB apart.
std::uint64_t DeviceMemory::next_start_in_page() { return mapped_++ * 3 * kGpuAlignment % kPage; }

bool DeviceMemory::grow_pool() {
  std::byte* const map = addresses_.take_memory(kSlabBytes);
  if (map == nullptr) return false;
  slabs_.push_back({map, -1});
  slab_next_ = number(map);
  slab_end_ = slab_next_ + kSlabBytes;
  return true;
}

Result<DevicePtr> DeviceMemory::allocate_pooled(std::uint64_t bytes, std::string_view name) {
  const unsigned size_class = class_of(is_exact() ? bytes : std::max(bytes, kGpuAlignment));
  const std::uint64_t chunk = kAlignment << size_class;
  std::uint64_t address = 0;
  if (auto& list = free_[size_class]; !list.empty()) {
    address = list.back();
    list.pop_back();
  } else {
    if (slab_end_ - slab_next_ < chunk && !grow_pool()) {
      return Error::make(ErrorCode::out_of_memory, "the host has no memory for a pool of small allocations");
    }
    address = slab_next_;
    slab_next_ += chunk;
  }
  Entry& entry = entries_[address];
  entry.allocation = {{address}, bytes, std::string(name), false, next_id()};
  entry.size_class = size_class;
  used_ += bytes;
  return DevicePtr{address};
}

Result<void> DeviceMemory::free(DevicePtr address) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(address.value);
  if (found == entries_.end())
    return Error::invalid("free of {:#x}, which is not the start of an allocation", address.value);
  const Entry& entry = found->second;
  used_ -= entry.allocation.bytes;
  if (entry.map != nullptr)
    give_back(entry);
  else
    free_[entry.size_class].push_back(address.value);
  entries_.erase(found);
  return {};
}

/// The allocation around an address, null if there is none. The lock is held.
const DeviceMemory::Entry* DeviceMemory::entry_at(std::uint64_t address) const {
  const auto after = entries_.upper_bound(address);
  if (after == entries_.begin()) return nullptr;
  const Entry& entry = std::prev(after)->second;
  return address - entry.allocation.address.value < entry.allocation.bytes ? &entry : nullptr;
}

namespace {
/// Moves pages into a new file in memory and maps it in their place. @returns its descriptor
Result<int> move_to_file(std::byte* pages, std::uint64_t bytes) {
  const int file = memfd_create("raddle device memory", MFD_CLOEXEC);
  const auto refuse = [&](const char* what) {
    auto error = Error::make(ErrorCode::out_of_memory, "{} bytes cannot be shared: {}: {}", bytes, what,
                             std::strerror(errno));
    if (file >= 0) close(file);
    return error;
  };
  if (file < 0) return refuse("memfd_create");
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) return refuse("ftruncate");
  void* const copy = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (copy == MAP_FAILED) return refuse("mmap");
  std::memcpy(copy, pages, bytes);
  munmap(copy, bytes);
  if (mmap(pages, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
    return refuse("mmap");
  return file;
}
}  // namespace

Result<FilePages> DeviceMemory::share(DevicePtr address) {
  if (addresses_.has_page_source())
    return Error::make(ErrorCode::unsupported, "memory of a modelled space cannot be shared with processes");
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(address.value);
  if (found == entries_.end() || found->second.allocation.read_only)
    return Error::invalid("{:#x} is not the start of memory that can be shared", address.value);
  Entry& entry = found->second;
  std::uint64_t begin = address.value / kPage * kPage;
  std::uint64_t bytes = whole_pages(address.value + entry.allocation.bytes) - begin;
  int* file = &entry.file;
  if (entry.map == nullptr) {
    const auto slab = std::find_if(slabs_.begin(), slabs_.end(), [&](const Slab& each) {
      return address.value - number(each.map) < kSlabBytes;
    });
    begin = number(slab->map);
    bytes = kSlabBytes;
    file = &slab->file;
  }
  if (*file < 0) {
    TRY_ASSIGN(*file, move_to_file(reinterpret_cast<std::byte*>(begin), bytes));
  }
  return FilePages{*file, address.value - begin};
}

Result<std::byte*> DeviceMemory::host(DevicePtr address, std::uint64_t bytes) const {
  std::uint64_t end = 0;
  {
    std::lock_guard lock(mutex_);
    if (const Entry* entry = entry_at(address.value); entry != nullptr) {
      end = entry->allocation.address.value + entry->allocation.bytes;
      if (entry->alias != nullptr && bytes <= end - address.value)
        return entry->alias + (address.value - number(entry->map));
    }
  }
  if (end == 0) end = SharedMemory::instance().end_from(address.value);
  if (end != 0 && bytes <= end - address.value) return reinterpret_cast<std::byte*>(address.value);
  return Error::invalid("{} bytes at {:#x} are not device memory: {}", bytes, address.value,
                        describe(address.value));
}

std::byte* DeviceMemory::host(DevicePtr address) const {
  const std::lock_guard lock(mutex_);
  const Entry* const entry = entry_at(address.value);
  return entry != nullptr && entry->alias != nullptr ? entry->alias + (address.value - number(entry->map))
                                                     : reinterpret_cast<std::byte*>(address.value);
}

namespace {
Allocation allocation_of(const SharedRange& range) {
  Allocation known{{range.base}, range.bytes, range.name, false, range.id};
  known.shared = true;
  return known;
}
}  // namespace

std::optional<Allocation> DeviceMemory::find(std::uint64_t address) const {
  {
    std::lock_guard lock(mutex_);
    if (const Entry* entry = entry_at(address); entry != nullptr) return entry->allocation;
  }
  const std::shared_ptr<SharedRange> range = SharedMemory::instance().find(address);
  return range == nullptr ? std::nullopt : std::optional(allocation_of(*range));
}

std::string DeviceMemory::describe(std::uint64_t address) const {
  const auto what = [](const Allocation& a) {
    return a.name.empty() ? fmt::format("the allocation {:#x} of {} bytes", a.address.value, a.bytes)
           : a.shared     ? fmt::format("{} ({:#x}, {} bytes)", a.name, a.address.value, a.bytes)
                          : fmt::format("variable {} ({:#x}, {} bytes)", a.name, a.address.value, a.bytes);
  };
  std::optional<Allocation> below, above;
  {
    std::lock_guard lock(mutex_);
    const auto after = entries_.upper_bound(address);
    if (after != entries_.begin()) below = std::prev(after)->second.allocation;
    if (after != entries_.end()) above = after->second.allocation;
  }
  const bool is_own = below && address - below->address.value < below->bytes;
  const auto [before, behind] = SharedMemory::instance().around(address);
  if (before != nullptr && !is_own && (!below || before->base > below->address.value))
    below = allocation_of(*before);
  if (behind != nullptr && (!above || behind->base < above->address.value)) above = allocation_of(*behind);
  if (!below && !above) return kNoAllocation;
  std::uint64_t past = ~0ull;
  if (below) {
    const std::uint64_t offset = address - below->address.value;
    if (offset < below->bytes) {
      return fmt::format("{} bytes into {}{}", offset, what(*below),
                         below->read_only ? ", which is read-only" : "");
    }
    past = offset - below->bytes;
  }
  const bool a_gpu_goes_on = is_exact() && below && !below->read_only && !below->shared &&
                             address < round_up(below->address.value + below->bytes, kGpuPage);
  if (above && above->address.value - address < past) {
    return fmt::format("{} bytes before {}", above->address.value - address, what(*above));
  }
  return fmt::format("{} bytes past the end of {}{}", past, what(*below),
                     a_gpu_goes_on ? " (a GPU may not notice: RADDLE_BOUNDS=hardware)" : "");
}

}  // namespace raddle::machine
