// mmap, guard pages and the table of allocations. One lock: allocation is not a hot path.
#include "machine/memory/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace raddle::machine {
namespace {
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kHugePage = 2 << 20;
constexpr std::uint64_t kSlabBytes = 4 << 20;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Chunks of 256 bytes << class.
unsigned class_of(std::uint64_t bytes) {
  return static_cast<unsigned>(std::bit_width((bytes - 1) / DeviceMemory::kAlignment));
}

std::byte* map_memory(std::uint64_t bytes, int protection) {
  void* map = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return map == MAP_FAILED ? nullptr : static_cast<std::byte*>(map);
}
std::uint64_t number(const std::byte* p) { return reinterpret_cast<std::uint64_t>(p); }
}  // namespace

DeviceMemory::DeviceMemory(std::uint64_t capacity) : capacity_(capacity), free_(16) {}

DeviceMemory::~DeviceMemory() {
  for (auto& [address, entry] : entries_) {
    if (entry.map != nullptr) munmap(entry.map, entry.map_bytes);
  }
  for (const Slab& slab : slabs_) munmap(slab.map, slab.bytes);
}

Result<DevicePtr> DeviceMemory::allocate(std::uint64_t bytes, std::string_view name) {
  if (bytes == 0) return Error::invalid("an allocation needs at least one byte");
  std::lock_guard lock(mutex_);
  if (bytes > capacity_ - std::min(used_, capacity_)) {
    return Error::make(ErrorCode::out_of_memory, "out of device memory: {} bytes wanted, {} of {} left",
                       bytes, capacity_ - used_, capacity_);
  }
  return bytes >= kGuardedFrom ? allocate_mapped(bytes, name) : allocate_pooled(bytes, name);
}

Result<DevicePtr> DeviceMemory::allocate_pages(std::uint64_t bytes, std::string_view name) {
  std::lock_guard lock(mutex_);
  return allocate_mapped(std::max<std::uint64_t>(bytes, 1), name);
}

// A guard page, the memory, a guard page. The memory ends as close to the guard behind it as its alignment
// allows, so that running over the end faults; large ones start on a huge page.
Result<DevicePtr> DeviceMemory::allocate_mapped(std::uint64_t bytes, std::string_view name) {
  const std::uint64_t alignment = bytes >= kHugePage ? kHugePage : kPage;
  const std::uint64_t body = round_up(bytes, kPage);
  const std::uint64_t total = body + alignment + kPage;
  std::byte* map = map_memory(total, PROT_NONE);
  const auto refuse = [&] {
    return Error::make(ErrorCode::out_of_memory, "the host has no {} bytes for device memory", bytes);
  };
  if (map == nullptr) return refuse();
  const std::uint64_t start = round_up(number(map) + kPage, alignment);
  auto* memory = map + (start - number(map));
  if (mprotect(memory, body, PROT_READ | PROT_WRITE) != 0) {
    munmap(map, total);
    return refuse();
  }
  if (bytes >= kHugePage) madvise(memory, body, MADV_HUGEPAGE);
  const std::uint64_t slack = alignment == kPage ? (body - bytes) / kAlignment * kAlignment : 0;
  const DevicePtr address{start + slack};
  entries_[address.value] = {{address, bytes, std::string(name), false}, map, total, 0};
  used_ += bytes;
  return address;
}

bool DeviceMemory::grow_pool() {
  const std::uint64_t total = kSlabBytes + 2 * kPage;
  std::byte* map = map_memory(total, PROT_NONE);
  if (map == nullptr) return false;
  slabs_.push_back({map, total});
  if (mprotect(map + kPage, kSlabBytes, PROT_READ | PROT_WRITE) != 0) return false;
  slab_next_ = number(map) + kPage;
  slab_end_ = slab_next_ + kSlabBytes;
  return true;
}

Result<DevicePtr> DeviceMemory::allocate_pooled(std::uint64_t bytes, std::string_view name) {
  const unsigned size_class = class_of(bytes);
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
  entries_[address] = {{{address}, bytes, std::string(name), false}, nullptr, 0, size_class};
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
  if (entry.map != nullptr) {
    munmap(entry.map, entry.map_bytes);
  } else {
    free_[entry.size_class].push_back(address.value);
  }
  entries_.erase(found);
  return {};
}

Result<void> DeviceMemory::make_read_only(DevicePtr address) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(address.value);
  if (found == entries_.end() || found->second.map == nullptr)
    return Error::invalid("{:#x} has no pages of its own", address.value);
  Entry& entry = found->second;
  const std::uint64_t page = address.value / kPage * kPage;
  const std::uint64_t bytes = round_up(address.value + entry.allocation.bytes - page, kPage);
  if (mprotect(reinterpret_cast<void*>(page), bytes, PROT_READ) != 0)
    return Error::make(ErrorCode::io, "mprotect refused");
  entry.allocation.read_only = true;
  return {};
}

Result<std::byte*> DeviceMemory::host(DevicePtr address, std::uint64_t bytes) const {
  const auto allocation = find(address.value);
  if (!allocation || bytes > allocation->address.value + allocation->bytes - address.value) {
    return Error::invalid("{} bytes at {:#x} are not device memory: {}", bytes, address.value,
                          describe(address.value));
  }
  return reinterpret_cast<std::byte*>(address.value);
}

std::optional<Allocation> DeviceMemory::find(std::uint64_t address) const {
  std::lock_guard lock(mutex_);
  auto after = entries_.upper_bound(address);
  if (after == entries_.begin()) return std::nullopt;
  const Allocation& allocation = std::prev(after)->second.allocation;
  if (address - allocation.address.value >= allocation.bytes) return std::nullopt;
  return allocation;
}

std::string DeviceMemory::describe(std::uint64_t address) const {
  std::lock_guard lock(mutex_);
  if (entries_.empty()) return "there is no allocation";
  const auto what = [](const Allocation& a) {
    return a.name.empty() ? fmt::format("the allocation {:#x} of {} bytes", a.address.value, a.bytes)
                          : fmt::format("variable {} ({:#x}, {} bytes)", a.name, a.address.value, a.bytes);
  };
  const auto after = entries_.upper_bound(address);
  const Allocation* below = after == entries_.begin() ? nullptr : &std::prev(after)->second.allocation;
  const Allocation* above = after == entries_.end() ? nullptr : &after->second.allocation;
  std::uint64_t past = ~0ull;
  if (below != nullptr) {
    const std::uint64_t offset = address - below->address.value;
    if (offset < below->bytes) {
      return fmt::format("{} bytes into {}{}", offset, what(*below),
                         below->read_only ? ", which is read-only" : "");
    }
    past = offset - below->bytes;
  }
  if (above != nullptr && above->address.value - address < past) {
    return fmt::format("{} bytes before {}", above->address.value - address, what(*above));
  }
  return fmt::format("{} bytes past the end of {}", past, what(*below));
}

std::uint64_t DeviceMemory::used() const {
  std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace raddle::machine
