#include "machine/memory/device_space.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/assert.h"
#include "base/page.h"
#include "machine/memory/mapping.h"

namespace raddle::machine {
namespace {

/// Above the shadow of the address sanitizer, below programs that are loaded anywhere: no system puts
/// anything there by itself.
constexpr std::uint64_t kBase = 32ull << 40;

std::byte* pointer(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

/// Addresses without memory. @returns 0 if refused
std::uint64_t reserve(std::uint64_t wanted, std::uint64_t bytes, int flags) {
  void* map =
      mmap(pointer(wanted), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  return map == MAP_FAILED ? 0 : reinterpret_cast<std::uint64_t>(map);
}

}  // namespace

DeviceSpace& DeviceSpace::instance() {
  static DeviceSpace& space = *new DeviceSpace;  // outlives every device
  return space;
}

DeviceSpace::DeviceSpace() : bytes_(kBytes), guard_(kGuard) {
  const std::uint64_t map = reserve(kBase, kBytes, MAP_FIXED_NOREPLACE);
  if (map != kBase) {  // something is there, or the flag is not known
    if (map != 0) munmap(pointer(map), kBytes);
    return;
  }
  base_ = map;
  free_.emplace(base_ + kGuard, kBytes - kGuard);
}

DeviceSpace::DeviceSpace(std::uint64_t bytes, PageSource* pages, std::uint64_t lent)
    : bytes_(whole_pages(bytes)), guard_(kWindowGuard), pages_(pages), lent_(lent) {
  RADDLE_ASSERT(bytes_ - lent_ >= kLeastWindow, "a window without room between its guards");
  base_ = reinterpret_cast<std::uint64_t>(instance().take(bytes_));
  if (base_ != 0) free_.emplace(base_ + lent_ + guard_, bytes_ - lent_ - guard_);
}

bool DeviceSpace::borrow(exec::AddressRange addresses, Mirror& mirror) {
  const std::lock_guard lock(mutex_);
  const bool is_unused = !is_reserved() || (free_.size() == 1 && free_.begin()->second == bytes_ - guard_);
  if (!is_unused || !own_map_.empty()) return false;
  if (is_reserved()) munmap(pointer(base_), bytes_);
  base_ = reserve(addresses.start, addresses.bytes, MAP_FIXED_NOREPLACE);
  free_.clear();
  if (base_ != addresses.start) {
    if (base_ != 0) munmap(pointer(base_), addresses.bytes);
    base_ = 0;
    return false;
  }
  bytes_ = addresses.bytes;
  guard_ = kWindowGuard;
  mirror_ = &mirror;
  free_.emplace(base_ + guard_, bytes_ - guard_);
  return true;
}

DeviceSpace::~DeviceSpace() {
  if (base_ == 0) return;
  if (is_window())
    instance().give_back(pointer(base_), bytes_);
  else
    munmap(pointer(base_), bytes_);
}

std::byte* DeviceSpace::take(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t wanted) {
  RADDLE_ASSERT(std::has_single_bit(alignment) && alignment >= kPage, "an alignment that is none");
  if (bytes == 0 || bytes > bytes_ || alignment > bytes_) return nullptr;
  bytes = whole_pages(bytes);
  const std::lock_guard lock(mutex_);
  const auto above = free_.upper_bound(wanted);
  if (wanted % alignment == 0 && above != free_.begin() && cut(std::prev(above), wanted, bytes))
    return pointer(wanted);
  for (auto chunk = free_.begin(); chunk != free_.end(); ++chunk) {
    const std::uint64_t first = round_up(chunk->first, alignment);
    if (cut(chunk, first, bytes)) return pointer(first);
  }
  return is_window() ? nullptr : take_mapping(bytes, alignment);
}

/// Takes [first, first + bytes) and a guard behind it out of a free chunk that begins at or before it.
/// @returns false if they do not fit
bool DeviceSpace::cut(std::map<std::uint64_t, std::uint64_t>::iterator chunk, std::uint64_t first,
                      std::uint64_t bytes) {
  const std::uint64_t before = first - chunk->first, available = chunk->second;
  if (before > available || bytes + guard_ > available - before) return false;
  const std::uint64_t behind = available - before - bytes - guard_;
  if (before != 0)
    chunk->second = before;
  else
    free_.erase(chunk);
  if (behind != 0) free_.emplace(first + bytes + guard_, behind);
  return true;
}

/// With its guards, outside of the reservation.
std::byte* DeviceSpace::take_mapping(std::uint64_t bytes, std::uint64_t alignment) {
  const std::uint64_t total = bytes + alignment + 2 * kSmallGuard, map = reserve(0, total, 0);
  if (map == 0) return nullptr;
  const std::uint64_t first = round_up(map + kSmallGuard, alignment);
  const std::uint64_t end = first + bytes + kSmallGuard;
  if (end != map + total) munmap(pointer(end), map + total - end);
  own_map_.emplace(first, first - map);
  return pointer(first);
}

std::byte* DeviceSpace::take_memory(std::uint64_t bytes, std::uint64_t alignment) {
  // Where pages have sizes, large memory is to have large ones.
  if (pages_ != nullptr)
    for (const std::uint64_t page : {64ull << 10, 2ull << 20})
      if (bytes >= page) alignment = std::max(alignment, page);
  std::byte* const memory = take(bytes, alignment);
  if (memory == nullptr) return nullptr;
  const bool has_memory = pages_ != nullptr ? pages_->provide(memory, whole_pages(bytes), nullptr)
                          : is_borrowed()   ? provide(memory, bytes)
                                            : mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0;
  if (has_memory) return memory;
  give_back(memory, bytes);
  return nullptr;
}

// Mapped anew and not made accessible: the system refuses what it can never have.
bool DeviceSpace::provide(std::byte* start, std::uint64_t bytes) {
  if (!is_borrowed())
    return mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
           MAP_FAILED;
  const Result<MemoryFile> file = MemoryFile::create("raddle memory", whole_pages(bytes));
  return file && show(start, whole_pages(bytes), file->descriptor(), 0, Protection::write);
}

bool DeviceSpace::show(std::byte* start, std::uint64_t bytes, int descriptor, std::uint64_t offset,
                       Protection protection) {
  if (mirror_ != nullptr &&
      !mirror_->map(reinterpret_cast<std::uint64_t>(start), bytes, descriptor, offset, protection))
    return false;
  return mmap(start, bytes, flags_of(protection), MAP_SHARED | MAP_FIXED, descriptor,
              static_cast<off_t>(offset)) != MAP_FAILED;
}

bool DeviceSpace::protect(std::byte* start, std::uint64_t bytes, Protection protection) {
  if (mirror_ != nullptr && !mirror_->protect(reinterpret_cast<std::uint64_t>(start), bytes, protection))
    return false;
  return mprotect(start, bytes, flags_of(protection)) == 0;
}

bool DeviceSpace::empty(std::byte* start, std::uint64_t bytes) {
  if (mirror_ != nullptr) mirror_->unmap(reinterpret_cast<std::uint64_t>(start), bytes);
  return reserve(reinterpret_cast<std::uint64_t>(start), bytes, MAP_FIXED) != 0;
}

DeviceSpace::ReadOnly DeviceSpace::take_read_only(std::uint64_t bytes, const char* name) {
  const ReadOnly taken{take(bytes), instance().take(bytes)};
  const bool has_both = taken.kernel != nullptr && taken.host != nullptr;
  if (has_both && (pages_ != nullptr ? pages_->provide(taken.kernel, whole_pages(bytes), taken.host)
                                     : map_twice(taken, bytes, name)))
    return taken;
  give_back(taken, bytes);
  return {};
}

bool DeviceSpace::map_twice(const ReadOnly& at, std::uint64_t bytes, const char* name) {
  const Result<MemoryFile> pages = MemoryFile::create(name, bytes);
  return pages && show(at.kernel, bytes, pages->descriptor(), 0, Protection::read) &&
         mmap(at.host, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, pages->descriptor(), 0) !=
             MAP_FAILED;
}

void DeviceSpace::give_back(const ReadOnly& taken, std::uint64_t bytes) {
  if (taken.kernel != nullptr) give_back(taken.kernel, bytes);
  if (taken.host != nullptr) instance().give_back(taken.host, bytes);
}

void DeviceSpace::clear(std::byte* start, std::uint64_t bytes) {
  if (bytes != 0 && madvise(start, bytes, MADV_DONTNEED) != 0) std::memset(start, 0, bytes);
}

void DeviceSpace::give_back(std::byte* memory, std::uint64_t bytes) {
  std::uint64_t start = reinterpret_cast<std::uint64_t>(memory);
  bytes = whole_pages(bytes);
  if (pages_ != nullptr) pages_->withdraw(memory, bytes);
  const std::lock_guard lock(mutex_);
  if (const auto own = own_map_.find(start); own != own_map_.end()) {
    munmap(memory - own->second, own->second + bytes + kSmallGuard);
    own_map_.erase(own);
    return;
  }
  // Addresses that cannot be cleared, for the process has too many mappings, are not used again.
  if (!empty(memory, bytes)) return;
  bytes += guard_;
  const auto next = free_.upper_bound(start);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == start) {
      start = before->first;
      bytes += before->second;
    }
  }
  if (next != free_.end() && next->first == start + bytes) {
    bytes += next->second;
    free_.erase(next);
  }
  free_[start] = bytes;
}

}  // namespace raddle::machine
